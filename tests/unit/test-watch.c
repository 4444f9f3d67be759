/*
 * test-watch.c - telling a guest that hangs from one that is slow.
 */
#include "watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define RUNNING "RIP=ffffffff81000000 RFL=00000246 II=0 A20=1 SMM=0 HLT=0\n"
#define HALTED "RIP=ffffffff81aabbcc RFL=00000246 II=0 A20=1 SMM=0 HLT=1\n"

static void expect(const struct nl_look looks[2], const char *kind, const char *part)
{
    cleanup_sight struct nl_sight sight = {0};

    nl_watch_compare(looks, &sight);
    assert_string_equal(sight.kind, kind);
    if (!strstr(sight.what, part))
        fail_msg("\"%s\" is not in: %s", part, sight.what);
}

static void test_a_console_that_writes_is_slow(void **state)
{
    (void)state;
    expect((struct nl_look[]){{.console_bytes = 10, .registers = (char *)RUNNING},
                              {.console_bytes = 52, .registers = (char *)RUNNING}},
           "slow", "42 bytes");
}

static void test_registers_that_change_are_slow(void **state)
{
    (void)state;
    expect((struct nl_look[]){{.registers = (char *)RUNNING}, {.registers = (char *)HALTED}},
           "slow", "RIP ffffffff81aabbcc)");
    expect((struct nl_look[]){{.registers = (char *)RUNNING, .has_exits = true, .exits = 3},
                              {.registers = (char *)HALTED, .has_exits = true, .exits = 3}},
           "slow", "no exits");
}

/* A second vCPU may be the one that works. */
static void test_any_vcpu_counts(void **state)
{
    (void)state;
    expect((struct nl_look[]){{.registers = (char *)"CPU#0\n" HALTED "CPU#1\n" HALTED},
                              {.registers = (char *)"CPU#0\n" HALTED "CPU#1\n" RUNNING}},
           "slow", "executing");
}

/* An idle guest wakes for its tick and halts where it did before. */
static void test_exits_that_move_are_slow(void **state)
{
    (void)state;
    expect((struct nl_look[]){{.registers = (char *)HALTED, .has_exits = true, .exits = 100},
                              {.registers = (char *)HALTED, .has_exits = true, .exits = 190}},
           "slow", "has exits");
    expect((struct nl_look[]){{.has_exits = true, .exits = 100}, {.has_exits = true, .exits = 190}},
           "slow", "has exits");
}

/* Counters of only one look say nothing. */
static void test_one_count_is_no_movement(void **state)
{
    (void)state;
    expect((struct nl_look[]){{.registers = (char *)RUNNING},
                              {.registers = (char *)RUNNING, .has_exits = true, .exits = 190}},
           "hung", "not moved from RIP ffffffff81000000");
}

static void test_halted_is_told_from_stuck(void **state)
{
    (void)state;
    expect((struct nl_look[]){{.registers = (char *)HALTED}, {.registers = (char *)HALTED}}, "hung",
           "halted at RIP ffffffff81aabbcc");
    expect((struct nl_look[]){{.registers = (char *)HALTED RUNNING},
                              {.registers = (char *)HALTED RUNNING}},
           "hung", "not moved");
}

static void test_without_evidence_it_says_so(void **state)
{
    (void)state;
    expect((struct nl_look[]){{0}, {0}}, "hung", "nothing could be learned");
    expect((struct nl_look[]){{.registers = (char *)RUNNING}, {0}}, "hung",
           "nothing could be learned");
    expect((struct nl_look[]){{.registers = (char *)""}, {.registers = (char *)""}}, "hung",
           "RIP ?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_console_that_writes_is_slow),
        cmocka_unit_test(test_registers_that_change_are_slow),
        cmocka_unit_test(test_any_vcpu_counts),
        cmocka_unit_test(test_exits_that_move_are_slow),
        cmocka_unit_test(test_one_count_is_no_movement),
        cmocka_unit_test(test_halted_is_told_from_stuck),
        cmocka_unit_test(test_without_evidence_it_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
