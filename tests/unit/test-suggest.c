/*
 * test-suggest.c - "did you mean".
 */
#include "suggest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const char *const words[] = {"image",        "vcpus",       "memory_mib", "cpu",
                                    "cpu_features", "kernel_args", "debs",       NULL};

static void test_near(void **state)
{
    const struct {
        const char *word, *meant;
    } cases[] = {
        {"imgae", "image"},
        {"vcpu", "vcpus"},
        {"Memory_MiB", "memory_mib"},
        {"memory", "memory_mib"},
        {"kernel-args", "kernel_args"},
        {"cpus", "vcpus"},
        {"image", "image"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(nl_suggest(cases[i].word, words), cases[i].meant);
}

static void test_far(void **state)
{
    const char *const cases[] = {"", "x", "network", "virtualization", "abc"};
    char longer[5000];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (nl_suggest(cases[i], words))
            fail_msg("\"%s\" for \"%s\"", nl_suggest(cases[i], words), cases[i]);
    memset(longer, 'c', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_null(nl_suggest(longer, words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_near), cmocka_unit_test(test_far)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
