/*
 * virt-turn.h - one thread at a time in a connection to a layer's libvirt.
 *
 * libvirt lets threads share a connection: one reads for all, and who comes makes it look again.
 * But that look (CVE-2024-4418, not mended in Debian 12's 9.0.0) can leave an event source behind,
 * which points into the stack of the thread that looked and is followed when the connection is used
 * next. A thread that takes its turn disturbs nobody. For the same reason there is no keepalive
 * from this side, which the event loop would send into whatever call there is; the layer's daemon
 * sends it.
 */
#ifndef NL_VIRT_TURN_H
#define NL_VIRT_TURN_H

#include "cleanup.h"

#include <libvirt/libvirt.h>

struct nl_virt_turn;

/* From now on there are turns on CONN. Without this, taking one costs nothing and gives none. */
void nl_virt_turn_make(virConnectPtr conn);

/* Waits for whoever has the turn, but not for a call that hangs: NULL then, or if there are no
   turns on CONN. Either way the caller may go on. */
struct nl_virt_turn *nl_virt_turn_take(virConnectPtr conn);

/* In the thread that took it; NULL is fine. */
void nl_virt_turn_give(struct nl_virt_turn **turn);

/* Unused: what holds it until the function ends is all that it is for. */
#define cleanup_turn NL_CLEANUP(nl_virt_turn_give) __attribute__((unused))

#endif
