/*
 * ports.c - reserving ports: see ports.h.
 */
#include "ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* A socket bound to a port of the kernel's choice; -1 with errno. */
static int hold_port(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    cleanup_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof(address);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) < 0)
        return -1;
    *port = ntohs(address.sin_port);
    return nl_steal_fd(&fd);
}

int nl_ports_reserve(int *ports, size_t n, int *holders, struct nl_error **err)
{
    for (size_t i = 0; i < n; i++) {
        holders[i] = hold_port(&ports[i]);
        if (holders[i] >= 0)
            continue;
        nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot reserve a port on 127.0.0.1");
        while (i-- > 0)
            close(holders[i]);
        return -1;
    }
    return 0;
}
