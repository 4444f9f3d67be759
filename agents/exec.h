/*
 * exec.h - run a program for a request, with limits on its time and its output.
 */
#ifndef AGENT_EXEC_H
#define AGENT_EXEC_H

#include "util.h"

#define AGENT_EXEC_TIMEOUT_S 60.0
#define AGENT_EXEC_TIMEOUT_MAX_S 86400.0
#define AGENT_EXEC_OUTPUT (1024 * 1024)
#define AGENT_EXEC_OUTPUT_MAX (2 * 1024 * 1024)

/* The operation "exec" of protocol.h. The program gets a session and process group of its own; when
   it has ended, or on timeout, what is left of the group is killed (a daemon to stay takes setsid).
   What still holds its output open after its end is waited for half a second. A name without a
   slash that is not in PATH is tried as a busybox applet. Belongs into a process of its own: it
   blocks SIGCHLD, and on SIGTERM kills the program and exits.
 */
int agent_exec(const json_t *request, json_t **result, struct agent_error *error);

#endif
