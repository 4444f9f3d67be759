/*
 * work-wait.h - a question that keeps an agent busy for long: progress tells meanwhile what it is
 * at. All that is told is known on this side: the agent is not asked, for that would be counted and
 * timed with the rest.
 */
#ifndef NL_WORK_WAIT_H
#define NL_WORK_WAIT_H

#include "stack.h"

struct nl_work_wait {
    struct nl_layer *layer;
    const char *what;      /* "guest-boot at L1" */
    double limit_s;        /* what the agent may take for it */
    json_int_t operations; /* as many the meter is to record; 0: it records none */
    int64_t began_ms;      /* the rest is for nl_work_ask() */
    uint64_t before;       /* what the meter had recorded */
};

/* Ask the layer's agent, as nl_link_ask() does, with WAIT for what is told. */
int nl_work_ask(struct nl_work_wait *wait, const char *op, json_t *arguments, nl_deadline deadline,
                json_t **result, struct nl_error **err);

/* What is told after SECONDS, with DONE operations recorded: "guest-boot at L1: 12 of 101
   operations, 34 s of at most 180 s". The caller's; NULL when out of memory. */
char *nl_work_wait_text(const struct nl_work_wait *wait, double seconds, uint64_t done);

#endif
