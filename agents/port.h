/*
 * port.h - a virtio-serial port from inside a guest, by its name, without udev.
 *
 * While no host end is connected the kernel reports POLLHUP at once and for ever, and reads return
 * 0: polling the port would spin. Its wait queue is woken when a host end connects, though, so an
 * edge-triggered epoll instance sees exactly that.
 */
#ifndef AGENT_PORT_H
#define AGENT_PORT_H

#include <stdbool.h>

struct agent_port {
    int fd;    /* non-blocking */
    int edges; /* pollable: readable when something about the port has changed */
};

/* Find and open the port NAME; -1 with errno (ENOENT: no such port). */
int agent_port_open(struct agent_port *port, const char *name);

/* A host end is connected. */
bool agent_port_connected(const struct agent_port *port);

/* Forget the changes so far. Then: check agent_port_connected(), and if it is not, poll "edges". */
void agent_port_arm(const struct agent_port *port);

void agent_port_close(struct agent_port *port);

#endif
