/*
 * test-statuses.c - the exit status of several runs, and why it is what it is.
 */
#include "statuses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void assert_why(const struct nl_status_of *runs, size_t n, int worst, const char *why)
{
    cleanup_free char *text = nl_statuses_why(runs, n);

    assert_int_equal(nl_statuses_worst(runs, n), worst);
    if (why)
        assert_string_equal(text, why);
    else
        assert_null(text);
}

static void test_one_decides(void **state)
{
    const struct nl_status_of passed[] = {{"a", true, 0}, {"b", true, 0}};
    const struct nl_status_of failed[] = {{"a", true, 0}, {"b", true, 1}, {"c", true, 1}};

    (void)state;
    assert_why(passed, 2, 0, NULL);
    assert_why(failed, 3, 1, "exit status 1, a check failed: b, c; 1 of 3 passed");
}

static void test_others_are_told(void **state)
{
    const struct nl_status_of mixed[] = {
        {"a", true, 3}, {"b", true, 1}, {"c", true, 0}, {"d", true, 2}, {"e", true, 99}};
    const struct nl_status_of ended[] = {{"a", true, 1}, {"b", true, 130}, {"c", false, 0}};

    (void)state;
    assert_why(mixed, 5, 1,
               "exit status 1, a check failed: b; the request was wrong: d; the lab could not do "
               "it: a, e; 1 of 5 passed");
    assert_why(ended, 3, 130,
               "exit status 130, interrupted: b; a check failed: a; not run: c; 0 of 3 passed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_decides),
        cmocka_unit_test(test_others_are_told),
    };

    return cmocka_run_group_tests_name("statuses", tests, NULL, NULL);
}
