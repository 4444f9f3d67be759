/*
 * watch.h - is a guest that does not answer crashed, gone, hung, or only slow?
 *
 * Judged by what can be seen from outside: the domain's state in the layer below, marks of a dead
 * kernel on the console, and progress: console bytes, exit counters and vCPU registers over a few
 * seconds. A layer whose libvirt no longer answers may itself have ended: then that is the news.
 */
#ifndef NL_WATCH_H
#define NL_WATCH_H

#include "stack.h"

/* The phase in which a guest's domain is made, but does not run yet. */
#define NL_PHASE_CREATE "create"

struct nl_sight {
    struct nl_layer *layer; /* whom it is about: the one asked for, or one further out */
    const char *kind;       /* "crashed", "gone", "hung", "slow": document.h's kinds of failure */
    char *what;             /* what was seen, a sentence */
    nl_deadline until;      /* when looking ends; 0: no sooner than each look takes */
};

/* What one look at a guest finds. */
struct nl_look {
    unsigned long long console_bytes;
    char *registers; /* of all vCPUs, as QEMU's monitor prints them; NULL: not to be had */
    unsigned long long exits;
    bool has_exits;
};

/* Quick look, for while something is waited for: fails, with kind and reason in SIGHT, if LAYER, or
   one that it runs in, is crashed or gone; 0 if nothing speaks against waiting on. */
int nl_watch_glance(struct nl_layer *layer, struct nl_sight *sight, struct nl_error **err);

/* "slow" or "hung", by two looks some seconds apart. */
void nl_watch_compare(const struct nl_look looks[2], struct nl_sight *sight);

/* A wait for LAYER in PHASE ended in *ERR: look for some seconds at which of the four it is, and
   put that into the error and the document. Without evidence of progress or death the answer says
   so. What it is where there is no guest yet to look at, and none further out has ended, the caller
   knows: KIND. Where the run's own limit is over, that is told, and nothing looked for but an end.
   Looking takes 15 s at most, and 3 s beyond the run's limit. An interrupt is nobody's failure.
   Returns -1. */
int nl_watch_blame(struct nl_layer *layer, const char *phase, const char *kind,
                   struct nl_error **err);

void nl_sight_clear(struct nl_sight *sight);
#define cleanup_sight NL_CLEANUP(nl_sight_clear)

#endif
