/*
 * test-agent-symbols.c - naming functions by addresses.
 */
#include "symbols.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const char kallsyms[] = "ffffffff81000000 T _text\n"
                               "ffffffff81000100 t default_idle\n"
                               "ffffffff81000100 T default_idle_alias\n"
                               "ffffffff81000140 D some_data\n"
                               "0000000000000000 A nothing\n"
                               "garbage\n"
                               "ffffffffc0001000 t kvm_exit\t[kvm]\n";

static char path[] = "/tmp/nl-symbols.XXXXXX";

static int set_up(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    if (fd < 0 || write(fd, kallsyms, strlen(kallsyms)) < 0)
        return -1;
    return close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

static void test_names(void **state)
{
    cleanup_json json_t *request =
        json_pack("{s:[s, s, s, s, s]}", "addresses", "ffffffff81000150", "ffffffff80ffffff",
                  "ffffffffc0001000", "ffffffff82000000", "0");
    static const char *const wanted[] = {"default_idle_alias+0x50", NULL, "kvm_exit+0x0", NULL,
                                         NULL};
    cleanup_json json_t *result = NULL;

    (void)state;
    assert_int_equal(agent_symbols(path, request, &result, NULL), 0);
    for (size_t i = 0; i < 5; i++) {
        const json_t *symbol = json_array_get(json_object_get(result, "symbols"), i);

        if (wanted[i])
            assert_string_equal(json_string_value(symbol), wanted[i]);
        else
            assert_true(json_is_null(symbol));
    }
}

static void test_bad_requests(void **state)
{
    static const char *const bad[] = {"{}",
                                      "{\"addresses\": 7}",
                                      "{\"addresses\": []}",
                                      "{\"addresses\": [7]}",
                                      "{\"addresses\": [\"x\"]}",
                                      "{\"addresses\": [\"ffffffffffffffffff\"]}",
                                      "{\"addresses\": [\"\"]}"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cleanup_json json_t *request = json_loads(bad[i], 0, NULL);
        cleanup_agent_error struct agent_error error = {0};
        json_t *result = NULL;

        assert_int_equal(agent_symbols(path, request, &result, &error), -1);
        assert_null(result);
    }
}

static void test_no_file(void **state)
{
    cleanup_json json_t *request = json_pack("{s:[s]}", "addresses", "1");
    cleanup_agent_error struct agent_error error = {0};
    json_t *result = NULL;

    (void)state;
    assert_int_equal(agent_symbols("/nonexistent", request, &result, &error), -1);
    assert_non_null(strstr(error.message, "/nonexistent"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_bad_requests),
        cmocka_unit_test(test_no_file),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
