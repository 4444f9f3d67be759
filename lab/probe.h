/*
 * probe.h - does an sshd answer behind a port of this machine's loopback?
 */
#ifndef NL_PROBE_H
#define NL_PROBE_H

#include "deadline.h"

/* Has it given its banner before DEADLINE? User-mode networking accepts a connection before the
   guest does, so that only a banner proves anything. Also false when interrupted. */
bool nl_probe_sshd(int port, nl_deadline deadline);

#endif
