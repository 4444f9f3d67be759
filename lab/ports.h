/*
 * ports.h - TCP ports on the runner's loopback that no other run, and no other program, can get.
 *
 * Asking the kernel for a free port and closing it again is a race: the next to ask may get the
 * same one before QEMU binds it. So the socket stays bound for as long as the port is needed, and
 * QEMU binds the port beside it. Linux allows that when both sockets have SO_REUSEADDR (QEMU's
 * user-mode network sets it for hostfwd) and neither listens yet; a bound socket that does not
 * listen is never given a connection. The holder sets the option only after binding, so that the
 * kernel's own choice of a port excludes every port that is held, listened on, or used, in any
 * process.
 */
#ifndef NL_PORTS_H
#define NL_PORTS_H

#include "error.h"

/* Reserve N ports. HOLDERS gets N descriptors (closed on exec): keep them open as long as the ports
   are in use, also after QEMU has bound them; then a QEMU that ends does not free its port for
   somebody else. Closing them is the caller's. On failure none is held. */
int nl_ports_reserve(int *ports, size_t n, int *holders, struct nl_error **err);

#endif
