/*
 * net.c - see net.h.
 */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int set_address(int fd, const char *interface, unsigned long request, const char *address)
{
    struct ifreq change = {0};
    struct sockaddr_in *in = (struct sockaddr_in *)&change.ifr_addr;

    snprintf(change.ifr_name, sizeof(change.ifr_name), "%s", interface);
    in->sin_family = AF_INET;
    if (inet_pton(AF_INET, address, &in->sin_addr) != 1) {
        errno = EINVAL;
        return -1;
    }
    return ioctl(fd, request, &change);
}

int agent_net_up(const char *interface, const char *address, const char *mask,
                 struct agent_error *error)
{
    cleanup_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq change = {0};

    snprintf(change.ifr_name, sizeof(change.ifr_name), "%s", interface);
    if (fd < 0 || (address && set_address(fd, interface, SIOCSIFADDR, address) < 0) ||
        (mask && set_address(fd, interface, SIOCSIFNETMASK, mask) < 0) ||
        ioctl(fd, SIOCGIFFLAGS, &change) < 0)
        return agent_fail(error, NULL, "cannot set up %s: %s", interface, strerror(errno));
    change.ifr_flags |= IFF_UP | IFF_RUNNING;
    if (ioctl(fd, SIOCSIFFLAGS, &change) < 0)
        return agent_fail(error, NULL, "cannot bring %s up: %s", interface, strerror(errno));
    return 0;
}
