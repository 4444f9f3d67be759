/*
 * supervise.h - pid 1 once the guest is set up: it reaps, watches services, and keeps the processes
 * running that serve the link and the shell port.
 */
#ifndef AGENT_SUPERVISE_H
#define AGENT_SUPERVISE_H

/* Start serving the link and the shell port. LAYER may be NULL; it must stay valid. */
void agent_supervise_begin(const char *layer);

/* When the layer is ready, and says so. */
enum agent_readiness {
    AGENT_READY_AT_ONCE,
    AGENT_READY_WITH_SERVICES,
    AGENT_NEVER_READY, /* something went wrong: it only answers */
};

/* Does not return. SIGTERM or SIGINT power the guest off. */
void agent_supervise(enum agent_readiness readiness) __attribute__((noreturn));

#endif
