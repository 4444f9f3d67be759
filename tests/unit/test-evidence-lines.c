/*
 * test-evidence-lines.c - bytes into lines, and what loggers put in front of them.
 */
#include "evidence-lines.h"
#include "cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define KERNEL NL_KIND_KERNEL_LOG
#define VIRT NL_KIND_VIRT_LOGS
#define OTHER (NL_KIND_KERNEL_LOG | NL_KIND_TEXT)

static const struct {
    const char *raw, *text;
    unsigned kinds; /* with nothing usual */
} cases[] = {
    /* dmesg in all its formats */
    {"[    1.234567] SVM: x", "SVM: x", KERNEL},
    {"[12345.234567] SVM: x", "SVM: x", KERNEL},
    {"<6>[    1.234567] SVM: x", "SVM: x", KERNEL},
    {"[    1.234567][    T1] SVM: x", "SVM: x", KERNEL},
    {"[    1.234567] [      T1] SVM: x", "SVM: x", KERNEL},
    {"[    1.234567][   C11] SVM: x", "SVM: x", KERNEL},
    {"kern  :warn  : [    1.234567] SVM: x", "SVM: x", KERNEL},
    {"warn   [    1.234567] SVM: x", "SVM: x", KERNEL},
    {"[Mon Nov 30 10:00:00 2026] SVM: x", "SVM: x", KERNEL},
    {"[Nov30 10:00] SVM: x", "SVM: x", KERNEL},
    {"[  +0.000012] SVM: x", "SVM: x", KERNEL},
    {"[<    0.000012>] SVM: x", "SVM: x", KERNEL},
    {"2026-11-30T10:00:00,123456+00:00 SVM: x", "SVM: x", 0},
    {"6,339,5140900,-;SVM: x", "SVM: x", 0},
    {"6,339,5140900,-,caller=T1;SVM: x", "SVM: x", 0},
    {"[    1.234567] kvm [160]: vcpu0", "kvm [160]: vcpu0", KERNEL},
    {"[    1.234567] qemu-system-x86[201]: segfault", "qemu-system-x86[201]: segfault",
     KERNEL | VIRT},
    {"[    1.2] watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [qemu:1]",
     "watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [qemu:1]", KERNEL},
    /* journals and syslog */
    {"Nov 30 10:00:00 host kernel: SVM: x", "SVM: x", KERNEL},
    {"Nov  3 10:00:00 host kernel: [    1.234567] SVM: x", "SVM: x", KERNEL},
    {"<30>Nov 30 10:00:00 host kernel: SVM: x", "SVM: x", KERNEL},
    {"2026-11-30T10:00:00+0000 host kernel: SVM: x", "SVM: x", KERNEL},
    {"2026-11-30T10:00:00.123456+00:00 host kernel: SVM: x", "SVM: x", KERNEL},
    {"[    5.123456] host kernel: SVM: x", "SVM: x", KERNEL},
    {"1700000000.123456 host kernel: SVM: x", "SVM: x", KERNEL},
    {"Nov 30 10:00:00 host sshd[12]: SVM: x", "SVM: x", OTHER},
    {"Nov 30 10:00:00 host libvirtd[12]: internal error: x", "internal error: x", VIRT},
    {"Nov 30 10:00:00 host virtqemud[12]: internal error: x", "internal error: x", VIRT},
    {"Nov 30 10:00:00 host systemd[1]: Started x.", "Started x.", OTHER},
    {"    MESSAGE=SVM: x", "SVM: x", 0},
    /* libvirt and QEMU */
    {"2026-11-30 10:00:00.123+0000: 12: error : virFoo:34 : internal error: x", "internal error: x",
     VIRT},
    {"10:00:00.123: 12: error : virFoo:34 : internal error: x", "internal error: x", VIRT},
    {"2026-11-30 10:00:00.123+0000: 12: info : libvirt version: 9.0.0", "libvirt version: 9.0.0",
     VIRT},
    {"2026-11-30 10:00:00.123+0000: shutting down, reason=crashed", "shutting down, reason=crashed",
     0},
    {"2026-11-30T10:00:00.123456Z qemu-system-x86_64: -accel kvm: x",
     "qemu-system-x86_64: -accel kvm: x", VIRT},
    /* lines that are not what they begin like */
    {"[1] a reference", "[1] a reference", 0},
    {"<b>bold</b>", "<b>bold</b>", 0},
    {"warning: x", "warning: x", 0},
    {"error: Failed to start domain", "error: Failed to start domain", 0},
    {"info", "info", 0},
    {"2026-11-30", "2026-11-30", 0},
    {"[", "[", 0},
    {"[    1.234567]", "", KERNEL},
    {"12:", "12:", 0},
    {"a b: c", "a b: c", 0},
    {"", "", 0},
    /* lines that say themselves what they are */
    {"flags\t\t: fpu vme", "flags  : fpu vme", NL_KIND_CPUINFO},
    {"/sys/module/kvm/parameters/x:1", "/sys/module/kvm/parameters/x:1", NL_KIND_MODULE_PARAMETER},
    /* consoles */
    {"\x1b[0;32m[    1.234567] SVM:\x1b[0m x\r", "SVM: x", KERNEL},
    {"\x1b]0;title\a[    1.234567] SVM: x\r\r", "SVM: x", KERNEL},
    {"\x1b(B\x1b[2J\x1b"
     "c[    1.234567] SVM: x",
     "SVM: x", KERNEL},
    {"spin|\b/\b-\b done", "spin done", 0},
};

static void test_strip(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char clean[256];
        struct nl_line line = {0};
        size_t n = nl_line_clean(cases[i].raw, strlen(cases[i].raw), clean);

        nl_line_strip(clean, n, 0, &line);
        if (line.length != strlen(cases[i].text) ||
            memcmp(line.text, cases[i].text, line.length) != 0)
            fail_msg("%s: '%.*s'", cases[i].raw, (int)line.length, line.text);
        if (line.kinds != cases[i].kinds)
            fail_msg("%s: kinds 0x%x", cases[i].raw, line.kinds);
    }
}

/* Every beginning of every line: what is unfinished is nothing special. */
static void test_strip_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t n = 0; n <= strlen(cases[i].raw); n++) {
            /* Of its own size, so that a sanitizer sees every byte too many. */
            cleanup_free char *raw = malloc(n + 1);
            cleanup_free char *clean = malloc(n + 1);
            struct nl_line line = {0};
            size_t length;

            assert_true(raw && clean);
            memcpy(raw, cases[i].raw, n);
            length = nl_line_clean(raw, n, clean);
            assert_true(length <= n);
            assert_true(nl_line_is_clean(clean, length));
            nl_line_strip(clean, length, KERNEL, &line);
            assert_true(line.text >= clean && line.text + line.length <= clean + length);
        }
    }
}

static void test_clean(void **state)
{
    char out[16];

    (void)state;
    assert_true(nl_line_is_clean("abcdefgh\xc3\xa4ijklmnop~", 19));
    assert_true(nl_line_is_clean("", 0));
    for (size_t i = 0; i < 20; i++) {
        char text[] = "abcdefghijklmnopqrst";
        text[i] = '\t';
        assert_false(nl_line_is_clean(text, 20));
        text[i] = 0x7f;
        assert_false(nl_line_is_clean(text, 20));
        text[i] = 0;
        assert_false(nl_line_is_clean(text, 20));
    }
    assert_int_equal(nl_line_clean("a\0b\x01\tc\x7f", 7, out), 4);
    assert_memory_equal(out, "ab c", 4);
}

struct taken {
    size_t n;
    unsigned long numbers[8];
    size_t lengths[8];
    char first[8];
};

static void take(void *context, const char *text, size_t length, unsigned long number)
{
    struct taken *taken = context;

    assert_true(taken->n < 8);
    taken->numbers[taken->n] = number;
    taken->lengths[taken->n] = length;
    taken->first[taken->n++] = length ? *text : '\0';
}

static void test_cutter(void **state)
{
    static const char text[] = "one\n\ntwo\nthree";

    (void)state;
    /* However the bytes are cut. */
    for (size_t piece = 1; piece <= sizeof(text); piece++) {
        struct taken taken = {0};
        struct nl_line_cutter *cutter = nl_line_cutter_new(take, &taken);

        for (size_t i = 0; i < sizeof(text) - 1; i += piece)
            nl_line_cutter_feed(cutter, text + i,
                                i + piece < sizeof(text) - 1 ? piece : sizeof(text) - 1 - i);
        nl_line_cutter_end(cutter);
        assert_int_equal(taken.n, 4);
        assert_memory_equal(taken.first, "o\0tt", 4);
        assert_int_equal(taken.lengths[3], 5);
        assert_int_equal(taken.numbers[3], 4);
        assert_int_equal(nl_line_cutter_lines(cutter), 4);
        assert_int_equal(nl_line_cutter_cut(cutter), 0);
        nl_line_cutter_free(&cutter);
    }
}

static void test_long_lines(void **state)
{
    size_t length = 3 * NL_LINE_MAX;
    cleanup_free char *text = malloc(length);

    (void)state;
    memset(text, 'a', length);
    memcpy(text + NL_LINE_MAX + 10, "\nb\n", 3);
    for (size_t piece = 1000; piece <= length; piece += length - 1000) {
        struct taken taken = {0};
        struct nl_line_cutter *cutter = nl_line_cutter_new(take, &taken);

        for (size_t i = 0; i < length; i += piece)
            nl_line_cutter_feed(cutter, text + i, i + piece < length ? piece : length - i);
        nl_line_cutter_end(cutter);
        assert_int_equal(taken.n, 3);
        assert_int_equal(taken.lengths[0], NL_LINE_MAX);
        assert_int_equal(taken.lengths[1], 1);
        assert_int_equal(taken.lengths[2], NL_LINE_MAX);
        assert_int_equal(nl_line_cutter_cut(cutter), 2);
        assert_int_equal(nl_line_cutter_lines(cutter), 3);
        nl_line_cutter_free(&cutter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strip),      cmocka_unit_test(test_strip_cut),
        cmocka_unit_test(test_clean),      cmocka_unit_test(test_cutter),
        cmocka_unit_test(test_long_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
