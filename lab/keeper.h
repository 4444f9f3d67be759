/*
 * keeper.h - the background process that holds a kept stack (the embedded driver allows only one
 * process), and how other commands talk to it: JSON lines over RUNS/ID/keeper.sock, mode 0600.
 */
#ifndef NL_KEEPER_H
#define NL_KEEPER_H

#include "stack.h"

/* Fork into the background before anything is started. The keeper returns 0 with *IN_KEEPER true and
   goes on; its standard error and output reach the user's terminal through the parent until
   nl_keeper_released(). The parent does not return until the keeper was released or died: then
   *IN_KEEPER is false and *EXIT_STATUS is what to exit with. SIGINT and SIGTERM at the parent go to the keeper. */
int nl_keeper_fork(bool *in_keeper, int *exit_status, struct nl_error **err);

/* In the keeper: the stack is up, let the user's command end with EXIT_STATUS; from here on output goes
   to LOG. */
int nl_keeper_released(int exit_status, const char *log, struct nl_error **err);

/* In the keeper: serve the socket in the stack's run folder until somebody asks for down, a signal
   comes, or the outermost guest ends. Operations: status, down, console (follow and type), shell (the
   agent's shell port: for layers without sshd). The caller then takes the stack down. WHY gets a
   static text. */
int nl_keeper_serve(struct nl_stack *stack, const char **why, struct nl_error **err);

#endif
