/*
 * clocks.h - do the clocks of two layers run at the same rate, and a layer's clock and its TSC?
 *
 * Nobody can read two layers' clocks at the same moment. But a layer that is asked between two
 * answers of the layer below was read between those two readings, whatever the machine did
 * meanwhile. Two such looks, some time apart, bound how fast one clock runs against the other: a
 * busy machine makes the bounds wider, never wrong.
 */
#ifndef NL_CLOCKS_H
#define NL_CLOCKS_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

/* CLOCK_MONOTONIC_RAW was read when the TSC was between TSC and TSC + TSC_WIDTH. */
struct nl_clock {
    int64_t raw_ns;
    uint64_t tsc;
    uint64_t tsc_width;
};

/* A layer's clocks, read between two readings of those of the layer below. */
struct nl_clock_look {
    struct nl_clock before;
    struct nl_clock at;
    struct nl_clock after;
};

/* The clocks of this process. */
struct nl_clock nl_clock_here(void);

/* From an agent's answer to "clock". Fails where it makes no sense. */
int nl_clock_parse(const json_t *reply, struct nl_clock *clock, struct nl_error **err);

/* Is A bounded more closely than B? */
bool nl_clock_closer(const struct nl_clock_look *a, const struct nl_clock_look *b);

/* The layer's "clocks" (docs/document.md#clocks) from a first and a last look. REPLY is an answer
   of its agent; with BELOW false the layer below is the same machine, and nothing is said of it.
   New reference. */
json_t *nl_clocks_between(const json_t *reply, const struct nl_clock_look *first,
                          const struct nl_clock_look *last, bool below);

#endif
