/*
 * dispatch.h - requests and replies: from a line to an operation of the table, and back.
 */
#ifndef AGENT_DISPATCH_H
#define AGENT_DISPATCH_H

#include "util.h"

/* What the serving process knows of itself; operations read it, and "heartbeat" and "poweroff"
   leave their wish in it. */
struct agent_context {
    const char *layer; /* NULL: not known */
    bool in_guest;     /* pid 1's child: may power off */
    bool ready;
    double ready_uptime_s; /* negative: not known */
    json_t *services;      /* an object: name -> ready */
    double heartbeat_s;    /* 0: none */
    bool poweroff;
    const char *busy; /* for "ping": the operation that runs apart, or NULL */
    double busy_s;
};

struct agent_operation {
    const char *name;
    int (*run)(struct agent_context *context, const json_t *request, json_t **result,
               struct agent_error *error);
    /* May take long, crash or hang: run in a process of its own. It cannot change the context. */
    bool apart;
    /* Answered even while another request is under way. */
    bool at_once;
};

/* Ended by an entry without a name (operations.c). */
extern const struct agent_operation agent_operations[];

struct agent_request {
    json_t *object; /* owned */
    const struct agent_operation *operation;
};
void agent_request_clear(struct agent_request *request);

/* Parse LINE, skipping noise before its first '{'. 1: REQUEST is set. 0: nothing to do (a blank
   line). -1: not a good request; *REPLY is what to answer, a new reference. */
int agent_request_parse(const char *line, size_t length, struct agent_request *request,
                        json_t **reply);

/* Run it here and now; the reply is a new reference, never NULL but without memory. */
json_t *agent_request_run(struct agent_context *context, const struct agent_request *request);

/* {"id": ID of REQUEST (may be NULL), "ok": false, ...} */
json_t *agent_reply_error(const json_t *request, const char *message, const char *hint);

/* Seconds after which a request that runs apart has certainly gone wrong: a backstop behind the
   limits that operations keep themselves. */
double agent_request_backstop_s(const struct agent_request *request);

/* The line to send for a reply or event, with its newline; malloc'd. One that is over the
   protocol's limit turns into an error. */
char *agent_reply_line(const json_t *reply, size_t *length);

#endif
