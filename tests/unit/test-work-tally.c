/*
 * test-work-tally.c - what is told at the end of benchmarks and metering, and while one takes long.
 */
#include "work-tally.h"
#include "work-wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define TEN "\"samples\": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"

static void add(struct nl_work_tally *tally, const char *text)
{
    cleanup_json json_t *row = json_loads(text, 0, NULL);

    assert_non_null(row);
    nl_work_tally_add(tally, row);
}

static void assert_text(const struct nl_work_tally *tally, const char *expected)
{
    cleanup_free char *text = nl_work_tally_text(tally);

    assert_string_equal(text, expected);
}

static void test_tally(void **state)
{
    struct nl_work_tally tally = {0};

    (void)state;
    assert_text(&tally, "0 rows");
    add(&tally, "{" TEN ", \"short\": null, \"skipped\": null}");
    assert_text(&tally, "1 row, whole");
    add(&tally, "{" TEN ", \"short\": null, \"skipped\": null, \"undisturbed\": 3}");
    assert_text(&tally, "2 rows, all whole");
    add(&tally, "{" TEN ", \"short\": \"10 of 20\", \"undisturbed\": 3}");
    assert_text(&tally, "3 rows: 2 whole, 1 with fewer samples than asked for");
    add(&tally, "{\"samples\": [], \"skipped\": \"needs KVM\"}");
    add(&tally, "{\"samples\": [1], \"short\": \"1 of 20: too few\", \"undisturbed\": 0}");
    add(&tally, "{" TEN ", \"short\": \"10 of 20\", \"undisturbed\": 0}");
    assert_text(&tally, "6 rows: 2 whole, 1 with fewer samples than asked for, 1 with too few "
                        "samples to judge by, 1 disturbed all the time, 1 skipped");
    nl_work_tally_failed(&tally);
    assert_text(&tally, "7 rows: 2 whole, 1 with fewer samples than asked for, 1 with too few "
                        "samples to judge by, 1 disturbed all the time, 1 skipped, 1 without a "
                        "result");
}

/* An agent may say anything. */
static void test_tally_of_nonsense(void **state)
{
    struct nl_work_tally tally = {0};

    (void)state;
    nl_work_tally_add(&tally, NULL);
    add(&tally, "[]");
    add(&tally, "{\"samples\": 7, \"undisturbed\": \"x\", \"short\": []}");
    assert_text(&tally, "3 rows: 0 whole, 3 with too few samples to judge by");
}

static void test_wait(void **state)
{
    const struct nl_work_wait timed = {.what = "cpuid at L2", .limit_s = 180};
    const struct nl_work_wait metered = {
        .what = "guest-boot at L1", .limit_s = 180, .operations = 101};
    cleanup_free char *a = nl_work_wait_text(&timed, 34.2, 0);
    cleanup_free char *b = nl_work_wait_text(&metered, 34.2, 12);
    cleanup_free char *c = nl_work_wait_text(&metered, 34.2, 102);

    (void)state;
    assert_string_equal(a, "cpuid at L2: 34 s of at most 180 s");
    assert_string_equal(b, "guest-boot at L1: 12 of 101 operations, 34 s of at most 180 s");
    assert_string_equal(c, "guest-boot at L1: 34 s of at most 180 s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tally),
        cmocka_unit_test(test_tally_of_nonsense),
        cmocka_unit_test(test_wait),
    };

    return cmocka_run_group_tests_name("work-tally", tests, NULL, NULL);
}
