/*
 * pump.h - moves bytes between a carrier and its user: a thread that reads and a thread that writes
 * from a queue, so that neither a silent nor a deaf guest ever blocks the caller.
 */
#ifndef NL_PUMP_H
#define NL_PUMP_H

#include "carrier.h"

#include <stdbool.h>
#include <stdint.h>

struct nl_pump;

/* Called from the pump's reading thread with what came; LENGTH 0: the stream ended, and REASON says
   why if it did not just end (NULL otherwise). Must not call nl_pump_stop(). */
typedef void nl_pump_bytes(const char *bytes, size_t length, const char *reason, void *data);

/* Start pumping. CARRIER is consumed, also on failure. QUEUE_LIMIT is how many bytes may wait to be
   written. */
int nl_pump_start(struct nl_carrier *carrier, size_t queue_limit, nl_pump_bytes *on_bytes,
                  void *data, struct nl_pump **pump, struct nl_error **err);

/* Queue a copy of BYTES. Fails when the stream has ended or the queue is full: then the other side
   does not read. */
int nl_pump_send(struct nl_pump *pump, const char *bytes, size_t length, struct nl_error **err);

int64_t nl_pump_last_heard_ms(struct nl_pump *pump); /* nl_now_ms() of the last byte; 0: never */

/* Close. When it returns, which takes at most a few seconds however dead the other side is,
   on_bytes is not running and is never called again. What is still queued is lost. */
void nl_pump_stop(struct nl_pump **pump);

#endif
