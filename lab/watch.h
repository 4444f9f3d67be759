/*
 * watch.h - is a guest that does not answer crashed, gone, hung, or only slow?
 *
 * Judged by what can be seen from outside: the domain's state in the layer below, marks of a dead
 * kernel on the console, and progress: console bytes, exit counters and vCPU registers over a few
 * seconds.
 */
#ifndef NL_WATCH_H
#define NL_WATCH_H

#include "stack.h"

struct nl_sight {
    const char *kind; /* "crashed", "gone", "hung", "slow": document.h's kinds of failure */
    char *what;       /* what was seen, a sentence */
};

/* Quick look, for while something is waited for: fails, with kind and reason in SIGHT, if LAYER is
   crashed or gone; 0 if nothing speaks against waiting on. */
int nl_watch_glance(struct nl_layer *layer, struct nl_sight *sight, struct nl_error **err);

/* A wait has run out: look for some seconds and say which of the four it is. Never fails; without
   evidence of progress or death the answer says so. */
void nl_watch_judge(struct nl_layer *layer, struct nl_sight *sight);

void nl_sight_clear(struct nl_sight *sight);
#define cleanup_sight NL_CLEANUP(nl_sight_clear)

#endif
