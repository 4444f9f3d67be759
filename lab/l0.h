/*
 * l0.h - is L0 this very machine, or emulated? Measured, never assumed from a device node.
 */
#ifndef NL_L0_H
#define NL_L0_H

#include "error.h"

#include <stdbool.h>

/* ASKED: "emulated", "local" or "auto". AGENT: the agent binary, which probes KVM with a tiny guest
   under a deadline. LOCAL gets the answer and WHY (the caller's) one sentence for people. Asking
   for a local L0 where it cannot be is an error with a hint how to enable it; "auto" takes an
   emulated one there, also when this machine cannot be looked at. */
int nl_l0_choose(const char *asked, const char *agent, bool *local, char **why,
                 struct nl_error **err);

/* --enable-nesting: reload kvm_amd or kvm_intel with nested=1 if it is off. UNDO gets what to hand
   to nl_l0_restore() (NULL: nothing was changed). Needs root. */
int nl_l0_enable_nesting(char **undo, struct nl_error **err);
int nl_l0_restore(const char *undo, struct nl_error **err);

#endif
