/*
 * link-internal.h - what the carriers' files and link.c share.
 */
#ifndef NL_LINK_INTERNAL_H
#define NL_LINK_INTERNAL_H

#include "carrier.h"
#include "link.h"

/* A link over CARRIER, which is consumed, also on failure. */
int nl_link_start(struct nl_carrier *carrier, nl_link_event *on_event, void *data,
                  struct nl_link **link, struct nl_error **err);

#endif
