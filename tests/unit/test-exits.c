/*
 * test-exits.c - VM exits while a benchmark ran, from counters that libvirt gives as strings, and
 * by reason, from what an agent says.
 */
#include "cleanup.h"
#include "dig.h"
#include "exits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static json_t *between(const char *before, const char *after)
{
    cleanup_json json_t *from = json_loads(before, 0, NULL);
    cleanup_json json_t *to = json_loads(after, 0, NULL);

    assert_non_null(from);
    assert_non_null(to);
    return nl_exits_between(from, to);
}

static void test_difference(void **state)
{
    cleanup_json json_t *exits =
        between("[null, {\"vcpu.0.exits.sum\": \"1000\", \"vcpu.0.irq_exits.sum\": \"7\","
                " \"vcpu.0.exits_of_mine.sum\": \"1\"},"
                " {\"vcpu.0.exits.sum\": \"9007199254740993\", \"vcpu.1.exits.sum\": \"5\"}]",
                "[null, {\"vcpu.0.exits.sum\": \"1812\", \"vcpu.0.irq_exits.sum\": \"9\","
                " \"vcpu.0.exits_of_mine.sum\": \"9\"},"
                " {\"vcpu.0.exits.sum\": \"9007199254740994\", \"vcpu.1.exits.sum\": \"8\"}]");
    const json_t *l1 = json_array_get(exits, 0), *l2 = json_array_get(exits, 1);

    (void)state;
    assert_int_equal(json_array_size(exits), 2);
    assert_true(nl_dig_is(l1, "layer", "L1"));
    assert_int_equal(nl_dig_integer(l1, "exits", -1), 812);
    assert_int_equal(nl_dig_integer(l1, "irq_exits", -1), 2);
    assert_null(nl_dig(l1, "nested_run"));
    assert_true(nl_dig_is(l2, "layer", "L2"));
    assert_int_equal(nl_dig_integer(l2, "exits", -1), 4);
}

/* A layer that could not be asked, before or after, or whose counters began again. */
static void test_not_counted(void **state)
{
    static const char *const cases[][2] = {
        {"[null]", "[null]"},
        {"[]", "[{\"vcpu.0.exits.sum\": \"5\"}]"},
        {"[null]", "[{\"vcpu.0.exits.sum\": \"5\"}]"},
        {"[{\"vcpu.0.exits.sum\": \"5\"}]", "[null]"},
        {"[{\"vcpu.0.exits.sum\": \"5\"}]", "[]"},
        {"[{\"vcpu.0.exits.sum\": \"5\"}]", "[{\"vcpu.0.exits.sum\": \"4\"}]"},
        {"[{\"vcpu.0.exits.sum\": 5}]", "[{\"vcpu.0.exits.sum\": 6}]"},
        {"[{\"vcpu.exits.sum\": \"5\"}]", "[{\"vcpu.exits.sum\": \"6\"}]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_json json_t *exits = between(cases[i][0], cases[i][1]);

        if (json_array_size(exits) != 0)
            fail_msg("%s to %s", cases[i][0], cases[i][1]);
    }
}

/* What the agent of L0 says of L1: all exits, and those that came from L2. */
static void test_reasons(void **state)
{
    cleanup_json json_t *reply = json_loads(
        "{\"exits\": [{\"isa\": \"svm\", \"code\": 114, \"reason\": \"cpuid\", \"times\": 10},"
        " {\"isa\": \"svm\", \"code\": 128, \"reason\": \"vmrun\", \"times\": 7},"
        " {\"isa\": \"svm\", \"code\": 96, \"reason\": \"interrupt\", \"times\": 8},"
        " {\"isa\": \"vmx\", \"code\": 2147483681, \"reason\": \"cpuid\", \"times\": 1}],"
        " \"inside\": [{\"isa\": \"svm\", \"code\": 114, \"reason\": \"cpuid\", \"times\": 7},"
        " {\"isa\": \"svm\", \"code\": 96, \"reason\": \"interrupt\", \"times\": 8}]}",
        0, NULL);
    cleanup_json json_t *counts = json_array();
    cleanup_json json_t *wanted = json_loads("[{\"layer\": \"L1\", \"inside\": false, \"reasons\": "
                                             "[{\"reason\": \"vmrun\", \"times\": 7},"
                                             " {\"reason\": \"cpuid\", \"times\": 4}]},"
                                             " {\"layer\": \"L1\", \"inside\": true, \"reasons\": "
                                             "[{\"reason\": \"interrupt\", \"times\": 8},"
                                             " {\"reason\": \"cpuid\", \"times\": 7}]}]",
                                             0, NULL);

    (void)state;
    assert_non_null(reply);
    nl_exits_by_reason("L1", reply, counts);
    assert_true(json_equal(counts, wanted));
}

/* An agent that cannot be trusted, or cannot count. */
static void test_reasons_of_no_kind(void **state)
{
    static const char *const cases[] = {
        "{}",
        "{\"exits\": {}}",
        "{\"exits\": null, \"inside\": []}",
    };
    static const char *const none[] = {
        "{\"exits\": [], \"inside\": null}",
        "{\"exits\": [1, {\"reason\": 5, \"times\": 1}, {\"reason\": \"a\"},"
        " {\"reason\": \"b\", \"times\": -3}, {\"reason\": \"c\", \"times\": \"9\"}]}",
        "{\"exits\": [{\"reason\": \"a\", \"times\": 1}],"
        " \"inside\": 7}",
    };
    cleanup_json json_t *counts = json_array();

    (void)state;
    nl_exits_by_reason("L1", NULL, counts);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_json json_t *reply = json_loads(cases[i], 0, NULL);

        assert_non_null(reply);
        nl_exits_by_reason("L1", reply, counts);
    }
    assert_int_equal(json_array_size(counts), 0);
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        cleanup_json json_t *reply = json_loads(none[i], 0, NULL);

        assert_non_null(reply);
        nl_exits_by_reason("L1", reply, counts);
        assert_int_equal(json_array_size(counts), i + 1);
        assert_int_equal(json_array_size(nl_dig(json_array_get(counts, i), "reasons")),
                         i == 2 ? 1 : 0);
    }
}

/* Neither overflows nor grows without end. */
static void test_reasons_too_many(void **state)
{
    cleanup_json json_t *exits = json_array();
    cleanup_json json_t *reply = NULL;
    cleanup_json json_t *counts = json_array();

    (void)state;
    for (int i = 0; i < 1000; i++) {
        json_array_append_new(exits, json_pack("{s:o, s:I}", "reason", json_sprintf("r%d", i),
                                               "times", (json_int_t)INT64_MAX));
        json_array_append_new(
            exits, json_pack("{s:s, s:I}", "reason", "same", "times", (json_int_t)INT64_MAX / 3));
    }
    reply = json_pack("{s:O, s:O}", "exits", exits, "inside", exits);
    nl_exits_by_reason("L1", reply, counts);
    assert_int_equal(json_array_size(counts), 2);
    assert_true(json_array_size(nl_dig(json_array_get(counts, 1), "reasons")) <= 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_difference),       cmocka_unit_test(test_not_counted),
        cmocka_unit_test(test_reasons),          cmocka_unit_test(test_reasons_of_no_kind),
        cmocka_unit_test(test_reasons_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
