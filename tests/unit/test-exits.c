/*
 * test-exits.c - VM exits while a benchmark ran, from counters that libvirt gives as strings.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_difference),
        cmocka_unit_test(test_not_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
