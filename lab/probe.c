/*
 * probe.c - looking for an sshd: see probe.h.
 */
#include "probe.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#define PAUSE_S 0.3

static bool has_banner(int port, nl_deadline deadline)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    cleanup_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char banner[4];

    /* On the loopback it is accepted or refused at once. */
    return fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
           nl_wait_readable(fd, deadline, NULL) == 1 &&
           recv(fd, banner, sizeof(banner), 0) == (ssize_t)sizeof(banner) &&
           memcmp(banner, "SSH-", sizeof(banner)) == 0;
}

bool nl_probe_sshd(int port, nl_deadline deadline)
{
    while (!has_banner(port, deadline))
        if (nl_deadline_left_ms(deadline) == 0 || nl_sleep(PAUSE_S, NULL) < 0)
            return false;
    return true;
}
