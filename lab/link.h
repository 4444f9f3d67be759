/*
 * link.h - asking the agent of a layer: JSON lines over a byte stream, whatever carries it.
 *
 * Three carriers: a libvirt stream of the layer below (link-serial.c), a local process
 * (link-local.c), an SSH channel (link-ssh.c). A link owns one thread that reads; questions are
 * asked from one thread at a time, with a deadline each. What the agent sends unasked (events) is
 * handed to the event function, from the reader's thread.
 */
#ifndef NL_LINK_H
#define NL_LINK_H

#include "deadline.h"

#include <libvirt/libvirt.h>

struct nl_link;

/* Called with each event object (borrowed), on the link's reader thread. */
typedef void nl_link_event(const json_t *event, void *data);

/* Open the virtio-serial port PORT (NL_PROTOCOL_PORT) of a running DOMAIN. The stream is taken over
   if somebody else had it (VIR_DOMAIN_CHANNEL_FORCE). Takes its own reference on the domain. Does
   not wait for the agent. Do not take over from a link of this same process: libvirt 9.0's embedded
   driver frees the stream under its reader. */
int nl_link_open_serial(virDomainPtr domain, const char *port, nl_link_event *on_event, void *data,
                        struct nl_link **link, struct nl_error **err);

/* Start AGENT (a path) as a local process, its standard input and output a socket pair; it dies
   with the runner, and with the calling thread: call it from one that outlives the link. */
int nl_link_open_local(const char *agent, nl_link_event *on_event, void *data,
                       struct nl_link **link, struct nl_error **err);

/* Start REMOTE_COMMAND over an SSH session (ssh.h) and link to its standard input and output. */
struct nl_ssh;
int nl_link_open_ssh(struct nl_ssh *ssh, const char *remote_command, nl_link_event *on_event,
                     void *data, struct nl_link **link, struct nl_error **err);

/* Keep a question under 128 KiB where it goes over a libvirt stream: libvirtd stops serving a
   connection (all of it) once about that much waits for a guest that does not read.

   Ask: OP with ARGUMENTS (an object or NULL; the reference is consumed). RESULT gets a new
   reference to the reply's "result" (may be NULL). Fails when the deadline passes (a late reply is
   dropped), the stream ends, or the agent says no (its message and hint are passed on). */
int nl_link_ask(struct nl_link *link, const char *op, json_t *arguments, nl_deadline deadline,
                json_t **result, struct nl_error **err);

/* Called about every 0.5 s while something is waited for; a negative return ends the wait with its
   error. */
typedef int nl_link_tick(void *data, struct nl_error **err);

/* Have TICK called (NULL: nothing) while the answer to a question is waited for, from the thread
   that asks. Not while a question is open. */
void nl_link_watch(struct nl_link *link, nl_link_tick *tick, void *data);

/* Ping the agent, whether a question is open or not: it answers at once, even while it works on a
   question. Then wait for an answer: 1 RESULT (may be NULL) gets what agents/protocol.h says of
   "ping", or NULL from an agent that does not know it, and is there all the same; 0 DEADLINE
   passed; -1 the stream ended, or interrupted. Pings from one thread at a time. */
int nl_link_ping(struct nl_link *link, struct nl_error **err);
int nl_link_pong(struct nl_link *link, nl_deadline deadline, json_t **result,
                 struct nl_error **err);

/* Ask "hello" again and again (the agent may not be there yet) until it answers or DEADLINE passes.
   TICK may be NULL. */
int nl_link_hello(struct nl_link *link, nl_deadline deadline, nl_link_tick *tick, void *data,
                  json_t **result, struct nl_error **err);

bool nl_link_alive(struct nl_link *link);            /* the stream has not ended */
int64_t nl_link_last_heard_ms(struct nl_link *link); /* nl_now_ms() of the last byte; 0: never */

/* Copy a local file into the layer, in pieces. Each piece has a deadline of its own besides
   DEADLINE, so that an agent that died is noticed before the whole time is up. */
int nl_link_put_file(struct nl_link *link, const char *local, const char *remote, int mode,
                     nl_deadline deadline, struct nl_error **err);

/* Takes a few seconds at most, however dead the other side is. The event function is not running
   and is never called again when this returns; it must not call this itself. */
void nl_link_close(struct nl_link **link);
#define cleanup_link NL_CLEANUP(nl_link_close)

/* A raw stream instead of JSON lines: serial consoles and the shell port. BYTES is called from the
   reader's thread with what came (LENGTH 0: the stream ended). PORT NULL: the domain's serial
   console. A write is queued: it fails when the stream has ended or a megabyte waits already, never
   blocks. After nl_pipe_close, which takes a few seconds at most, BYTES is not called again; BYTES
   itself must not close. */
struct nl_pipe;
typedef void nl_pipe_bytes(const char *bytes, size_t length, void *data);
int nl_pipe_open(virDomainPtr domain, const char *port, nl_pipe_bytes *on_bytes, void *data,
                 struct nl_pipe **pipe, struct nl_error **err);
int nl_pipe_write(struct nl_pipe *pipe, const char *bytes, size_t length, struct nl_error **err);
void nl_pipe_close(struct nl_pipe **pipe);

#endif
