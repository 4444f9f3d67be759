/*
 * test-agent-fault.c - who may ask for a fault. None is ever injected here: this is no guest.
 */
#include "dispatch.h"
#include "fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const char *refusal(json_t *reply)
{
    assert_true(json_is_false(json_object_get(reply, "ok")));
    return json_string_value(json_object_get(json_object_get(reply, "error"), "message"));
}

static json_t *ask(struct agent_context *context, const char *line)
{
    struct agent_request request;
    json_t *reply = NULL;

    assert_int_equal(agent_request_parse(line, strlen(line), &request, &reply), 1);
    assert_true(request.operation->apart);
    reply = agent_request_run(context, &request);
    agent_request_clear(&request);
    return reply;
}

/* An agent that is a process of somebody's machine does no harm, whatever the name. */
static void test_outside_a_guest(void **state)
{
    struct agent_context context = {.in_guest = false};
    cleanup_json json_t *reply = ask(&context, "{\"op\": \"fault\", \"name\": \"no-such-fault\"}");

    (void)state;
    assert_non_null(strstr(refusal(reply), "does no harm"));
}

static void test_names(void **state)
{
    struct agent_context context = {.in_guest = true};
    cleanup_json json_t *none = ask(&context, "{\"op\": \"fault\"}");
    cleanup_json json_t *unknown =
        ask(&context, "{\"op\": \"fault\", \"name\": \"no-such-fault\"}");

    (void)state;
    assert_string_equal(refusal(none), "\"name\" is not a string");
    assert_non_null(strstr(refusal(unknown), "\"no-such-fault\""));
}

static void test_table(void **state)
{
    (void)state;
    for (const struct agent_fault *fault = agent_faults; fault->name; fault++) {
        assert_non_null(fault->inject);
        /* Init cannot wait for one that goes on. */
        assert_true(!fault->apart || fault->moment == AGENT_FAULT_ASKED);
        for (const struct agent_fault *other = agent_faults; other < fault; other++)
            assert_string_not_equal(other->name, fault->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outside_a_guest),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
