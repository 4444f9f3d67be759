/*
 * supervise.h - pid 1 once the guest is set up: it reaps, watches services, and keeps the processes
 * running that serve the link and the shell port.
 */
#ifndef AGENT_SUPERVISE_H
#define AGENT_SUPERVISE_H

#include <stdbool.h>

/* Start serving the link and the shell port. LAYER may be NULL; it must stay valid. */
void agent_supervise_begin(const char *layer);

/* Does not return. SERVICES: wait for them before the layer is ready. SIGTERM or SIGINT power the
   guest off. */
void agent_supervise(bool services) __attribute__((noreturn));

#endif
