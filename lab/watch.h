/*
 * watch.h - is a guest that does not answer crashed, gone, hung, lost to us, or only slow?
 *
 * Judged by what can be seen from outside: the domain's state in the layer below, marks of a dead
 * kernel on the console, whether its agent answers a ping and its sshd a connection, and progress:
 * console bytes, disks, exit counters and vCPU registers over some seconds. A layer whose libvirt
 * no longer answers may itself have ended: so the look begins at the outermost guest.
 */
#ifndef NL_WATCH_H
#define NL_WATCH_H

#include "look.h"
#include "stack.h"

/* The phase in which a guest's domain is made, but does not run yet. */
#define NL_PHASE_CREATE "create"

#define NL_LOOKS 10

struct nl_sight {
    struct nl_layer *layer; /* whom it is about: the one asked for, or one further out */
    const char *kind;       /* "crashed", "gone", "hung", "lost", "slow", ...: see document.h */
    char *what;             /* what was seen, a sentence */
    nl_deadline until;      /* when looking ends; 0: no sooner than each look takes */
    const char *service;    /* "sshd" or "libvirtd", if it is that which does not work; or NULL */
    struct nl_look looks[NL_LOOKS];
    size_t n_looks;
};

/* Quick look, for while something is waited for: fails, with kind and reason in SIGHT, if LAYER, or
   one that it runs in, is crashed, gone or in trouble; 0 if nothing speaks against waiting on. */
int nl_watch_glance(struct nl_layer *layer, struct nl_sight *sight, struct nl_error **err);

/* While something is waited for of LAYER, about every 0.5 s: fails if it, or one that it runs in,
   is crashed, gone, in trouble, or does not answer pings any more and hangs. Costs a ping now and
   then where the layer says nothing. */
int nl_watch_tick(struct nl_layer *layer, struct nl_error **err);

/* A wait for LAYER in PHASE ended in *ERR: look for some seconds at which of them it is, and put
   that into the error and the document, with evidence where something hangs. Without evidence of
   progress or death the answer says so. What it is where there is no guest yet to look at, and none
   further out has ended, the caller knows: KIND. Where the run's own limit is over, that is told,
   and nothing looked for but an end. Looking takes 60 s at most, and 3 s beyond the run's limit. An
   interrupt is nobody's failure. Returns -1. */
int nl_watch_blame(struct nl_layer *layer, const char *phase, const char *kind,
                   struct nl_error **err);

/* What is the matter with LAYER, whose agent answered once (ANSWERED) or not yet: true, and SIGHT
   says it, or false: its agent answers. THOROUGH: its sshd has to answer as well. Takes some
   seconds where something is the matter. */
bool nl_watch_examine(struct nl_layer *layer, bool answered, bool thorough, struct nl_sight *sight);

/* At the end of PHASE: fails, and puts it into the document, if something is the matter with LAYER,
   whose agent answered once. */
int nl_watch_check(struct nl_layer *layer, const char *phase, struct nl_error **err);

/* Does its agent answer a ping within SECONDS? */
bool nl_watch_answers(struct nl_layer *layer, double seconds);

void nl_sight_clear(struct nl_sight *sight);
#define cleanup_sight NL_CLEANUP(nl_sight_clear)

#endif
