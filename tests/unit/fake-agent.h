/*
 * fake-agent.h - an agent that answers late, wrongly, too long or not at all, on its standard input
 * and output.
 */
#ifndef NL_TEST_FAKE_AGENT_H
#define NL_TEST_FAKE_AGENT_H

#include "cleanup.h"
#include "protocol.h"

#include <stdarg.h>
#include <string.h>

static void say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    fflush(stdout);
}

static void say_many(char c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        putchar(c);
}

static void reply(json_int_t id, const char *text)
{
    say("{\"id\":%lld,\"ok\":true,\"result\":{\"said\":\"%s\"}}\n", (long long)id, text);
}

static void answer_echo(json_int_t id, const json_t *request)
{
    cleanup_json json_t *object =
        json_pack("{s:I, s:b, s:O}", "id", id, "ok", 1, "result", request);
    cleanup_free char *text = json_dumps(object, JSON_COMPACT);

    say("%s\n", text);
}

static void answer_late(json_int_t id)
{
    usleep(400 * 1000);
    reply(id, "late");
}

/* A helper's trouble is no answer, the agent's own is. */
static void answer_by_dying(json_int_t id)
{
    (void)id;
    say("{\"event\":\"trouble\",\"name\":\"shell\",\"message\":\"gone\"}\n");
    usleep(100 * 1000);
    say("{\"event\":\"trouble\",\"name\":\"agent\",\"message\":\"signal 9, restarted\"}\n");
}

static void answer_noise(json_int_t id)
{
    say("[    0.000000] Linux version {oops\n\n{\"id\": "
        "\n{}}}\n[1,2]\n{\"id\":\"x\",\"ok\":true}\n");
    say("{\"id\":null,\"ok\":false,\"error\":{\"message\":\"not a request\"}}\n");
    say("\xff\xfe{\"id\":%lld,\"ok\":true,\"result\":\"\xff\"}\n", (long long)id);
    for (int i = 0; i < 5000; i++)
        putchar('[');
    say("\n");
    say("{\"id\":%lld,\"ok\":true,\"result\":{\"said\":\"other id\"}}\n", (long long)id + 1);
    say("{\"id\":%lld,\"ok\":true,\"result\":{\"said\":\"old id\"}}\n", (long long)id - 1);
    say("noise before it ");
    reply(id, "right");
}

static void answer_overlong(json_int_t id)
{
    say("{\"id\":%lld,\"ok\":true,\"result\":\"", (long long)id);
    say_many('x', NL_PROTOCOL_LINE_MAX);
    say("\"}\n");
    reply(id, "after it");
}

static void answer_longest(json_int_t id)
{
    int head = printf("{\"id\":%lld,\"ok\":true,\"result\":{\"text\":\"", (long long)id);

    say_many('x', NL_PROTOCOL_LINE_MAX - (size_t)head - 3);
    say("\"}}\n");
}

static void answer_events(json_int_t id)
{
    say("{\"event\":\"phase\",\"name\":\"one\"}\n{\"event\":");
    usleep(50 * 1000);
    say("\"phase\",\"name\":\"two\"}\n");
    say("{\"event\":7,\"name\":\"not one\"}\n");
    reply(id, "done");
    say("{\"event\":\"phase\",\"name\":\"three\"}\n");
}

static void answer_refuse(json_int_t id)
{
    say("{\"id\":%lld,\"ok\":false,\"error\":{\"message\":\"no such file\",\"hint\":\"look\"}}\n",
        (long long)id);
}

static void answer_half(json_int_t id)
{
    say("{\"id\":%lld,\"ok\":tr", (long long)id);
    _exit(0);
}

static void answer_put(json_int_t id, const json_t *request)
{
    static size_t size;
    const char *data = json_string_value(json_object_get(request, "data"));
    size_t length = strlen(data);

    if (!json_is_true(json_object_get(request, "append")))
        size = 0;
    size += length / 4 * 3;
    for (; length > 0 && data[length - 1] == '='; length--)
        size--;
    /* A path of "lie" asks for a wrong count. */
    if (!strcmp(json_string_value(json_object_get(request, "path")), "lie"))
        size++;
    say("{\"id\":%lld,\"ok\":true,\"result\":{\"size\":%zu}}\n", (long long)id, size);
}

static void answer_nothing(json_int_t id)
{
    (void)id;
}

static void answer_no_result(json_int_t id)
{
    say("{\"id\":%lld,\"ok\":true}\n", (long long)id);
}

static const struct {
    const char *op;
    void (*answer)(json_int_t id);
} answers[] = {
    {"late", answer_late},       {"noise", answer_noise},    {"overlong", answer_overlong},
    {"longest", answer_longest}, {"events", answer_events},  {"refuse", answer_refuse},
    {"half", answer_half},       {"silent", answer_nothing}, {"no-result", answer_no_result},
    {"die", answer_by_dying},
};

static void answer(const json_t *request)
{
    const char *op = json_string_value(json_object_get(request, "op"));
    json_int_t id = json_integer_value(json_object_get(request, "id"));

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        if (!strcmp(op, answers[i].op)) {
            answers[i].answer(id);
            return;
        }
    }
    if (!strcmp(op, "ping"))
        say("{\"id\":\"%s\",\"ok\":true,\"result\":{\"busy\":\"silent\"}}\n",
            json_string_value(json_object_get(request, "id")));
    else if (!strcmp(op, "put"))
        answer_put(id, request);
    else
        answer_echo(id, request);
}

/* deaf: never reads. slow-start: loses what comes in the first 1.3 s. slow: answers each question
   1.2 s after it came. stubborn: does not end at the end of its input. */
static int fake_agent(const char *mode)
{
    cleanup_free char *line = NULL;
    size_t capacity = 0;

    if (!strcmp(mode, "deaf"))
        sleep(60);
    if (!strcmp(mode, "slow-start")) {
        char lost[4096];

        usleep(1300 * 1000);
        if (read(0, lost, sizeof(lost)) < 0)
            return 1;
    }
    while (getline(&line, &capacity, stdin) > 0) {
        cleanup_json json_t *request = json_loads(line, 0, NULL);

        if (!strcmp(mode, "slow"))
            usleep(1200 * 1000);
        if (request)
            answer(request);
    }
    if (!strcmp(mode, "stubborn"))
        sleep(60);
    return 0;
}

#endif
