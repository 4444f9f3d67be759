/*
 * dispatch.c - see dispatch.h.
 */
#include "dispatch.h"

#include "protocol.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BACKSTOP_S 120.0

void agent_request_clear(struct agent_request *request)
{
    json_decref(request->object);
    request->object = NULL;
    request->operation = NULL;
}

/* Whatever the id is, it goes back; only a container is not an id. */
static json_t *id_of(const json_t *request)
{
    json_t *id = json_object_get(request, "id");

    return id && !json_is_object(id) && !json_is_array(id) ? json_incref(id) : json_null();
}

json_t *agent_reply_error(const json_t *request, const char *message, const char *hint)
{
    json_t *error = json_pack("{s:o}", "message", agent_json_string(message));

    if (hint)
        json_object_set_new(error, "hint", agent_json_string(hint));
    return json_pack("{s:o, s:b, s:o}", "id", id_of(request), "ok", 0, "error", error);
}

static const struct agent_operation *find_operation(const char *name)
{
    for (const struct agent_operation *o = agent_operations; name && o->name; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

static json_t *unknown_operation(const json_t *request, const char *name)
{
    char message[160], hint[512] = "operations:";

    if (name)
        snprintf(message, sizeof(message), "unknown operation \"%.100s\"", name);
    else
        snprintf(message, sizeof(message), "a request has a string \"op\"");
    for (const struct agent_operation *o = agent_operations; o->name; o++) {
        size_t used = strlen(hint);
        snprintf(hint + used, sizeof(hint) - used, " %s", o->name);
    }
    return agent_reply_error(request, message, hint);
}

int agent_request_parse(const char *line, size_t length, struct agent_request *request,
                        json_t **reply)
{
    const char *begin = memchr(line, '{', length);
    json_error_t why;

    request->object = NULL;
    request->operation = NULL;
    if (!begin) {
        bool blank = true;
        for (size_t i = 0; i < length && blank; i++)
            blank = (unsigned char)line[i] <= ' ';
        if (blank)
            return 0;
        *reply = agent_reply_error(NULL, "not a JSON object", "one object per line");
        return -1;
    }
    request->object = json_loadb(begin, length - (size_t)(begin - line), 0, &why);
    if (!json_is_object(request->object)) {
        char message[JSON_ERROR_TEXT_LENGTH + 32];
        snprintf(message, sizeof(message), "not JSON: %s", why.text);
        *reply = agent_reply_error(NULL, message, NULL);
        agent_request_clear(request);
        return -1;
    }
    const char *name = json_string_value(json_object_get(request->object, "op"));
    request->operation = find_operation(name);
    if (!request->operation) {
        *reply = unknown_operation(request->object, name);
        agent_request_clear(request);
        return -1;
    }
    return 1;
}

json_t *agent_request_run(struct agent_context *context, const struct agent_request *request)
{
    cleanup_agent_error struct agent_error error = {0};
    cleanup_json json_t *result = NULL;

    if (request->operation->run(context, request->object, &result, &error) < 0 || !result)
        return agent_reply_error(request->object, error.message ? error.message : "no memory",
                                 error.hint);
    return json_pack("{s:o, s:b, s:O}", "id", id_of(request->object), "ok", 1, "result", result);
}

double agent_request_backstop_s(const struct agent_request *request)
{
    double timeout_s = json_number_value(json_object_get(request->object, "timeout_s"));
    double budget_s = json_number_value(json_object_get(request->object, "budget_s"));
    double deadline_s = json_number_value(json_object_get(request->object, "deadline_s"));

    return BACKSTOP_S + fmax(timeout_s, 0) + fmax(3 * budget_s, fmax(deadline_s, 0));
}

char *agent_reply_line(const json_t *reply, size_t *length)
{
    char *line = json_dumps(reply, JSON_COMPACT | JSON_REAL_PRECISION(12));

    if (line && strlen(line) >= NL_PROTOCOL_LINE_MAX) {
        cleanup_json json_t *error = agent_reply_error(
            reply, "the reply is over the limit of a line", "ask for less at a time");
        free(line);
        line = json_dumps(error, JSON_COMPACT);
    }
    if (!line)
        return NULL;
    *length = strlen(line);
    line[(*length)++] = '\n'; /* in place of the zero: the length is what counts */
    return line;
}
