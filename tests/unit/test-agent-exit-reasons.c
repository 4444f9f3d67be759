/*
 * test-agent-exit-reasons.c - exits by reason, from a histogram and a format as a kernel prints
 * them.
 */
#include "exit-reasons.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* Linux 6.1, shortened. */
static const char format[] =
    "print fmt: \"vcpu %u reason %s%s%s rip 0x%lx\", REC->vcpu_id, (REC->isa == 1) ? "
    "__print_symbolic(REC->exit_reason & 0xffff, { 0, \"EXCEPTION_NMI\" }, { 10, \"CPUID\" }, "
    "{ 33, \"INVALID_STATE\" }) : __print_symbolic(REC->exit_reason, { 0x000, \"read_cr0\" }, "
    "{ 0x040 + 6, \"UD excp\" }, { 0x072, \"cpuid\" }, { 0x082, \"vmload\" }, "
    "{ 0x80000001, \"vmgexit_mmio_read\" }, { -1, \"invalid_guest_state\" }), "
    "(REC->isa == 1) ? __print_flags(REC->exit_reason & ~0xffff, \" \", "
    "{ 0x80000000, \"FAILED_VMENTRY\" }) : \"\", REC->guest_rip\n";

static char base[] = "/tmp/nl-test-reasons-XXXXXX";

static char *in_base(const char *name)
{
    char *path = NULL;

    assert_true(asprintf(&path, "%s/%s", base, name) > 0);
    return path;
}

static void make_process(const char *name, const char *cmdline, size_t length)
{
    cleanup_free char *folder = in_base(name);
    cleanup_free char *path = NULL;

    assert_int_equal(mkdir(folder, 0700), 0);
    assert_true(asprintf(&path, "%s/cmdline", folder) > 0);
    cleanup_fclose FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(cmdline, 1, length, file), length);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(base) ? 0 : -1;
}

static int tear_down(void **state)
{
    static const char *const paths[] = {"9/cmdline",   "9",      "119/cmdline", "119",
                                        "120/cmdline", "120",    "self",        "threads/119",
                                        "threads/120", "threads"};

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        cleanup_free char *path = in_base(paths[i]);

        remove(path);
    }
    return remove(base);
}

static json_t *count(const char *histogram)
{
    cleanup_agent_error struct agent_error error = {0};
    cleanup_free char *tasks = in_base("threads");
    json_t *reasons = NULL;

    if (agent_exit_histogram(histogram, format, tasks, &reasons, &error) < 0)
        fail_msg("%s", error.message);
    return reasons;
}

static void make_threads(void)
{
    static const char *const names[] = {"threads", "threads/119", "threads/120"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cleanup_free char *path = in_base(names[i]);

        mkdir(path, 0700);
    }
}

static void test_histogram(void **state)
{
    cleanup_json json_t *wanted = json_loads(
        "[{\"isa\": \"svm\", \"code\": 114, \"reason\": \"cpuid\", \"times\": 20},"
        " {\"isa\": \"svm\", \"code\": 70, \"reason\": \"UD excp\", \"times\": 42},"
        " {\"isa\": \"svm\", \"code\": 4294967295, \"reason\": \"invalid_guest_state\","
        " \"times\": 1},"
        " {\"isa\": \"svm\", \"code\": 2147483649, \"reason\": \"vmgexit_mmio_read\","
        " \"times\": 2},"
        " {\"isa\": \"svm\", \"code\": 999, \"reason\": \"0x3e7\", \"times\": 3},"
        " {\"isa\": \"vmx\", \"code\": 10, \"reason\": \"CPUID\", \"times\": 9},"
        " {\"isa\": \"vmx\", \"code\": 2147483681, \"reason\": \"INVALID_STATE\", \"times\": 4},"
        " {\"isa\": \"vmx\", \"code\": 114, \"reason\": \"0x72\", \"times\": 5}]",
        0, NULL);

    (void)state;
    make_threads();
    cleanup_json json_t *reasons =
        count("# event histogram\n"
              "#\n"
              "# trigger info: hist:keys=common_pid,isa,exit_reason:vals=hitcount [active]\n"
              "#\n\n"
              "{ common_pid:        119, isa:          2, exit_reason:        114 } hitcount:"
              "         15\n"
              "{ common_pid:        119, isa:          2, exit_reason:         70 } hitcount:"
              "         42\n"
              "{ common_pid: 120, isa: 2, exit_reason: 114 } hitcount: 5\n"
              "{ common_pid: 120, isa: 2, exit_code: 4294967295 } hitcount: 1\n"
              "{ common_pid: 120, isa: 2, exit_reason: 2147483649 } hitcount: 2\n"
              "{ common_pid: 120, isa: 2, exit_reason: 999 } hitcount: 3\n"
              "{ common_pid: 120, isa: 1, exit_reason: 10 } hitcount: 9\n"
              "{ common_pid: 120, isa: 1, exit_reason: 2147483681 } hitcount: 4\n"
              "{ common_pid: 120, isa: 1, exit_reason: 114 } hitcount: 5\n"
              "{ common_pid: 120, isa: 3, exit_reason: 114 } hitcount: 5\n"
              "{ common_pid: 777, isa: 2, exit_reason: 114 } hitcount: 1000000\n"
              "\nTotals:\n    Hits: 200\n    Entries: 4\n    Dropped: 0\n");
    assert_non_null(wanted);
    assert_true(json_equal(reasons, wanted));
}

static void test_nothing_counted(void **state)
{
    static const char *const texts[] = {
        "",
        "\n\n",
        "{ common_pid: x, isa: 2, exit_reason: 1 } hitcount: 3",
        "{",
        "Totals:\n Hits: 0\n",
    };

    (void)state;
    make_threads();
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cleanup_json json_t *reasons = count(texts[i]);

        assert_int_equal(json_array_size(reasons), 0);
    }
}

/* A table that was full: what it has is too little. */
static void test_dropped(void **state)
{
    cleanup_agent_error struct agent_error error = {0};
    cleanup_free char *tasks = in_base("threads");
    json_t *reasons = NULL;

    (void)state;
    make_threads();
    assert_int_equal(
        agent_exit_histogram("{ common_pid: 119, isa: 2, exit_reason: 114 } hitcount: 5\n"
                             "Totals:\n    Hits: 20\n    Entries: 1\n    Dropped: 15\n",
                             format, tasks, &reasons, &error),
        -1);
    assert_non_null(strstr(error.message, "15 exits"));
    assert_null(reasons);
}

static void test_tasks(void **state)
{
    static const char wanted[] = "qemu\0-name\0guest=nl-L1\0-uuid\0abc-1";
    static const char other[] = "qemu\0-uuid\0abc-12\0abc-1\0";
    static const char named[] = "vi\0abc-1\0";
    cleanup_free char *none = agent_exit_tasks(base, "abc-1");

    (void)state;
    assert_null(none);
    make_process("9", named, sizeof(named) - 1);
    make_process("120", other, sizeof(other) - 1);
    make_process("119", wanted, sizeof(wanted)); /* the kernel's text ends with a zero */
    cleanup_free char *found = agent_exit_tasks(base, "abc-1");
    cleanup_free char *expected = in_base("119/task");
    assert_string_equal(found, expected);
    cleanup_free char *missing = agent_exit_tasks(base, "abc");
    assert_null(missing);
}

/* Makes the folder PREFIX PID in base, lets stale ones be removed; is it still there? */
static bool is_kept(const char *prefix, pid_t pid)
{
    cleanup_free char *name = NULL;

    assert_true(asprintf(&name, "%s%d", prefix, (int)pid) > 0);
    cleanup_free char *path = in_base(name);
    assert_int_equal(mkdir(path, 0700), 0);
    agent_exit_remove_stale(base);
    return rmdir(path) == 0;
}

static void test_stale(void **state)
{
    pid_t gone = fork();

    (void)state;
    if (gone == 0)
        _exit(0);
    waitpid(gone, NULL, 0);
    assert_false(is_kept("nestlab-", gone));
    assert_true(is_kept("nestlab-", 1));
    assert_true(is_kept("nestlab-", getppid()));
    assert_true(is_kept("nestlab-x", gone));
    assert_true(is_kept("other-", gone));
    /* Of an agent that was killed, and whose number this one has. */
    assert_false(is_kept("nestlab-", getpid()));
    agent_exit_remove_stale("/nowhere");
}

static void test_end_without_beginning(void **state)
{
    cleanup_agent_error struct agent_error error = {0};
    json_t *result = NULL;

    (void)state;
    assert_int_equal(agent_exit_reasons_end("abc-1", &result, &error), -1);
    assert_non_null(strstr(error.message, "no exits are being counted"));
    assert_null(result);
    agent_exit_reasons_forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_histogram), cmocka_unit_test(test_nothing_counted),
        cmocka_unit_test(test_dropped),   cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_stale),     cmocka_unit_test(test_end_without_beginning),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
