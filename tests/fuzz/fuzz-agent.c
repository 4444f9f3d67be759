/*
 * fuzz-agent.c - libFuzzer target: any bytes as what reaches the agent from outside: a stream of
 * requests, a record of the kernel's log, base64, a kernel command line.
 *
 * Requests are parsed and not run, but for those that only read what the agent itself knows.
 */
#include "base64.h"
#include "cmdline.h"
#include "dispatch.h"
#include "kmsg.h"
#include "lines.h"
#include "shell.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LINE_LIMIT 4096
#define PIECE 7 /* bytes fed at a time: lines must not depend on how they are cut */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every reply is a line of JSON with "id" and "ok". */
static void check_reply(json_t *reply)
{
    size_t length = 0;
    cleanup_free char *line = reply ? agent_reply_line(reply, &length) : NULL;
    cleanup_json json_t *again = line ? json_loadb(line, length, 0, NULL) : NULL;

    if (!line || !json_object_get(again, "id") || !json_object_get(again, "ok") ||
        memchr(line, '\n', length) != line + length - 1)
        abort();
    json_decref(reply);
}

static void take_line(struct agent_context *context, const char *line, size_t length)
{
    struct agent_request request;
    json_t *reply = NULL;
    int good = agent_request_parse(line, length, &request, &reply);

    if (good < 0)
        check_reply(reply);
    if (good <= 0)
        return;
    if (!request.operation->apart && strcmp(request.operation->name, "log") != 0)
        check_reply(agent_request_run(context, &request));
    agent_request_clear(&request);
}

static void take_stream(const char *bytes, size_t size)
{
    struct agent_context context = {.ready_uptime_s = -1, .services = json_object()};
    struct agent_lines lines = {.max = LINE_LIMIT};

    for (size_t at = 0; at < size; at += PIECE) {
        size_t length, n = size - at < PIECE ? size - at : PIECE;
        char *line;
        if (agent_lines_feed(&lines, bytes + at, n) < 0)
            abort();
        for (enum agent_line kind; (kind = agent_lines_next(&lines, &line, &length));)
            if (kind == AGENT_LINE)
                take_line(&context, line, length);
    }
    agent_lines_clear(&lines);
    json_decref(context.services);
}

static void take_base64(const char *bytes, size_t size)
{
    size_t length = 0, back = 0;
    cleanup_free unsigned char *decoded = agent_base64_decode(bytes, size, &length);
    cleanup_free char *text = agent_base64_encode(bytes, size);
    cleanup_free unsigned char *same = agent_base64_decode(text, strlen(text), &back);

    (void)decoded;
    if (!same || back != size || memcmp(same, bytes, size) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    cleanup_free char *text = strndup(bytes, size);
    cleanup_json json_t *record = agent_kmsg_parse(bytes, size);
    cleanup_json json_t *escaped = agent_json_text(bytes, size);
    struct winsize window;
    char term[16];

    /* Anything may be no record; one that is, is an object. */
    if (!text || !escaped || (record && !json_is_object(record)))
        abort();
    take_stream(bytes, size);
    take_base64(bytes, size);
    agent_shell_parse(bytes, size, &window, term, sizeof(term));
    free(agent_cmdline_value(text, "nestlab.layer"));
    free(agent_cmdline_parameters(text, "kvm_amd"));
    return 0;
}
