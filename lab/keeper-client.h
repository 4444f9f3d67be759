/*
 * keeper-client.h - talking to the keeper of a run: see keeper.h for what it answers.
 */
#ifndef NL_KEEPER_CLIENT_H
#define NL_KEEPER_CLIENT_H

#include "deadline.h"

/* No line of the conversation is longer. */
#define NL_KEEPER_LINE_MAX (16 * 1024 * 1024)

/* Connect to the keeper whose run folder is at PATH. It may just be starting to listen: retries
   until DEADLINE. FD is the caller's. */
int nl_keeper_connect(const char *path, nl_deadline deadline, int *fd, struct nl_error **err);

/* Send REQUEST (the reference is consumed) and wait for the reply; RESULT (may be NULL) gets a new
   reference. A refusal of the keeper is an error with its message and hint. What follows the
   reply's line stays unread, for the raw operations. */
int nl_keeper_ask(int fd, json_t *request, nl_deadline deadline, json_t **result,
                  struct nl_error **err);

#endif
