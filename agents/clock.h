/*
 * clock.h - the layer's clock and its time stamp counter, read as one: somebody who asks twice can
 * tell how fast one runs against the other, and both against another layer's.
 */
#ifndef AGENT_CLOCK_H
#define AGENT_CLOCK_H

#include <jansson.h>
#include <stdbool.h>

/* What the operation "clock" answers (protocol.h); a new reference. RATE: with what the kernel
   takes the TSC's rate for, which takes longer to find than to read the clock. */
json_t *agent_clock(bool rate);

/* The rate in kHz that a kernel takes the TSC to have, by RECORDS of its log as agent_kmsg_read()
   makes them: its last statement, which is the most refined. 0 where it says none. */
double agent_clock_tsc_khz(const json_t *records);

#endif
