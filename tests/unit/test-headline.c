/*
 * test-headline.c - what is left of a long message in one line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cleanup.h"
#include "headline.h"
#include "printable.h"

#include <string.h>

static void expect(const char *message, const char *headline)
{
    cleanup_free char *found = nl_headline(message, "corrupt-261201-5ce0");

    assert_string_equal(found, headline);
}

static void test_short_messages_stay(void **state)
{
    (void)state;
    expect("", "");
    expect("no disk", "no disk");
    expect("root disk: cannot mount /dev/vda: Invalid argument",
           "root disk: cannot mount /dev/vda: Invalid argument");
    expect("cannot read my{own}.json", "cannot read my{own}.json");
    expect("a: ", "a: ");
    expect(": ", ": ");
    expect("1.5 s: x.y:z", "1.5 s: x.y:z");
    expect(". no disk", ". no disk");
    expect(": {\"a\": 1}", ": {\"a\": 1}");
}

static void test_raw_text_is_left_to_the_evidence(void **state)
{
    (void)state;
    expect(
        "the disk image of L0 cannot be read: qemu-img exited with status 1: qemu-img: Could not "
        "open '/r/corrupt-261201-5ce0/L0.qcow2': Image is not in qcow2 format",
        "the disk image of L0 cannot be read: qemu-img exited with status 1");
    expect("creating the domain: internal error: qemu unexpectedly closed the monitor: "
           "2026-12-01T03:34:49.178909Z qemu-system-x86_64: -blockdev {\"node-name\":\"a\"}: x",
           "creating the domain: internal error: qemu unexpectedly closed the monitor");
    expect("qemu-img: {\"a\": 1}", "qemu-img");
    expect("a: qemu: {\"a\": 1}", "a");
}

static void test_it_is_about_a_line(void **state)
{
    char endless[1000];
    cleanup_free char *line = NULL;

    (void)state;
    expect(
        "L2, phase create: creating the domain: unsupported configuration: No emulator found for "
        "arch 'x86_64'",
        "L2, phase create: creating the domain: unsupported configuration: No emulator found for "
        "arch 'x86_64'");
    expect("L2 hangs: one task has its vCPU to itself, and nothing else gets on: the same address "
           "space in all of 10 looks, never halted, last at RIP ffffffff819c2a1e",
           "L2 hangs: one task has its vCPU to itself, and nothing else gets on");
    expect(
        "it stands. Noticed by: asking for exec: no answer before its deadline; last heard 34.9 s "
        "ago, or so, in the middle of it, and so on until the line is full",
        "it stands");
    memset(endless, 'x', sizeof(endless) - 1);
    endless[sizeof(endless) - 1] = '\0';
    line = nl_headline(endless, NULL);
    assert_int_equal(nl_columns(line), 200);
    free(line);
    line = nl_headline("a\033[2Jb: c", NULL);
    assert_string_equal(line, "a\\x1b[2Jb: c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_messages_stay),
        cmocka_unit_test(test_raw_text_is_left_to_the_evidence),
        cmocka_unit_test(test_it_is_about_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
