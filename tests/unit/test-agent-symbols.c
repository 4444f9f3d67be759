/*
 * test-agent-symbols.c - names of addresses, from a table as /proc/kallsyms has it.
 */
#include "symbols.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char table[] = "/tmp/nl-test-symbols-XXXXXX";

static void write_table(const char *text)
{
    cleanup_fclose FILE *file = fopen(table, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
}

static int set_up(void **state)
{
    int fd = mkstemp(table);

    (void)state;
    if (fd < 0)
        return -1;
    close(fd);
    write_table("ffffffff81000000 T _stext\n"
                "ffffffff81000100 T second\n"
                "ffffffff81000100 t second_alias\n"
                "ffffffff81000200 D data_here\n"
                "ffffffff81000300 t third\n"
                "ffffffffc0a00000 t of_module\t[kvm_amd]\n"
                "ffffffffc0900000 W earlier_module\t[kvm]\n"
                "nonsense\n"
                "0000000000000000 A absolute\n");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(table);
}

static void expect(const char *addresses, const char *symbols)
{
    cleanup_agent_error struct agent_error error = {0};
    cleanup_json json_t *asked = json_loads(addresses, 0, NULL);
    cleanup_json json_t *wanted = json_loads(symbols, 0, NULL);
    cleanup_json json_t *result = NULL;

    if (agent_symbols(table, asked, &result, &error))
        fail_msg("%s", error.message);
    if (!json_equal(json_object_get(result, "symbols"), wanted)) {
        cleanup_free char *text = json_dumps(result, 0);

        fail_msg("%s gave %s", addresses, text);
    }
}

static void test_names(void **state)
{
    (void)state;
    expect("[\"0xffffffff81000000\", \"0xffffffff810000ff\", \"0xffffffff81000100\"]",
           "[[\"_stext\", 0], [\"_stext\", 255], [\"second\", 0]]");
    expect("[\"0xffffffff81000210\", \"0xffffffff81000310\", \"0x10\"]",
           "[[\"second\", 272], [\"third\", 16], null]");
    expect("[\"0xffffffffc0a00010\", \"0xffffffffc0900010\"]",
           "[[\"of_module [kvm_amd]\", 16], [\"earlier_module [kvm]\", 16]]");
    expect("[\"0xffffffff82000000\"]", "[null]");
    expect("[]", "[]");
}

static void refuse(const char *file, const char *addresses, const char *why)
{
    cleanup_agent_error struct agent_error error = {0};
    cleanup_json json_t *asked = json_loads(addresses, JSON_DECODE_ANY, NULL);
    json_t *result = NULL;

    assert_int_equal(agent_symbols(file, asked, &result, &error), -1);
    assert_null(result);
    assert_non_null(strstr(error.message, why));
}

static void test_refused(void **state)
{
    (void)state;
    refuse(table, "7", "not an array");
    refuse(table, "[7]", "address 0");
    refuse(table, "[\"0x10\", \"here\"]", "address 1");
    refuse(table, "[\"0x10 \"]", "address 0");
    refuse(table, "[\"ffffffffffffffffff\"]", "address 0");
    refuse("/nonexistent", "[]", "/nonexistent");
    /* what a user without rights sees */
    write_table("0000000000000000 T _stext\n0000000000000000 t second\n");
    refuse(table, "[\"0x10\"]", "no address of a function");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
