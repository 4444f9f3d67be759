/*
 * clock.h - the layer's clock and its time stamp counter, read as one: somebody who asks twice can
 * tell how fast one runs against the other, and both against another layer's.
 */
#ifndef AGENT_CLOCK_H
#define AGENT_CLOCK_H

#include <jansson.h>

/* What the operation "clock" answers (protocol.h); a new reference. */
json_t *agent_clock(void);

#endif
