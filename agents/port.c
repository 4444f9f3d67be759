/*
 * port.c - see port.h.
 */
#include "port.h"

#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define CLASS_FOLDER "/sys/class/virtio-ports"

/* The device file of the port called NAME; false if there is none. */
static bool find_port(const char *name, char *device, size_t size)
{
    DIR *dir = opendir(CLASS_FOLDER);
    bool found = false;

    for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        char path[512];
        snprintf(path, sizeof(path), CLASS_FOLDER "/%s/name", entry->d_name);
        cleanup_free char *called = agent_read_line(path);
        found = called && strcmp(called, name) == 0;
        if (found)
            snprintf(device, size, "/dev/%s", entry->d_name);
    }
    if (dir)
        closedir(dir);
    return found;
}

int agent_port_open(struct agent_port *port, const char *name)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    char device[300];

    port->fd = port->edges = -1;
    if (!find_port(name, device, sizeof(device))) {
        errno = ENOENT;
        return -1;
    }
    port->fd = open(device, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (port->fd >= 0)
        port->edges = epoll_create1(EPOLL_CLOEXEC);
    if (port->edges < 0 || epoll_ctl(port->edges, EPOLL_CTL_ADD, port->fd, &event) < 0) {
        int why = errno;
        agent_port_close(port);
        errno = why;
        return -1;
    }
    return 0;
}

bool agent_port_connected(const struct agent_port *port)
{
    struct pollfd fd = {.fd = port->fd};

    return poll(&fd, 1, 0) == 0 || !(fd.revents & POLLHUP);
}

void agent_port_arm(const struct agent_port *port)
{
    struct epoll_event event;

    while (epoll_wait(port->edges, &event, 1, 0) > 0)
        ;
}

void agent_port_close(struct agent_port *port)
{
    if (port->edges >= 0)
        close(port->edges);
    if (port->fd >= 0)
        close(port->fd);
    port->fd = port->edges = -1;
}
