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

/* By FACTS, does KVM interpret guests instead of executing them: did the tiny guest's loop take
   many times what the same loop takes outside? */
bool nl_l0_interprets(const json_t *facts);

/* NULL if the machine with these FACTS can be L0; else why not (static text, or in BUFFER), and
   what to do about it in HINT. */
const char *nl_l0_why_not(const json_t *facts, const char **hint, char *buffer, size_t size);

/* --enable-nesting: reload kvm_amd or kvm_intel with nested=1 if it is off. UNDO gets what to hand
   to nl_l0_restore() (NULL: nothing was changed). Needs root. */
int nl_l0_enable_nesting(char **undo, struct nl_error **err);
int nl_l0_restore(const char *undo, struct nl_error **err);

#endif
