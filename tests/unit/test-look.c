/*
 * test-look.c - telling a guest that hangs, and how, from one that is slow, by what can be seen of
 * it from outside.
 */
#include "cleanup.h"
#include "hang-text.h"
#include "look.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* As QEMU 7.2 prints it, shortened. */
#define VCPU(rip, flags, cpl, halted, cr3)                                                         \
    "RAX=0000000000000000 RBX=0000000000000000\n"                                                  \
    "RSI=0000000000000000 RDI=0000000000000000 RBP=0000000000000000 RSP=ffffc90000003e50\n"        \
    "RIP=" rip " RFL=" flags " [---Z-P-] CPL=" cpl " II=0 A20=1 SMM=0 HLT=" halted "\n"            \
    "CR0=80050033 CR2=0000000000000000 CR3=" cr3 " CR4=000006f0\n"
#define ON "00000246"
#define OFF "00000046"
#define BUSY(rip) VCPU(rip, ON, "0", "0", "0000000001000000")
#define PROGRAM(rip, cr3) VCPU(rip, ON, "3", "0", cr3)
#define MASKED(rip) VCPU(rip, OFF, "0", "0", "0000000001000000")
#define IDLE VCPU("ffffffff81aabbcc", ON, "0", "1", "0000000001000000")
#define DEAD VCPU("ffffffff81aabbcc", OFF, "0", "1", "0000000001000000")

/* Looks a second apart, at guests with these registers. */
static size_t take(struct nl_look *looks, const char *const *registers)
{
    size_t n = 0;

    for (; registers[n]; n++)
        looks[n] =
            (struct nl_look){.at_ms = 1000 * (int64_t)(n + 1), .registers = (char *)registers[n]};
    return n;
}

static void expect_of(const struct nl_look *looks, size_t n, bool answered, const char *kind,
                      const char *part)
{
    cleanup_free char *what = NULL;
    bool idle;
    const char *found = nl_look_compare(looks, n, answered, &idle, &what);

    if (strcmp(found, kind) != 0 || !strstr(what, part))
        fail_msg("%s: %s; not %s: %s", found, what, kind, part);
}

#define expect(answered, kind, part, ...)                                                          \
    do {                                                                                           \
        struct nl_look looks[16];                                                                  \
        size_t n = take(looks, (const char *const[]){__VA_ARGS__, NULL});                          \
        expect_of(looks, n, answered, kind, part);                                                 \
    } while (0)

static void test_registers(void **state)
{
    struct nl_vcpu vcpus[NL_VCPUS_MAX];

    (void)state;
    assert_int_equal(nl_look_vcpus("CPU#0\n" IDLE
                                   "\nCPU#1\n" PROGRAM("00007f0012345678", "0000000002345000"),
                                   vcpus),
                     2);
    assert_true(vcpus[0].rip == 0xffffffff81aabbccULL && vcpus[0].halted && vcpus[0].interrupts);
    assert_true(vcpus[0].rsp == 0xffffc90000003e50ULL && vcpus[0].cpl == 0);
    assert_true(vcpus[1].rip == 0x7f0012345678ULL && !vcpus[1].halted && vcpus[1].cpl == 3);
    assert_true(vcpus[1].cr3 == 0x2345000 && vcpus[1].rsp == 0xffffc90000003e50ULL);
    assert_int_equal(nl_look_vcpus(NULL, vcpus), 0);
    assert_int_equal(nl_look_vcpus("", vcpus), 0);
    assert_int_equal(nl_look_vcpus("RIP=", vcpus), 1);
    assert_int_equal(nl_look_vcpus("Error: no", vcpus), 0);
}

/* Whatever the vCPU does meanwhile. */
static void test_a_console_that_writes_is_slow(void **state)
{
    struct nl_look looks[] = {{.console_bytes = 10, .registers = (char *)MASKED("1")},
                              {.console_bytes = 52, .registers = (char *)MASKED("1")}};

    (void)state;
    expect_of(looks, 2, false, "slow", "42 bytes");
}

static void test_a_disk_that_moves_is_slow(void **state)
{
    struct nl_look looks[] = {
        {.has_disk = true, .disk_bytes = 100, .registers = (char *)IDLE},
        {.has_disk = true, .disk_bytes = 612, .registers = (char *)IDLE},
    };

    (void)state;
    expect_of(looks, 2, false, "slow", "disks are busy (512 bytes");
    looks[0].has_disk = false;
    expect_of(looks, 2, false, "hung", "halted");
}

static void test_a_vcpu_that_gets_about_is_slow(void **state)
{
    (void)state;
    expect(false, "slow", "last seen at RIP ffffffff81500000", BUSY("ffffffff81000000"),
           BUSY("ffffffff81200000"), BUSY("ffffffff81300000"), BUSY("ffffffff81400000"),
           BUSY("ffffffff81450000"), BUSY("ffffffff81500000"));
    /* Two looks at a busy vCPU in one place are no loop yet. */
    expect(false, "slow", "executing", BUSY("ffffffff81000000"), BUSY("ffffffff81000004"));
}

static void test_interrupts_off(void **state)
{
    (void)state;
    expect(false, "hung", "stands at RIP ffffffff81000000 with interrupts off",
           MASKED("ffffffff81000000"), MASKED("ffffffff81000000"), MASKED("ffffffff81000000"));
    expect(true, "hung", "from RIP ffffffff81000000 to ffffffff81000006 with interrupts off",
           MASKED("ffffffff81000000"), MASKED("ffffffff81000006"), MASKED("ffffffff81000002"),
           MASKED("ffffffff81000000"), MASKED("ffffffff81000004"));
    expect(false, "hung", "stands at RIP ffffffff81000000 with interrupts on",
           BUSY("ffffffff81000000"), BUSY("ffffffff81000000"));
    /* A guest swamped by its tick is mostly in handlers, but not in one place. */
    expect(false, "slow", "executing", MASKED("ffffffff81000000"), MASKED("ffffffff81200000"),
           MASKED("ffffffff81300000"), MASKED("ffffffff81400000"), MASKED("ffffffff81450000"));
}

static void test_a_loop_at_full_speed(void **state)
{
    (void)state;
    /* An interrupt's handler was caught in one of six looks. */
    expect(true, "hung",
           "loops at full speed from RIP ffffffff81000010 to ffffffff81000100 (5 of 6",
           BUSY("ffffffff81000010"), BUSY("ffffffff81000100"), BUSY("ffffffff81000020"),
           MASKED("ffffffff81c00000"), BUSY("ffffffff81000080"), BUSY("ffffffff81000010"));
    expect(false, "hung", "in a program", PROGRAM("401000", "2000"), PROGRAM("401002", "2000"),
           PROGRAM("401000", "2000"), PROGRAM("401004", "2000"), PROGRAM("401000", "2000"));
}

/* An interpreter's loop goes far, but nothing else gets on. Before the agent was there nobody can
   tell it from work. */
static void test_a_program_that_keeps_the_vcpu(void **state)
{
    (void)state;
    for (int answered = 0; answered < 2; answered++)
        expect(answered, answered ? "hung" : "slow",
               answered ? "to itself, and nothing else gets on: the same address space"
                        : "executing",
               PROGRAM("401000", "2000"), PROGRAM("411000", "2000"), PROGRAM("421000", "2000"),
               VCPU("ffffffff81000000", ON, "0", "0", "2000"), PROGRAM("441000", "2000"));
    expect(true, "slow", "executing", PROGRAM("401000", "2000"), PROGRAM("411000", "3000"),
           PROGRAM("421000", "2000"), PROGRAM("431000", "2000"), PROGRAM("441000", "2000"));
    expect(true, "slow", "executing", PROGRAM("401000", "2000"), PROGRAM("411000", "2000"), IDLE,
           PROGRAM("431000", "2000"), PROGRAM("441000", "2000"));
}

static void test_halted(void **state)
{
    (void)state;
    expect(false, "hung", "halted at RIP ffffffff81aabbcc and had nothing to do in 1 s", IDLE,
           IDLE);
    expect(false, "hung", "with interrupts off: nothing will wake it", DEAD, DEAD);
    expect(false, "slow", "executing", IDLE, BUSY("ffffffff81000000"));
}

static void test_idle(void **state)
{
    static const struct {
        const char *registers;
        bool idle;
    } known[] = {{IDLE, true},      {DEAD, false},           {BUSY("1"), false},
                 {IDLE IDLE, true}, {IDLE BUSY("1"), false}, {NULL, false}};

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        struct nl_look looks[] = {{.registers = (char *)IDLE},
                                  {.registers = (char *)known[i].registers}};
        cleanup_free char *what = NULL;
        bool idle;

        nl_look_compare(looks, 2, true, &idle, &what);
        assert_int_equal(idle, known[i].idle);
    }
}

/* One that works is enough; one that spins while the other waits for it is what is told. */
static void test_several_vcpus(void **state)
{
    (void)state;
    expect(false, "slow", "executing", IDLE BUSY("ffffffff81000000"), IDLE BUSY("ffffffff81200000"),
           IDLE BUSY("ffffffff81300000"));
    expect(false, "hung", "with interrupts off", IDLE MASKED("ffffffff81000000"),
           IDLE MASKED("ffffffff81000000"));
    expect(false, "hung", "halted", IDLE IDLE, IDLE IDLE);
}

/* A layer's own interrupts are exits of its guest: they are progress only where nothing better is
   known. */
static void test_exits(void **state)
{
    struct nl_look looks[] = {{.has_exits = true, .exits = 100}, {.has_exits = true, .exits = 190}};

    (void)state;
    expect_of(looks, 2, false, "slow", "has exits");
    looks[0].registers = looks[1].registers = (char *)MASKED("1");
    expect_of(looks, 2, false, "hung", "interrupts off");
    looks[0].registers = looks[1].registers = NULL;
    looks[0].has_exits = false;
    expect_of(looks, 2, false, "hung", "nothing could be learned");
}

static void test_without_evidence_it_says_so(void **state)
{
    struct nl_look looks[2] = {0};

    (void)state;
    expect_of(looks, 2, true, "hung", "nothing could be learned");
    looks[0].registers = looks[1].registers = (char *)"";
    expect_of(looks, 2, true, "hung", "nothing could be learned");
}

static void test_evidence(void **state)
{
    static const char stack[] = "ffffc90000003e50: 0xffffffff81001234 0x0000000000000000\n"
                                "ffffc90000003e60: 0xffff888000001000 0xffffffff81aabbcc\n";
    struct nl_look looks[3];
    size_t n = take(looks, (const char *const[]){IDLE, IDLE, PROGRAM("401000", "2000"), NULL});
    cleanup_json json_t *described = NULL;
    cleanup_json json_t *addresses = NULL;
    cleanup_json json_t *symbols = json_pack("[[s, i], n]", "default_idle", 0x1c);
    cleanup_json json_t *backtrace = NULL;
    cleanup_json json_t *summary = NULL;
    cleanup_json json_t *evidence = NULL;

    (void)state;
    looks[0].has_exits = true;
    looks[0].exits = 1ULL << 60;
    described = nl_hang_looks(looks, n);
    assert_int_equal(json_array_size(described), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(described, 0), "exits")),
                        "1152921504606846976");
    assert_true(json_is_null(json_object_get(json_array_get(described, 1), "exits")));
    /* Each once, and none but the kernel's. */
    addresses = nl_hang_addresses(looks, n, stack);
    assert_int_equal(json_array_size(addresses), 2);
    assert_string_equal(json_string_value(json_array_get(addresses, 0)), "ffffffff81aabbcc");
    backtrace = nl_hang_name(addresses, symbols, described, stack);
    assert_int_equal(json_array_size(backtrace), 1);
    evidence = json_pack("{s:O, s:O, s:s}", "looks", described, "stack", backtrace, "process",
                         "T (stopped)");
    summary = nl_hang_summary(evidence);
    assert_string_equal(json_string_value(json_array_get(summary, 1)),
                        "seen at default_idle+0x1c (halted), 0000000000401000");
    assert_string_equal(json_string_value(json_array_get(summary, 2)),
                        "on its stack: default_idle+0x1c");
    json_decref(summary);
    assert_true(nl_hang_stopped(evidence));
    json_object_set_new(evidence, "process", json_string("S (sleeping)"));
    assert_false(nl_hang_stopped(evidence));
    assert_false(nl_hang_stopped(NULL));
    summary = nl_hang_summary(NULL);
    assert_int_equal(json_array_size(summary), 0);
}

static void test_exit_reasons(void **state)
{
    cleanup_json json_t *reply = json_loads("{\"exits\": [{\"reason\": \"npf\", \"times\": 3},"
                                            " {\"reason\": \"hlt\", \"times\": 812}], \"inside\":"
                                            " [{\"reason\": \"hlt\", \"times\": 800}]}",
                                            0, NULL);
    cleanup_json json_t *reasons = nl_hang_reasons(reply);
    cleanup_json json_t *none = nl_hang_reasons(NULL);

    (void)state;
    assert_int_equal(json_object_size(reasons), 2);
    assert_string_equal(json_string_value(json_object_get(reasons, "hlt")), "812");
    assert_string_equal(json_object_iter_key(json_object_iter(reasons)), "hlt");
    assert_int_equal(json_object_size(none), 0);
}

static void test_backtrace(void **state)
{
    cleanup_json json_t *lines = nl_hang_since_nmi(
        json_pack("[s, s, s]", "earlier", "Uhhuh. NMI received for unknown reason 30 on CPU 0.",
                  "RIP: 0010:default_idle+0x1c/0x20"));
    cleanup_json json_t *evidence = json_pack("{s:O}", "backtrace", lines);
    cleanup_json json_t *summary = nl_hang_summary(evidence);
    cleanup_json json_t *nothing = nl_hang_since_nmi(json_pack("[s]", "earlier"));

    (void)state;
    assert_int_equal(json_array_size(lines), 2);
    assert_int_equal(json_array_size(nothing), 0);
    assert_string_equal(json_string_value(json_array_get(summary, 0)),
                        "by NMI: RIP: 0010:default_idle+0x1c/0x20");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registers),
        cmocka_unit_test(test_a_console_that_writes_is_slow),
        cmocka_unit_test(test_a_disk_that_moves_is_slow),
        cmocka_unit_test(test_a_vcpu_that_gets_about_is_slow),
        cmocka_unit_test(test_interrupts_off),
        cmocka_unit_test(test_a_loop_at_full_speed),
        cmocka_unit_test(test_a_program_that_keeps_the_vcpu),
        cmocka_unit_test(test_halted),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_several_vcpus),
        cmocka_unit_test(test_exits),
        cmocka_unit_test(test_without_evidence_it_says_so),
        cmocka_unit_test(test_evidence),
        cmocka_unit_test(test_exit_reasons),
        cmocka_unit_test(test_backtrace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
