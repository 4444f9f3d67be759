/*
 * watch-internal.h - what the files that watch a layer share.
 */
#ifndef NL_WATCH_INTERNAL_H
#define NL_WATCH_INTERNAL_H

#include "watch.h"

/* What is the matter: KIND, and in a sentence what was seen. */
void nl_sight_set(struct nl_sight *sight, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether the layer itself came to its end, and not what it runs for us, or our patience. */
bool nl_sight_is_lost(const struct nl_sight *sight);

/* Something points to its end: ask the layer below, which costs it time. */
bool nl_watch_has_sign(struct nl_layer *layer);

#endif
