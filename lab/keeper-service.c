/*
 * keeper-service.c - the keeper's operations: see keeper.h for the protocol.
 */
#include "keeper-service.h"
#include "dig.h"
#include "protocol.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#define REQUEST_MAX (256 * 1024)
#define REQUEST_S 10.0
#define EXEC_S 300.0
#define ASK_S 60.0
#define EXEC_OUTPUT (1024 * 1024)

/* What was read of the connection and not yet used. */
struct conversation {
    struct nl_keeper_client *client;
    char *buffer;
    size_t length;
    bool raw; /* the last operation has used the connection up */
};

static int send_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = send(fd, bytes, length, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes += n;
        length -= (size_t)n;
    }
    return 0;
}

static int send_json(int fd, json_t *object)
{
    cleanup_json json_t *owned = object;
    cleanup_free char *text = json_dumps(owned, JSON_COMPACT);

    if (!text || send_all(fd, text, strlen(text)) < 0)
        return -1;
    return send_all(fd, "\n", 1);
}

static int send_result(int fd, json_t *result)
{
    return send_json(fd, json_pack("{s:b, s:o}", "ok", 1, "result", result));
}

static int send_error(int fd, const struct nl_error *err)
{
    /* A message may quote a guest; what is no UTF-8 does not pack. */
    json_t *error =
        json_pack("{s:s, s:s?}", "message", nl_error_message(err), "hint", nl_error_hint(err));

    if (!error)
        error = json_pack("{s:s}", "message", "failed, for a reason that is no text");
    return send_json(fd, json_pack("{s:b, s:o}", "ok", 0, "error", error));
}

static int find_layer(const struct nl_stack *stack, const json_t *request, struct nl_layer **layer,
                      struct nl_error **err)
{
    const char *name = nl_dig_string(request, "layer", NULL);

    if (!name) {
        nl_fail(err, NL_EXIT_REQUEST, "the request names no layer");
        return -1;
    }
    for (size_t i = 0; i < stack->n_layers; i++) {
        if (strcmp(stack->layers[i].spec->name, name) == 0) {
            *layer = &stack->layers[i];
            return 0;
        }
    }
    nl_fail(err, NL_EXIT_REQUEST, "this stack has no layer %s", name);
    return -1;
}

static int occupy(struct nl_keeper *keeper, const struct nl_layer *layer, enum nl_keeper_use use,
                  struct nl_error **err)
{
    bool *busy = &keeper->busy[layer->index].with[use];
    bool was;

    pthread_mutex_lock(&keeper->lock);
    was = *busy;
    *busy = true;
    pthread_mutex_unlock(&keeper->lock);
    return was ? nl_fail(err, NL_EXIT_LAB, "the %s of %s is in use by another nestlab shell",
                         use == NL_KEEPER_AGENT ? "agent" : "shell", layer->spec->name)
               : 0;
}

static void vacate(struct nl_keeper *keeper, const struct nl_layer *layer, enum nl_keeper_use use)
{
    pthread_mutex_lock(&keeper->lock);
    keeper->busy[layer->index].with[use] = false;
    pthread_mutex_unlock(&keeper->lock);
}

static json_t *describe_layer(struct nl_layer *layer)
{
    bool gone = (layer->console && nl_console_ended(layer->console)) ||
                (layer->link && !nl_link_alive(layer->link));
    json_t *described;

    pthread_mutex_lock(&layer->lock);
    described =
        json_pack("{s:s, s:s, s:o, s:o}", "name", layer->spec->name, "state",
                  gone ? NL_LAYER_GONE : layer->state, "busy", nl_document_text(layer->busy),
                  "trouble", nl_document_text(layer->trouble));
    pthread_mutex_unlock(&layer->lock);
    return described;
}

static int serve_status(struct conversation *talk, const json_t *request, struct nl_error **err)
{
    struct nl_stack *stack = talk->client->keeper->stack;
    json_t *layers = json_array();

    (void)request;
    (void)err;
    for (size_t i = 0; i < stack->n_layers; i++)
        json_array_append_new(layers, describe_layer(&stack->layers[i]));
    return send_result(talk->client->fd,
                       json_pack("{s:s, s:i, s:o}", "id", nl_rundir_id(stack->rundir), "pid",
                                 (int)getpid(), "layers", layers));
}

static int serve_down(struct conversation *talk, const json_t *request, struct nl_error **err)
{
    int rc = send_result(talk->client->fd, json_object());

    (void)request;
    (void)err;
    eventfd_write(talk->client->keeper->down_fd, 1);
    return rc;
}

/* Put the question OP to LAYER's agent (ARGUMENTS is consumed), and pass on what it says. */
static int ask_agent(struct conversation *talk, struct nl_layer *layer, const char *op,
                     json_t *arguments, double timeout, struct nl_error **err)
{
    struct nl_keeper *keeper = talk->client->keeper;
    cleanup_json json_t *owned = arguments;
    json_t *result = NULL;
    int rc;

    if (!(timeout > 0) || timeout > 86400)
        return nl_fail(err, NL_EXIT_REQUEST, "timeout_s must be above 0 and at most 86400");
    if (!layer->link)
        return nl_fail(err, NL_EXIT_LAB, "%s has no agent to ask", layer->spec->name);
    if (occupy(keeper, layer, NL_KEEPER_AGENT, err) < 0)
        return -1;
    rc = nl_link_ask(layer->link, op, nl_steal(&owned), nl_deadline_in(timeout + 10), &result, err);
    vacate(keeper, layer, NL_KEEPER_AGENT);
    return rc < 0 ? -1 : send_result(talk->client->fd, result ? result : json_null());
}

static int serve_exec(struct conversation *talk, const json_t *request, struct nl_error **err)
{
    double timeout = nl_dig_number(request, "timeout_s", EXEC_S);
    struct nl_layer *layer;

    if (find_layer(talk->client->keeper->stack, request, &layer, err) < 0)
        return -1;
    if (!json_is_array(json_object_get(request, "argv")))
        return nl_fail(err, NL_EXIT_REQUEST, "the request has no argv");
    return ask_agent(talk, layer, "exec",
                     json_pack("{s:O, s:f, s:i}", "argv", json_object_get(request, "argv"),
                               "timeout_s", timeout, "output_limit", EXEC_OUTPUT),
                     timeout, err);
}

/* What an agent is asked without changing anything in its layer. */
static int serve_ask(struct conversation *talk, const json_t *request, struct nl_error **err)
{
    static const char *const questions[] = {"facts", "machine"};
    struct nl_layer *layer;

    if (find_layer(talk->client->keeper->stack, request, &layer, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
        if (nl_dig_is(request, "question", questions[i]))
            return ask_agent(talk, layer, questions[i], NULL,
                             nl_dig_number(request, "timeout_s", ASK_S), err);
    return nl_fail(err, NL_EXIT_REQUEST, "the request's question is none of facts, machine");
}

/* Pass on what the client sends, first what is buffered, until either side ends. */
static void relay(struct conversation *talk,
                  int (*give)(void *to, const char *bytes, size_t length, struct nl_error **err),
                  void *to)
{
    for (;;) {
        cleanup_error struct nl_error *err = NULL;
        ssize_t n;

        if (talk->length > 0 && give(to, talk->buffer, talk->length, &err) < 0)
            return;
        n = recv(talk->client->fd, talk->buffer, REQUEST_MAX, 0);
        if (n < 0 && errno == EINTR)
            n = 0;
        else if (n <= 0)
            return;
        talk->length = (size_t)n;
    }
}

static int give_console(void *to, const char *bytes, size_t length, struct nl_error **err)
{
    return nl_console_write(to, bytes, length, err);
}

static int serve_console(struct conversation *talk, const json_t *request, struct nl_error **err)
{
    struct nl_layer *layer;

    if (find_layer(talk->client->keeper->stack, request, &layer, err) < 0)
        return -1;
    if (!layer->console)
        return nl_fail(err, NL_EXIT_LAB, "%s has no serial console", layer->spec->name);
    talk->raw = true;
    if (send_result(talk->client->fd, json_object()) == 0)
        relay(talk, give_console, layer->console);
    return 0;
}

static int give_pipe(void *to, const char *bytes, size_t length, struct nl_error **err)
{
    return nl_pipe_write(to, bytes, length, err);
}

/* From the layer to the client; LOCK keeps the reply before the first byte. */
struct shell_output {
    pthread_mutex_t lock;
    int fd;
};

static void on_shell_bytes(const char *bytes, size_t length, void *data)
{
    struct shell_output *output = data;

    pthread_mutex_lock(&output->lock);
    /* A client that takes nothing for the socket's time-out is given up. */
    if (length == 0 || send_all(output->fd, bytes, length) < 0)
        shutdown(output->fd, SHUT_RDWR);
    pthread_mutex_unlock(&output->lock);
}

static int join_shell(struct conversation *talk, virDomainPtr domain, struct nl_error **err)
{
    struct shell_output output = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = talk->client->fd};
    struct nl_pipe *pipe = NULL;
    int rc;

    pthread_mutex_lock(&output.lock);
    rc = nl_pipe_open(domain, NL_PROTOCOL_SHELL_PORT, on_shell_bytes, &output, &pipe, err);
    if (rc == 0) {
        talk->raw = true;
        rc = send_result(talk->client->fd, json_object());
    }
    pthread_mutex_unlock(&output.lock);
    if (rc == 0)
        relay(talk, give_pipe, pipe);
    nl_pipe_close(&pipe);
    pthread_mutex_destroy(&output.lock);
    return rc;
}

static int serve_shell(struct conversation *talk, const json_t *request, struct nl_error **err)
{
    struct nl_keeper *keeper = talk->client->keeper;
    virDomainPtr domain;
    struct nl_layer *layer;
    int rc;

    if (find_layer(keeper->stack, request, &layer, err) < 0)
        return -1;
    if (!layer->domain)
        return nl_fail(err, NL_EXIT_LAB, "%s is not a guest: it has no shell port",
                       layer->spec->name);
    if (occupy(keeper, layer, NL_KEEPER_SHELL, err) < 0)
        return -1;
    /* The stack may be taken down while libvirt hangs in here. */
    domain = layer->domain;
    virDomainRef(domain);
    rc = join_shell(talk, domain, err);
    virDomainFree(domain);
    vacate(keeper, layer, NL_KEEPER_SHELL);
    return rc;
}

static const struct operation {
    const char *name;
    int (*serve)(struct conversation *talk, const json_t *request, struct nl_error **err);
} operations[] = {
    {"status", serve_status}, {"down", serve_down},       {"exec", serve_exec},
    {"ask", serve_ask},       {"console", serve_console}, {"shell", serve_shell},
};

/* Serve the request in the LENGTH bytes at LINE. -1: the connection is of no more use. */
static int serve_line(struct conversation *talk, const char *line, size_t length)
{
    cleanup_json json_t *request = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    const char *op = nl_dig_string(request, "op", NULL);
    cleanup_error struct nl_error *err = NULL;

    if (!op)
        nl_fail(&err, NL_EXIT_REQUEST, "not a request: a JSON object with \"op\" is expected");
    for (size_t i = 0; op && i < sizeof(operations) / sizeof(operations[0]); i++) {
        if (strcmp(op, operations[i].name) != 0)
            continue;
        if (operations[i].serve(talk, request, &err) == 0)
            return talk->raw ? -1 : 0;
        if (!err)
            return -1;
        return send_error(talk->client->fd, err);
    }
    if (op)
        nl_fail(&err, NL_EXIT_REQUEST, "unknown operation: %s", op);
    return send_error(talk->client->fd, err);
}

/* Wait for a whole line; its length without the end, or -1. */
static ssize_t read_line(struct conversation *talk)
{
    nl_deadline deadline = nl_deadline_in(REQUEST_S);

    for (;;) {
        char *end = memchr(talk->buffer, '\n', talk->length);
        struct pollfd fd = {.fd = talk->client->fd, .events = POLLIN};
        ssize_t n;

        if (end)
            return end - talk->buffer;
        if (talk->length == REQUEST_MAX)
            return -1;
        /* No look at the interrupt: at the end, the keeper shuts the connection down. */
        n = poll(&fd, 1, nl_deadline_left_ms(deadline));
        if (n == 0 || (n < 0 && errno != EINTR))
            return -1;
        if (n < 0)
            continue;
        n = recv(talk->client->fd, talk->buffer + talk->length, REQUEST_MAX - talk->length, 0);
        if (n == 0 || (n < 0 && errno != EINTR))
            return -1;
        talk->length += n > 0 ? (size_t)n : 0;
    }
}

void *nl_keeper_converse(void *data)
{
    struct nl_keeper_client *client = data;
    cleanup_free char *buffer = malloc(REQUEST_MAX);
    struct conversation talk = {.client = client, .buffer = buffer};
    ssize_t n;

    while (buffer && (n = read_line(&talk)) >= 0) {
        cleanup_free char *line = strndup(buffer, (size_t)n);

        talk.length -= (size_t)n + 1;
        memmove(buffer, buffer + n + 1, talk.length);
        if (!line || serve_line(&talk, line, strlen(line)) < 0)
            break;
    }
    shutdown(client->fd, SHUT_RDWR);
    atomic_store(&client->done, true);
    return NULL;
}
