/*
 * test-agent-dispatch.c - from a line to an operation, and the shape of replies.
 */
#include "dispatch.h"
#include "protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct agent_context context;

static int set_up(void **state)
{
    (void)state;
    context = (struct agent_context){
        .layer = "L1", .ready_uptime_s = -1, .services = json_pack("{s:b}", "sshd", 1)};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    json_decref(context.services);
    return 0;
}

/* Parse LINE and run it, if it is good; its reply. */
static json_t *answer(const char *line)
{
    struct agent_request request;
    json_t *reply = NULL;

    if (agent_request_parse(line, strlen(line), &request, &reply) > 0) {
        reply = agent_request_run(&context, &request);
        agent_request_clear(&request);
    }
    assert_non_null(reply);
    return reply;
}

static const char *message(const json_t *reply)
{
    const json_t *error = json_object_get(reply, "error");

    assert_true(json_is_false(json_object_get(reply, "ok")));
    assert_null(json_object_get(reply, "result"));
    return json_string_value(json_object_get(error, "message"));
}

static const json_t *result(const json_t *reply)
{
    assert_true(json_is_true(json_object_get(reply, "ok")));
    assert_null(json_object_get(reply, "error"));
    return json_object_get(reply, "result");
}

static void test_hello(void **state)
{
    cleanup_json json_t *reply = answer("{\"id\": 7, \"op\": \"hello\"}");
    const json_t *hello = result(reply);

    (void)state;
    assert_int_equal(json_integer_value(json_object_get(reply, "id")), 7);
    assert_string_equal(json_string_value(json_object_get(hello, "layer")), "L1");
    assert_int_equal(json_integer_value(json_object_get(hello, "protocol")), NL_PROTOCOL_VERSION);
    assert_true(json_is_false(json_object_get(hello, "ready")));
    assert_true(json_is_true(json_object_get(json_object_get(hello, "services"), "sshd")));
    assert_int_equal(json_array_size(json_object_get(hello, "operations")), 16);
}

/* Two readings: the clock goes on, and the TSC with it. */
static void test_clock(void **state)
{
    cleanup_json json_t *first = answer("{\"id\": 1, \"op\": \"clock\"}");
    cleanup_json json_t *second = answer("{\"id\": 2, \"op\": \"clock\"}");
    static const char *const keys[] = {"raw_ns", "tsc"};

    (void)state;
    for (size_t i = 0; i < 2; i++)
        assert_true(json_integer_value(json_object_get(result(second), keys[i])) >
                    json_integer_value(json_object_get(result(first), keys[i])));
    assert_true(json_integer_value(json_object_get(result(first), "tsc_width")) > 0);
    assert_non_null(json_object_get(result(first), "source"));
}

static void test_every_operation_is_found(void **state)
{
    static const char *const names[] = {"hello",    "facts", "log",  "bench", "benches",
                                        "symbols",  "exec",  "put",  "get",   "heartbeat",
                                        "poweroff", "fault", "clock"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct agent_request request;
        json_t *reply = NULL;
        char line[64];
        snprintf(line, sizeof(line), "{\"id\": 1, \"op\": \"%s\"}", names[i]);
        assert_int_equal(agent_request_parse(line, strlen(line), &request, &reply), 1);
        assert_string_equal(request.operation->name, names[i]);
        agent_request_clear(&request);
    }
}

static void test_ids(void **state)
{
    static const char *const kept[] = {"\"a\"", "12345678901234567", "-1", "1.5", "true", "null"};

    (void)state;
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        char line[100];
        snprintf(line, sizeof(line), "{\"id\": %s, \"op\": \"nope\"}", kept[i]);
        cleanup_json json_t *reply = answer(line);
        cleanup_free char *id = json_dumps(json_object_get(reply, "id"), JSON_ENCODE_ANY);
        assert_string_equal(id, kept[i]);
    }
    cleanup_json json_t *nested = answer("{\"id\": {\"a\": 1}, \"op\": \"nope\"}");
    assert_true(json_is_null(json_object_get(nested, "id")));
}

static void test_noise(void **state)
{
    struct agent_request request;
    json_t *none = NULL;
    static const char noise[] = "\xff\x00\x1b[m{\"id\": 3, \"op\": \"hello\"}\r";

    (void)state;
    assert_int_equal(agent_request_parse(noise, sizeof(noise) - 1, &request, &none), 1);
    assert_int_equal(json_integer_value(json_object_get(request.object, "id")), 3);
    agent_request_clear(&request);
    assert_int_equal(agent_request_parse("", 0, &request, &none), 0);
    assert_int_equal(agent_request_parse(" \r\t", 3, &request, &none), 0);
    assert_null(none);
}

static void test_bad_lines(void **state)
{
    static const char *const bad[] = {"hello",
                                      "[1, 2]",
                                      "{",
                                      "{}}",
                                      "{\"op\": \"hello\"} {",
                                      "{\"op\": \"\\u0000\"}",
                                      "{\"op\": \"hell\xff\"}",
                                      "123"};
    cleanup_free char *deep = malloc(600001);

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cleanup_json json_t *reply = answer(bad[i]);
        assert_true(json_is_null(json_object_get(reply, "id")));
        assert_non_null(message(reply));
    }
    for (size_t i = 0; i < 600000; i += 6)
        memcpy(deep + i, "{\"a\":[", 6);
    deep[600000] = '\0';
    cleanup_json json_t *reply = answer(deep);
    assert_non_null(message(reply));
}

static void test_unknown_operation(void **state)
{
    static const char *const lines[] = {"{\"id\": 4, \"op\": \"reboot\"}", "{\"id\": 4}",
                                        "{\"id\": 4, \"op\": 5}", "{\"id\": 4, \"op\": \"\"}"};

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        cleanup_json json_t *reply = answer(lines[i]);
        const char *hint =
            json_string_value(json_object_get(json_object_get(reply, "error"), "hint"));
        assert_non_null(message(reply));
        assert_int_equal(json_integer_value(json_object_get(reply, "id")), 4);
        assert_non_null(strstr(hint, "hello"));
        assert_non_null(strstr(hint, "poweroff"));
    }
}

static void test_wrong_types(void **state)
{
    static const char *const lines[] = {
        "{\"op\": \"facts\", \"kvm_guest\": 1}",
        "{\"op\": \"log\", \"since\": \"1\"}",
        "{\"op\": \"log\", \"since\": -1}",
        "{\"op\": \"bench\"}",
        "{\"op\": \"bench\", \"name\": []}",
        "{\"op\": \"exec\"}",
        "{\"op\": \"exec\", \"argv\": \"ls\"}",
        "{\"op\": \"exec\", \"argv\": []}",
        "{\"op\": \"exec\", \"argv\": [\"true\", 1]}",
        "{\"op\": \"exec\", \"argv\": [\"\"]}",
        "{\"op\": \"exec\", \"argv\": [\"true\"], \"timeout_s\": 0}",
        "{\"op\": \"exec\", \"argv\": [\"true\"], \"timeout_s\": 1e300}",
        "{\"op\": \"exec\", \"argv\": [\"true\"], \"output_limit\": \"1\"}",
        "{\"op\": \"exec\", \"argv\": [\"true\"], \"environment\": [1]}",
        "{\"op\": \"exec\", \"argv\": [\"true\"], \"environment\": {\"A\": 1}}",
        "{\"op\": \"exec\", \"argv\": [\"true\"], \"environment\": {\"A=B\": \"\"}}",
        "{\"op\": \"exec\", \"argv\": [\"true\"], \"input\": {}}",
        "{\"op\": \"put\"}",
        "{\"op\": \"put\", \"path\": \"relative\", \"data\": \"\"}",
        "{\"op\": \"put\", \"path\": \"/tmp/x\", \"data\": \"!\"}",
        "{\"op\": \"put\", \"path\": \"/tmp/x\", \"data\": \"\", \"mode\": 99999}",
        "{\"op\": \"put\", \"path\": \"/tmp/x\", \"data\": \"\", \"append\": 1}",
        "{\"op\": \"get\", \"path\": \"/etc/passwd\", \"offset\": -1}",
        "{\"op\": \"get\", \"path\": \"/etc/passwd\", \"limit\": 999999999999}",
        "{\"op\": \"get\", \"path\": \"/dev/zero\"}",
        "{\"op\": \"get\", \"path\": \"/etc\"}",
        "{\"op\": \"heartbeat\"}",
        "{\"op\": \"heartbeat\", \"interval_s\": -1}",
        "{\"op\": \"heartbeat\", \"interval_s\": 1e-9}",
        "{\"op\": \"heartbeat\", \"interval_s\": \"1\"}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        cleanup_json json_t *reply = answer(lines[i]);
        if (!message(reply))
            fail_msg("no message for %s", lines[i]);
    }
}

static void test_heartbeat(void **state)
{
    cleanup_json json_t *on = answer("{\"op\": \"heartbeat\", \"interval_s\": 2}");

    (void)state;
    result(on);
    assert_true(context.heartbeat_s > 1.9 && context.heartbeat_s < 2.1);
    cleanup_json json_t *off = answer("{\"op\": \"heartbeat\", \"interval_s\": 0}");
    result(off);
    assert_true(context.heartbeat_s < 0.1);
}

static void test_poweroff(void **state)
{
    cleanup_json json_t *refused = answer("{\"op\": \"poweroff\"}");

    (void)state;
    assert_non_null(message(refused));
    assert_false(context.poweroff);
    context.in_guest = true;
    cleanup_json json_t *done = answer("{\"op\": \"poweroff\"}");
    result(done);
    assert_true(context.poweroff);
}

static void test_reply_lines(void **state)
{
    size_t length = 0;
    cleanup_json json_t *small = json_pack("{s:i, s:b, s:s}", "id", 1, "ok", 1, "result", "a\nb");
    cleanup_free char *line = agent_reply_line(small, &length);

    (void)state;
    assert_int_equal(length, strlen("{\"id\":1,\"ok\":true,\"result\":\"a\\nb\"}") + 1);
    assert_int_equal(line[length - 1], '\n');
    assert_ptr_equal(memchr(line, '\n', length), line + length - 1);

    cleanup_free char *much = malloc(NL_PROTOCOL_LINE_MAX);
    memset(much, 'x', NL_PROTOCOL_LINE_MAX);
    cleanup_json json_t *big = json_pack("{s:i, s:b, s:s%}", "id", 9, "ok", 1, "result", much,
                                         (size_t)NL_PROTOCOL_LINE_MAX);
    cleanup_free char *refusal = agent_reply_line(big, &length);
    assert_true(length < 1000);
    cleanup_json json_t *reply = json_loadb(refusal, length, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(reply, "id")), 9);
    assert_non_null(message(reply));
}

static void test_backstop(void **state)
{
    struct agent_request request;
    json_t *reply = NULL;
    static const char plain[] = "{\"op\": \"facts\"}";
    static const char slow[] = "{\"op\": \"exec\", \"timeout_s\": 1000, \"budget_s\": 5}";

    (void)state;
    agent_request_parse(plain, strlen(plain), &request, &reply);
    double least = agent_request_backstop_s(&request);
    agent_request_clear(&request);
    agent_request_parse(slow, strlen(slow), &request, &reply);
    double most = agent_request_backstop_s(&request);
    agent_request_clear(&request);
    assert_true(least > 30);
    assert_true(most > 1000 + 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_hello, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_operation_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ids, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_noise, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unknown_operation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_heartbeat, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_poweroff, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reply_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_backstop, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
