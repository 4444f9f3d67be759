/*
 * serve.h - serve a link: requests in, replies and events out, one request at a time.
 */
#ifndef AGENT_SERVE_H
#define AGENT_SERVE_H

#include "dispatch.h"
#include "port.h"

/* Two file descriptors, or a port (then IN and OUT are its own). */
struct agent_stream {
    int in, out;
    struct agent_port *port; /* NULL: plain file descriptors */
    int news;                /* where pid 1 sends status and events, one JSON object a packet; -1 */
};

/* Serve until the stream's input ends (a port's never does) or its output breaks; what was asked
   before the end of the input is still answered. After "poweroff" returns once the reply is out,
   with context->poweroff set. */
void agent_serve(const struct agent_stream *stream, struct agent_context *context);

#endif
