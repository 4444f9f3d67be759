/*
 * keeper.h - the background process that holds a kept stack (the embedded driver allows only one
 * process). Other commands talk to it through keeper-client.h.
 *
 * RUNS/ID/keeper.sock, mode 0600, carries JSON lines:
 *   request  {"op": "...", ...}
 *   reply    {"ok": true, "result": {...}} or {"ok": false, "error": {"message", "hint"}}
 * Operations:
 *   status   {} -> {"id", "pid", "layers": [{"name", "state", "busy", "trouble"}]}
 *   down     {} -> {}     the keeper takes the stack down and ends
 *   exec     {"layer", "argv", "timeout_s"} -> the agent's reply to its "exec"
 *   ask      {"layer", "question": "facts" | "machine", "timeout_s"} -> the agent's reply to that
 *   console  {"layer"} -> {}     from then on the connection is raw: what is sent is typed into the
 *            layer's serial console (to see it, follow the console's file)
 *   shell    {"layer"} -> {}     from then on the connection is the layer's shell port, raw in both
 *            directions (agents/protocol.h)
 */
#ifndef NL_KEEPER_H
#define NL_KEEPER_H

#include "stack.h"

/* Fork into the background, before anything is started and before nl_interrupt_catch(). The keeper
   returns 0 with *IN_KEEPER true and goes on; it has a session of its own, but still the user's
   standard streams until nl_keeper_released(). The parent does not return until the keeper was
   released or died: then *IN_KEEPER is false and *EXIT_STATUS is what to exit with; a keeper killed
   by a signal is an error. SIGINT, SIGTERM and SIGHUP at the parent go to the keeper; if the parent
   is killed, the keeper gets SIGTERM. */
int nl_keeper_fork(bool *in_keeper, int *exit_status, struct nl_error **err);

/* In the keeper: the stack is up, let the user's command end with EXIT_STATUS; from here on output
   goes to LOG. */
int nl_keeper_released(int exit_status, const char *log, struct nl_error **err);

/* In the keeper: serve the socket in the stack's run folder until somebody asks for down, a signal
   comes, or the outermost guest ends. The caller then takes the stack down. WHY gets a static text.
 */
int nl_keeper_serve(struct nl_stack *stack, const char **why, struct nl_error **err);

#endif
