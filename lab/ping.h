/*
 * ping.h - is the agent there at all? What link.c keeps of a ping, which an agent answers even
 * while it is busy with a question.
 */
#ifndef NL_PING_H
#define NL_PING_H

#include "deadline.h"

struct nl_ping;

int nl_ping_new(struct nl_ping **ping, struct nl_error **err);
void nl_ping_free(struct nl_ping **ping);

/* The id of a new ping, a string: questions have numbers. An answer to an earlier one still counts,
   if it comes from now on. New reference. */
json_t *nl_ping_begin(struct nl_ping *ping);

/* Is OBJECT an answer to a ping of ours? Then it is kept, and nobody else's. */
bool nl_ping_take(struct nl_ping *ping, json_t *object);

/* The stream ended: nobody waits any more. */
void nl_ping_end(struct nl_ping *ping);

/* 1: *PONG is the answer, a new reference; 0: DEADLINE passed; -1: interrupted, or it ended. */
int nl_ping_wait(struct nl_ping *ping, nl_deadline deadline, json_t **pong, struct nl_error **err);

#endif
