/*
 * worker.h - a request in a process of its own, so that one that crashes or hangs is an error reply
 * and the agent goes on.
 */
#ifndef AGENT_WORKER_H
#define AGENT_WORKER_H

#include "dispatch.h"

struct agent_worker {
    pid_t pid; /* 0: none */
    int fd;    /* its reply comes here; -1: none */
    struct agent_request request;
    int64_t started_ms, deadline_ms;
    char *reply;
    size_t length, size;
};

/* Takes REQUEST over. -1 with errno if there is no process to be had (REQUEST is still the
 * caller's). */
int agent_worker_start(struct agent_worker *worker, struct agent_context *context,
                       struct agent_request *request);

/* Call when "fd" is readable or the deadline has passed. NULL: not done yet. Else the reply line,
   malloc'd, and the worker is free again. */
char *agent_worker_poll(struct agent_worker *worker, size_t *length);

/* End it; nobody wants its reply. */
void agent_worker_stop(struct agent_worker *worker);

#endif
