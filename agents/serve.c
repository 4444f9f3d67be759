/*
 * serve.c - see serve.h.
 */
#include "serve.h"

#include "lines.h"
#include "outbox.h"
#include "protocol.h"
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Nothing more is read from the host while this much waits to be taken by it. */
#define OUTBOX_FULL (1024 * 1024)
/* Edges of a port could be missed; then this bounds the harm. */
#define PORT_RECHECK_MS 2000
#define POWEROFF_FLUSH_MS 2000
#define NEWS_MAX 65536
#define READ_AT_ONCE (1024 * 1024)
#define REPLY_PREFIX "{\"id\":"

struct server {
    const struct agent_stream *stream;
    struct agent_context *context;
    struct agent_lines lines;
    struct agent_outbox outbox;
    struct agent_worker worker;
    struct agent_request held; /* read while another was under way; its object is NULL: none */
    bool input_ended, broken;
    bool away; /* a port without a host end */
    int64_t next_heartbeat_ms;
    int64_t poweroff_ms; /* 0: not asked for */
};

static void send_json(struct server *server, json_t *object)
{
    size_t length = 0;
    cleanup_free char *line = agent_reply_line(object, &length);

    json_decref(object);
    if (line)
        agent_outbox_add(&server->outbox, line, length);
}

static void heartbeat_changed(struct server *server)
{
    server->next_heartbeat_ms =
        server->context->heartbeat_s > 0
            ? agent_now_ms() + (int64_t)(server->context->heartbeat_s * 1000)
            : 0;
}

static void note_busy(struct server *server)
{
    const struct agent_worker *worker = &server->worker;

    server->context->busy = worker->pid ? worker->request.operation->name : NULL;
    server->context->busy_s =
        worker->pid ? (double)(agent_now_ms() - worker->started_ms) / 1000.0 : 0;
}

static void run_request(struct server *server, struct agent_request *request)
{
    note_busy(server);
    if (!request->operation->apart) {
        send_json(server, agent_request_run(server->context, request));
        heartbeat_changed(server);
        if (server->context->poweroff && !server->poweroff_ms)
            server->poweroff_ms = agent_now_ms();
    } else if (agent_worker_start(&server->worker, server->context, request) < 0) {
        send_json(server, agent_reply_error(request->object, "no process to run it in", NULL));
    }
    agent_request_clear(request);
}

/* Run it, or hold it until the one under way is done. */
static void take_request(struct server *server, struct agent_request *request)
{
    if (server->worker.pid && !request->operation->at_once)
        server->held = *request;
    else
        run_request(server, request);
}

/* Answer lines until one must wait for another to be done. */
static void take_lines(struct server *server)
{
    struct agent_request request;
    json_t *reply = NULL;
    size_t length;
    char *line;

    if (server->held.object && !server->worker.pid) {
        request = server->held;
        server->held = (struct agent_request){0};
        run_request(server, &request);
    }
    while (!server->held.object && agent_outbox_pending(&server->outbox) < OUTBOX_FULL) {
        enum agent_line kind = agent_lines_next(&server->lines, &line, &length);
        if (kind == AGENT_LINE_NONE)
            return;
        if (kind == AGENT_LINE_TOO_LONG) {
            send_json(server, agent_reply_error(NULL, "the line is over the limit", NULL));
            continue;
        }
        int good = agent_request_parse(line, length, &request, &reply);
        if (good > 0)
            take_request(server, &request);
        else if (good < 0)
            send_json(server, reply);
    }
}

/* Pid 1's word: {"status": {"ready", "ready_uptime_s", "services"}} is for us, events go out. */
static void take_news(struct server *server)
{
    static char packet[NEWS_MAX];
    ssize_t n = recv(server->stream->news, packet, sizeof(packet), MSG_DONTWAIT);

    if (n <= 0)
        return;
    json_t *news = json_loadb(packet, (size_t)n, 0, NULL);
    json_t *status = json_object_get(news, "status");
    if (!status) {
        if (json_is_object(news))
            send_json(server, news);
        return;
    }
    server->context->ready = json_is_true(json_object_get(status, "ready"));
    json_t *uptime = json_object_get(status, "ready_uptime_s");
    server->context->ready_uptime_s = json_is_number(uptime) ? json_number_value(uptime) : -1;
    json_object_update(server->context->services, json_object_get(status, "services"));
    json_decref(news);
}

/* The host end is gone, and with it who asked: a reply would only confuse the next one, whose
   requests may have the same ids. Events are for whoever comes. */
static void host_gone(struct server *server)
{
    server->away = true;
    agent_worker_stop(&server->worker);
    agent_request_clear(&server->held);
    agent_lines_clear(&server->lines);
    agent_outbox_rewind(&server->outbox);
    agent_outbox_drop(&server->outbox, REPLY_PREFIX);
    server->context->heartbeat_s = 0;
    server->next_heartbeat_ms = 0;
}

static void read_input(struct server *server)
{
    static char buffer[65536];
    ssize_t n;

    /* A port hands over a page at a time. */
    for (size_t got = 0; got < READ_AT_ONCE; got += (size_t)n) {
        n = read(server->stream->in, buffer, sizeof(buffer));
        if (n <= 0)
            break;
        if (agent_lines_feed(&server->lines, buffer, (size_t)n) < 0)
            server->broken = true;
        if (!server->stream->port)
            return; /* a plain file descriptor may block */
    }
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    if (server->stream->port) {
        host_gone(server);
        return;
    }
    server->input_ended = true;
    agent_lines_feed(&server->lines, "\n", 1); /* the last line may lack it */
}

static void flush_output(struct server *server)
{
    if (server->away || agent_outbox_flush(&server->outbox, server->stream->out) == 0)
        return;
    if (server->stream->port)
        host_gone(server);
    else
        server->broken = true;
}

/* A port is away until poll() says otherwise; see port.h. */
static void check_host(struct server *server)
{
    if (!server->away)
        return;
    agent_port_arm(server->stream->port);
    server->away = !agent_port_connected(server->stream->port);
}

static int wait_ms(const struct server *server)
{
    int64_t now = agent_now_ms(), until = INT64_MAX;

    if (server->next_heartbeat_ms)
        until = server->next_heartbeat_ms;
    if (server->worker.pid && server->worker.deadline_ms < until)
        until = server->worker.deadline_ms;
    if (server->away && now + PORT_RECHECK_MS < until)
        until = now + PORT_RECHECK_MS;
    if (server->poweroff_ms && server->poweroff_ms + POWEROFF_FLUSH_MS < until)
        until = server->poweroff_ms + POWEROFF_FLUSH_MS;
    if (until == INT64_MAX)
        return -1;
    return until <= now ? 0 : (int)(until - now < 3600000 ? until - now : 3600000);
}

static void wait_for_something(struct server *server)
{
    const struct agent_stream *stream = server->stream;
    bool may_read = !server->input_ended && server->lines.length <= NL_PROTOCOL_LINE_MAX &&
                    agent_outbox_pending(&server->outbox) < OUTBOX_FULL;
    bool to_send = !agent_outbox_empty(&server->outbox);
    struct pollfd fds[] = {
        {.fd = may_read ? stream->in : -1, .events = POLLIN},
        {.fd = stream->out, .events = to_send ? POLLOUT : 0},
        {.fd = stream->news, .events = POLLIN},
        {.fd = server->worker.pid ? server->worker.fd : -1, .events = POLLIN},
    };

    if (server->away) {
        fds[0].fd = stream->port->edges;
        fds[1].fd = -1;
    }
    if (poll(fds, 4, wait_ms(server)) < 0)
        return;
    if (server->away)
        check_host(server);
    else if (fds[0].revents)
        read_input(server);
    /* Without a request under way only a broken output can wake us here. */
    if (!stream->port && fds[1].revents & (POLLERR | POLLHUP | POLLNVAL))
        server->broken = true;
    else if (stream->port && !server->away && fds[1].revents & POLLHUP)
        host_gone(server);
    if (fds[2].revents)
        take_news(server);
}

static void beat(struct server *server)
{
    if (!server->next_heartbeat_ms || agent_now_ms() < server->next_heartbeat_ms)
        return;
    heartbeat_changed(server);
    /* Nobody there, or nobody reading: old heartbeats are worth nothing. */
    if (!server->away && agent_outbox_empty(&server->outbox))
        send_json(server,
                  json_pack("{s:s, s:f}", "event", "heartbeat", "uptime_s", agent_uptime_s()));
}

static void poll_worker(struct server *server)
{
    size_t length;

    if (!server->worker.pid)
        return;
    cleanup_free char *line = agent_worker_poll(&server->worker, &length);
    if (line)
        agent_outbox_add(&server->outbox, line, length);
}

static bool finished(const struct server *server)
{
    if (server->broken)
        return true;
    if (server->poweroff_ms)
        return agent_outbox_empty(&server->outbox) ||
               agent_now_ms() >= server->poweroff_ms + POWEROFF_FLUSH_MS;
    return server->input_ended && !server->worker.pid && !server->held.object &&
           agent_outbox_empty(&server->outbox);
}

void agent_serve(const struct agent_stream *stream, struct agent_context *context)
{
    struct server server = {.stream = stream,
                            .context = context,
                            .lines.max = NL_PROTOCOL_LINE_MAX,
                            .worker.fd = -1,
                            .away = stream->port != NULL};

    signal(SIGPIPE, SIG_IGN);
    /* A terminal is shared with the shell that started us, and would stay non-blocking. */
    if (!isatty(stream->out))
        fcntl(stream->out, F_SETFL, fcntl(stream->out, F_GETFL) | O_NONBLOCK);
    check_host(&server);
    while (!finished(&server)) {
        wait_for_something(&server);
        poll_worker(&server);
        take_lines(&server);
        beat(&server);
        flush_output(&server);
    }
    agent_worker_stop(&server.worker);
    agent_request_clear(&server.held);
    agent_lines_clear(&server.lines);
    agent_outbox_clear(&server.outbox);
}
