/*
 * test-agent-kmsg.c - records of the kernel's log.
 */
#include "kmsg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static json_t *parse(const char *record)
{
    return agent_kmsg_parse(record, strlen(record));
}

static json_int_t number(const json_t *record, const char *key)
{
    assert_true(json_is_integer(json_object_get(record, key)));
    return json_integer_value(json_object_get(record, key));
}

static const char *text(const json_t *record)
{
    return json_string_value(json_object_get(record, "text"));
}

static void test_plain(void **state)
{
    cleanup_json json_t *record = parse("6,339,5140900,-;NET: Registered protocol family 10\n");

    (void)state;
    assert_non_null(record);
    assert_int_equal(number(record, "level"), 6);
    assert_int_equal(number(record, "facility"), 0);
    assert_int_equal(number(record, "seq"), 339);
    assert_int_equal(number(record, "time_us"), 5140900);
    assert_string_equal(text(record), "NET: Registered protocol family 10");
}

static void test_facility_and_flags(void **state)
{
    /* 30 is facility 3 (daemon), level 6; a later kernel appends fields after the flags. */
    cleanup_json json_t *record = parse("30,340,5690716,-,caller=T1;udevd[80]: starting; 181\n");

    (void)state;
    assert_int_equal(number(record, "level"), 6);
    assert_int_equal(number(record, "facility"), 3);
    assert_string_equal(text(record), "udevd[80]: starting; 181");
}

static void test_dictionary_is_dropped(void **state)
{
    cleanup_json json_t *record = parse(
        "7,160,424069,-;pci_root PNP0A03:00: host bridge\n SUBSYSTEM=acpi\n DEVICE=+acpi:X\n");

    (void)state;
    assert_string_equal(text(record), "pci_root PNP0A03:00: host bridge");
}

static void test_escapes(void **state)
{
    cleanup_json json_t *record = parse("4,1,2,-;a\\x09b\\x5cc\\x0ad \\xzz \\x4 \\x4a\n");
    cleanup_json json_t *broken = parse("4,1,2,-;\\xff\\xc3\\xa4\\x00!\n");

    (void)state;
    assert_string_equal(text(record), "a\tb\\c\nd \\xzz \\x4 J");
    /* What is not UTF-8 once unescaped is shown as an escape again. */
    assert_string_equal(text(broken), "\\xff\xc3\xa4\\x00!");
}

static void test_no_newline_and_empty(void **state)
{
    cleanup_json json_t *cut = parse("4,1,2,-;cut off");
    cleanup_json json_t *empty = parse("4,1,2,-;\n");

    (void)state;
    assert_string_equal(text(cut), "cut off");
    assert_string_equal(text(empty), "");
}

static void test_not_a_record(void **state)
{
    static const char *const bad[] = {"",           ";",           "6",
                                      "6,1",        "6,1,2,-",     "6,1;2,-,x;",
                                      "-6,1,2,-;x", "6,,2,-;x",    "99999999999999999999,1,2,-;x",
                                      "6,x,2,-;x",  "<6>old style"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_null(parse(bad[i]));
}

static void test_missing_device(void **state)
{
    cleanup_agent_error struct agent_error error = {0};
    json_t *result = NULL;

    (void)state;
    assert_int_equal(agent_kmsg_read("/nonexistent/kmsg", 0, &result, &error), -1);
    assert_null(result);
    assert_non_null(strstr(error.message, "/nonexistent/kmsg"));
    assert_non_null(error.hint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_facility_and_flags),
        cmocka_unit_test(test_dictionary_is_dropped),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_no_newline_and_empty),
        cmocka_unit_test(test_not_a_record),
        cmocka_unit_test(test_missing_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
