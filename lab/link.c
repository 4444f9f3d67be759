/*
 * link.c - questions and answers as JSON lines: see link.h.
 *
 * The bytes come from a guest that may run anything: whatever is not a reply to an open question or
 * an event is dropped, and nothing that is sent can make the link use more than one line's memory.
 */
#include "link.h"
#include "line-buffer.h"
#include "link-internal.h"
#include "ping.h"
#include "protocol.h"
#include "pump.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>

#define QUEUE_LIMIT (2 * (size_t)NL_PROTOCOL_LINE_MAX)
#define TICK_S 0.5
#define HELLO_FIRST_S 1.0
#define HELLO_MAX_S 5.0

struct nl_link {
    struct nl_pump *pump;
    nl_link_event *on_event;
    void *data;
    pthread_mutex_t asking; /* one question at a time */
    nl_link_tick *tick;     /* NULL, or called while an answer is waited for */
    void *tick_data;
    struct nl_ping *ping;
    struct nl_line_buffer buffer; /* the reader's thread's */
    int wake_fd;                  /* readable when a reply is there or the stream has ended */
    pthread_mutex_t lock;         /* all below */
    json_int_t next_id;
    json_int_t first_id; /* replies to these are welcome: first_id <= id < next_id */
    bool open;           /* a question is open */
    bool greeting;       /* it is a hello, which is repeated until it is answered */
    json_t *reply;
    bool ended;
    char *end_reason;
};

static void handle_reply(struct nl_link *link, json_t *object)
{
    json_t *id = json_object_get(object, "id");

    pthread_mutex_lock(&link->lock);
    if (json_is_integer(id) && link->open && !link->reply &&
        json_integer_value(id) >= link->first_id && json_integer_value(id) < link->next_id) {
        link->reply = json_incref(object);
        eventfd_write(link->wake_fd, 1);
    }
    pthread_mutex_unlock(&link->lock);
}

/* The process that was to answer is dead and a new one is there, which knows nothing of the
   question: so this is the answer. */
static void handle_restart(struct nl_link *link, const json_t *event)
{
    const char *kind = json_string_value(json_object_get(event, "event"));
    const char *name = json_string_value(json_object_get(event, "name"));
    const char *message = json_string_value(json_object_get(event, "message"));

    if (strcmp(kind, "trouble") != 0 || !name || strcmp(name, "agent") != 0)
        return;
    pthread_mutex_lock(&link->lock);
    if (link->open && !link->greeting && !link->reply) {
        link->reply = json_pack("{s:b, s:{s:o}}", "ok", 0, "error", "message",
                                json_sprintf("it died over it: %s", message ? message : "?"));
        eventfd_write(link->wake_fd, 1);
    }
    pthread_mutex_unlock(&link->lock);
}

static void handle_line(const char *line, size_t length, void *data)
{
    struct nl_link *link = data;
    const char *start = length ? memchr(line, '{', length) : NULL;
    cleanup_json json_t *object = NULL;

    if (!start)
        return;
    object = json_loadb(start, length - (size_t)(start - line), 0, NULL);
    if (!json_is_object(object) || nl_ping_take(link->ping, object))
        return;
    if (!json_is_string(json_object_get(object, "event"))) {
        handle_reply(link, object);
        return;
    }
    handle_restart(link, object);
    if (link->on_event)
        link->on_event(object, link->data);
}

static void handle_end(struct nl_link *link, const char *reason)
{
    pthread_mutex_lock(&link->lock);
    link->ended = true;
    link->end_reason = reason ? strdup(reason) : NULL;
    eventfd_write(link->wake_fd, 1);
    pthread_mutex_unlock(&link->lock);
    nl_ping_end(link->ping);
}

static void on_bytes(const char *bytes, size_t length, const char *reason, void *data)
{
    struct nl_link *link = data;

    if (length == 0) {
        handle_end(link, reason);
        return;
    }
    nl_line_buffer_feed(&link->buffer, bytes, length);
}

static void free_link(struct nl_link *link)
{
    json_decref(link->reply);
    nl_line_buffer_clear(&link->buffer);
    free(link->end_reason);
    nl_cleanup_closep(&link->wake_fd);
    nl_ping_free(&link->ping);
    pthread_mutex_destroy(&link->asking);
    pthread_mutex_destroy(&link->lock);
    free(link);
}

/* Ids start anywhere, so that a reply to an earlier holder of the stream is not taken for ours. */
static json_int_t random_id(void)
{
    uint32_t value = 0;

    if (getrandom(&value, sizeof(value), GRND_NONBLOCK) < 0)
        value = (uint32_t)nl_now_ms();
    return 1 + (json_int_t)(value >> 2);
}

int nl_link_start(struct nl_carrier *carrier, nl_link_event *on_event, void *data,
                  struct nl_link **out, struct nl_error **err)
{
    struct nl_link *link = calloc(1, sizeof(*link));

    if (!link) {
        carrier->free(carrier);
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    link->buffer.on_line = handle_line;
    link->buffer.data = link;
    link->on_event = on_event;
    link->data = data;
    link->next_id = random_id();
    pthread_mutex_init(&link->asking, NULL);
    pthread_mutex_init(&link->lock, NULL);
    link->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (link->wake_fd < 0)
        nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make an event descriptor");
    if (link->wake_fd < 0 || nl_ping_new(&link->ping, err) < 0) {
        carrier->free(carrier);
        free_link(link);
        return -1;
    }
    if (nl_pump_start(carrier, QUEUE_LIMIT, on_bytes, link, &link->pump, err) < 0) {
        free_link(link);
        return -1;
    }
    *out = link;
    return 0;
}

bool nl_link_alive(struct nl_link *link)
{
    bool alive;

    pthread_mutex_lock(&link->lock);
    alive = !link->ended;
    pthread_mutex_unlock(&link->lock);
    return alive;
}

static int fail_ended(struct nl_link *link, struct nl_error **err)
{
    int rc;

    pthread_mutex_lock(&link->lock);
    rc = nl_fail(err, NL_EXIT_LAB, "the agent's stream ended%s%s", link->end_reason ? ": " : "",
                 link->end_reason ? link->end_reason : "");
    pthread_mutex_unlock(&link->lock);
    return rc;
}

/* Send one request; ID is consumed. RESYNC ends whatever half line an earlier holder of the stream
   may have left at the agent. */
static int send_as(struct nl_link *link, json_t *id, const char *op, const json_t *arguments,
                   bool resync, struct nl_error **err)
{
    cleanup_json json_t *request = json_object();
    cleanup_free char *text = NULL;
    cleanup_free char *line = NULL;
    int length;

    if (arguments)
        json_object_update(request, (json_t *)arguments);
    json_object_set_new(request, "id", id);
    json_object_set_new(request, "op", json_string(op));
    text = json_dumps(request, JSON_COMPACT);
    length = text ? asprintf(&line, "%s%s\n", resync ? "\n" : "", text) : -1;
    if (length < 0) {
        line = NULL;
        return nl_fail(err, NL_EXIT_LAB, "cannot write the question as JSON");
    }
    if (length > NL_PROTOCOL_LINE_MAX)
        return nl_fail(err, NL_EXIT_LAB, "the question is longer than a line may be");
    if (!nl_link_alive(link))
        return fail_ended(link, err);
    return nl_pump_send(link->pump, line, (size_t)length, err);
}

static int send_request(struct nl_link *link, const char *op, const json_t *arguments, bool resync,
                        struct nl_error **err)
{
    json_int_t id;

    pthread_mutex_lock(&link->lock);
    id = link->next_id++;
    pthread_mutex_unlock(&link->lock);
    return send_as(link, json_integer(id), op, arguments, resync, err);
}

static void open_question(struct nl_link *link, bool greeting)
{
    eventfd_t count;

    pthread_mutex_lock(&link->lock);
    link->first_id = link->next_id;
    link->open = true;
    link->greeting = greeting;
    if (eventfd_read(link->wake_fd, &count) < 0)
        count = 0;
    pthread_mutex_unlock(&link->lock);
}

static void close_question(struct nl_link *link)
{
    pthread_mutex_lock(&link->lock);
    link->open = false;
    json_decref(link->reply);
    link->reply = NULL;
    pthread_mutex_unlock(&link->lock);
}

static int fail_late(struct nl_link *link, struct nl_error **err)
{
    int64_t heard = nl_link_last_heard_ms(link);
    unsigned overlong = atomic_load(&link->buffer.overlong);

    if (heard == 0)
        nl_fail(err, NL_EXIT_LAB, "no answer before its deadline; the agent never said anything");
    else
        nl_fail(err, NL_EXIT_LAB, "no answer before its deadline; last heard %.1f s ago",
                (double)(nl_now_ms() - heard) / 1000.0);
    if (overlong)
        nl_hint(err, "%u lines from the agent were dropped: longer than %d MiB", overlong,
                NL_PROTOCOL_LINE_MAX / (1024 * 1024));
    return -1;
}

/* Wait for the reply to the open question. 1: *REPLY is there; 0: DEADLINE passed; -1: error. */
static int await_reply(struct nl_link *link, nl_deadline deadline, json_t **reply,
                       struct nl_error **err)
{
    for (;;) {
        bool ended;
        int rc;

        pthread_mutex_lock(&link->lock);
        *reply = nl_steal(&link->reply);
        ended = link->ended;
        pthread_mutex_unlock(&link->lock);
        if (*reply)
            return 1;
        if (ended)
            return fail_ended(link, err);
        rc = nl_wait_readable(link->wake_fd, deadline, err);
        if (rc != 1)
            return rc;
        eventfd_read(link->wake_fd, &(eventfd_t){0});
    }
}

/* Unpack a reply: its result, or the agent's error as ours. */
static int unpack_reply(const json_t *reply, json_t **result, struct nl_error **err)
{
    json_t *value = json_object_get(reply, "result");
    json_t *error = json_object_get(reply, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    const char *hint = json_string_value(json_object_get(error, "hint"));

    if (json_is_true(json_object_get(reply, "ok"))) {
        /* Every operation answers with an object: who reads it need not look again. */
        if (value && !json_is_object(value))
            return nl_fail(err, NL_EXIT_LAB, "the agent's answer is no JSON object");
        if (result)
            *result = value ? json_incref(value) : json_object();
        return 0;
    }
    nl_fail(err, NL_EXIT_LAB, "the agent refused: %s", message ? message : "no reason given");
    if (hint)
        nl_hint(err, "%s", hint);
    return -1;
}

static int lock_asking(struct nl_link *link, nl_deadline deadline, struct nl_error **err)
{
    struct timespec until = {.tv_sec = deadline / 1000, .tv_nsec = deadline % 1000 * 1000000};

    if (pthread_mutex_clocklock(&link->asking, CLOCK_MONOTONIC, &until) == 0)
        return 0;
    return nl_fail(err, NL_EXIT_LAB, "no turn before its deadline: another question is open");
}

/* As await_reply(), with a tick meanwhile. */
static int await_watched(struct nl_link *link, nl_deadline deadline, json_t **reply,
                         struct nl_error **err)
{
    for (;;) {
        nl_deadline until = link->tick ? nl_deadline_in(TICK_S) : deadline;
        int rc = await_reply(link, until < deadline ? until : deadline, reply, err);

        if (rc != 0 || nl_deadline_left_ms(deadline) == 0)
            return rc;
        if (link->tick && link->tick(link->tick_data, err) < 0)
            return -1;
    }
}

int nl_link_ask(struct nl_link *link, const char *op, json_t *arguments, nl_deadline deadline,
                json_t **result, struct nl_error **err)
{
    cleanup_json json_t *owned = arguments;
    cleanup_json json_t *reply = NULL;
    int rc;

    if (lock_asking(link, deadline, err) < 0)
        return nl_wrap(err, "asking for %s", op);
    open_question(link, false);
    rc = send_request(link, op, owned, false, err);
    if (rc == 0)
        rc = await_watched(link, deadline, &reply, err);
    if (rc == 0)
        rc = fail_late(link, err);
    else if (rc == 1)
        rc = unpack_reply(reply, result, err);
    close_question(link);
    pthread_mutex_unlock(&link->asking);
    return rc < 0 ? nl_wrap(err, "asking for %s", op) : 0;
}

/* When to say hello again: in growing steps, because a guest that boots for minutes keeps them all
   and a stream holds only some hundred unread; at once when something was heard after the last one.
 */
struct hello {
    nl_deadline due;
    double step_s;
    int64_t said_ms;
};

static bool hello_is_due(const struct hello *hello, struct nl_link *link)
{
    int64_t now = nl_now_ms();
    bool heard = nl_link_last_heard_ms(link) > hello->said_ms;

    return now >= hello->due || (heard && now - hello->said_ms >= HELLO_FIRST_S * 1000);
}

static int say_hello(struct hello *hello, struct nl_link *link, struct nl_error **err)
{
    hello->said_ms = nl_now_ms();
    hello->due = nl_deadline_in(hello->step_s);
    hello->step_s = hello->step_s * 1.5 < HELLO_MAX_S ? hello->step_s * 1.5 : HELLO_MAX_S;
    return send_request(link, "hello", NULL, true, err);
}

/* One round of hellos. A reply to any of them will do: a slow layer may answer the first one when
   the third is on its way, and while it is not there yet the stream may keep or lose what was sent.
 */
static int greet(struct nl_link *link, nl_deadline deadline,
                 int (*tick)(void *data, struct nl_error **err), void *data, json_t **reply,
                 struct nl_error **err)
{
    struct hello hello = {.step_s = HELLO_FIRST_S};

    for (;;) {
        nl_deadline until = nl_deadline_in(TICK_S);
        int rc;

        if (hello_is_due(&hello, link) && say_hello(&hello, link, err) < 0)
            return -1;
        rc = await_reply(link, until < deadline ? until : deadline, reply, err);
        if (rc != 0)
            return rc;
        if (tick && tick(data, err) < 0)
            return -1;
        if (nl_deadline_left_ms(deadline) == 0)
            return fail_late(link, err);
    }
}

int nl_link_hello(struct nl_link *link, nl_deadline deadline,
                  int (*tick)(void *data, struct nl_error **err), void *data, json_t **result,
                  struct nl_error **err)
{
    cleanup_json json_t *reply = NULL;
    int rc;

    if (lock_asking(link, deadline, err) < 0)
        return nl_wrap(err, "asking for hello");
    open_question(link, true);
    rc = greet(link, deadline, tick, data, &reply, err);
    if (rc == 1)
        rc = unpack_reply(reply, result, err);
    close_question(link);
    pthread_mutex_unlock(&link->asking);
    return rc < 0 ? nl_wrap(err, "waiting for the agent") : 0;
}

void nl_link_watch(struct nl_link *link, nl_link_tick *tick, void *data)
{
    link->tick_data = data;
    link->tick = tick;
}

int nl_link_ping(struct nl_link *link, struct nl_error **err)
{
    return send_as(link, nl_ping_begin(link->ping), "ping", NULL, false, err);
}

int nl_link_pong(struct nl_link *link, nl_deadline deadline, json_t **result, struct nl_error **err)
{
    cleanup_json json_t *pong = NULL;
    int rc = nl_ping_wait(link->ping, deadline, &pong, err);

    if (rc == 1 && result)
        *result = json_incref(json_object_get(pong, "result"));
    return rc;
}

int64_t nl_link_last_heard_ms(struct nl_link *link)
{
    return nl_pump_last_heard_ms(link->pump);
}

void nl_link_close(struct nl_link **link)
{
    if (!*link)
        return;
    nl_pump_stop(&(*link)->pump);
    free_link(nl_steal(link));
}
