/*
 * net.h - bring a network interface up with a fixed address, by ioctl.
 */
#ifndef AGENT_NET_H
#define AGENT_NET_H

#include "util.h"

/* ADDRESS and MASK may be NULL: only up. */
int agent_net_up(const char *interface, const char *address, const char *mask,
                 struct agent_error *error);

#endif
