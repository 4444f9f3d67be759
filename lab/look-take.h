/*
 * look-take.h - taking a look at a guest, from the libvirt of the layer below.
 */
#ifndef NL_LOOK_TAKE_H
#define NL_LOOK_TAKE_H

#include "console.h"
#include "look.h"

/* In 5 s, but not beyond UNTIL (0: no such limit): for one question to a libvirt that may hang. */
nl_deadline nl_look_call_deadline(nl_deadline until);

/* What can be had of DOMAIN and its CONSOLE (may be NULL) at this moment. */
void nl_look_take(virDomainPtr domain, const struct nl_console *console, nl_deadline until,
                  struct nl_look *look);

#endif
