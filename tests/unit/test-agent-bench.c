/*
 * test-agent-bench.c - the table of benchmarks, the runner, and the reasons it gives.
 */
#include "bench.h"
#include "bench-precision.h"
#include "bench-run.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <math.h>
#include <cmocka.h>

static const struct bench_options quick = {
    .samples = 10, .warmup = 1, .budget_s = 1, .deadline_s = 20};

static int spin(struct bench *bench, unsigned long n)
{
    (void)bench;
    for (unsigned long i = 0; i < n * 100; i++)
        AGENT_BENCH_KEEP(i);
    return 0;
}

static void sleep_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    assert_true(json_is_number(value));
    return json_number_value(value);
}

static const char *string(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    assert_non_null(value);
    return value;
}

/* The reason why BENCHMARK failed; the caller's to free. */
static char *failure(const struct benchmark *benchmark, const struct bench_options *options)
{
    json_t *result = NULL;
    char *error = NULL;

    assert_int_equal(agent_bench_run(benchmark, options, NULL, &result, &error), -1);
    assert_null(result);
    assert_non_null(error);
    return error;
}

static void assert_fails_with(const struct benchmark *benchmark, const char *part)
{
    char *error = failure(benchmark, &quick);

    if (!strstr(error, part))
        fail_msg("\"%s\" does not say \"%s\"", error, part);
    free(error);
}

static json_t *success(const struct benchmark *benchmark, const struct bench_options *options)
{
    json_t *result = NULL;
    char *error = NULL;

    if (agent_bench_run(benchmark, options, NULL, &result, &error))
        fail_msg("%s: %s", benchmark->name, error);
    assert_null(error);
    return result;
}

static bool is_well_formed(const char *name)
{
    return name[0] && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(name);
}

static void test_table_is_consistent(void **state)
{
    json_t *list = agent_bench_list(), *names = json_object(), *entry;
    size_t i;

    (void)state;
    assert_true(json_array_size(list) >= 20);
    json_array_foreach(list, i, entry)
    {
        const char *name = string(entry, "name"), *unit = string(entry, "unit");
        bool rate = !strcmp(unit, "MB/s");

        assert_true(is_well_formed(name));
        assert_null(json_object_get(names, name));
        json_object_set_new(names, name, json_true());
        assert_true(rate || !strcmp(unit, "ns") || !strcmp(unit, "us") || !strcmp(unit, "ms"));
        assert_int_equal(json_is_true(json_object_get(entry, "higher_is_better")), rate);
        assert_true(strlen(string(entry, "about")) > 40);
        assert_true(number(entry, "version") >= 1);
        assert_true(number(entry, "needs_vcpus") <= 2);
        assert_true(json_is_boolean(json_object_get(entry, "needs_hypervisor")));
    }
    json_decref(names);
    json_decref(list);
}

static void test_what_the_issue_asks_for_is_there(void **state)
{
    static const char *const wanted[] = {
        "syscall",
        "context-switch",
        "cow-fault",
        "page-touch",
        "fork-exit-wait",
        "exec",
        "mremap",
        "cpuid",
        "port-io",
        "hypercall",
        "timer-overshoot",
        "integer",
        "memory-bandwidth",
        "memory-latency",
        "ipi",
        "hash",
        "disk-read",
        "disk-write",
    };
    json_t *list = agent_bench_list(), *entry;

    (void)state;
    for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++) {
        bool found = false;
        size_t i;

        json_array_foreach(list, i, entry) found =
            found || !strcmp(string(entry, "name"), wanted[w]);
        if (!found)
            fail_msg("no benchmark %s", wanted[w]);
    }
    json_decref(list);
}

static void test_values_are_in_their_unit(void **state)
{
    const struct benchmark ns = {.unit = "ns"}, us = {.unit = "us"};
    const struct benchmark rate = {.unit = "MB/s", .bytes = 1 << 20};

    (void)state;
    assert_float_equal(agent_bench_value(&ns, 5000, 10), 500, 1e-9);
    assert_float_equal(agent_bench_value(&us, 5000, 10), 0.5, 1e-9);
    /* 4 MiB in 1 ms */
    assert_float_equal(agent_bench_value(&rate, 1e6, 4), 4194.304, 1e-6);
}

static void test_unfit_says_why(void **state)
{
    const struct benchmark pair = {.name = "x", .unit = "ns", .needs_vcpus = 2};
    const struct benchmark guest = {.name = "x", .unit = "ns", .needs_hypervisor = true};
    char *reason;

    (void)state;
    assert_null(agent_bench_unfit(&pair, 2, ""));
    reason = agent_bench_unfit(&pair, 1, "");
    assert_string_equal(reason, "needs 2 vCPUs, and this layer has 1 to use");
    free(reason);
    assert_null(agent_bench_unfit(&guest, 1, "KVMKVMKVM"));
    reason = agent_bench_unfit(&guest, 1, "TCGTCGTCGTCG");
    assert_non_null(strstr(reason, "TCGTCGTCGTCG"));
    free(reason);
    reason = agent_bench_unfit(&guest, 1, "");
    assert_non_null(strstr(reason, "no hypervisor leaf"));
    free(reason);
}

static void test_result_is_complete(void **state)
{
    const struct benchmark benchmark = {
        .name = "spin", .unit = "ns", .about = "test", .version = 3, .operation = spin};
    const struct bench_options options = {
        .samples = 12, .warmup = 2, .budget_s = 5, .deadline_s = 20};
    json_t *result = success(&benchmark, &options), *sample;
    size_t i;

    (void)state;
    assert_string_equal(string(result, "name"), "spin");
    assert_string_equal(string(result, "unit"), "ns");
    assert_string_equal(string(result, "clock"), "CLOCK_MONOTONIC");
    assert_int_equal(number(result, "version"), 3);
    assert_int_equal(number(result, "warmup"), 2);
    assert_int_equal(json_array_size(json_object_get(result, "samples")), 12);
    json_array_foreach(json_object_get(result, "samples"), i, sample)
        assert_true(json_real_value(sample) > 1 && json_real_value(sample) < 1e6);
    assert_true(json_is_null(json_object_get(result, "skipped")));
    assert_true(json_is_null(json_object_get(result, "short")));
    assert_true(number(result, "clock_resolution_ns") > 0);
    assert_true(number(result, "vcpus") >= 1);
    /* 100 rounds take well under 10 us, so a batch of 1 ms holds many operations */
    assert_true(number(result, "batch") > 20);
    assert_true(number(result, "seconds") > 0.01);
    json_decref(result);
}

static int nap(struct bench *bench, unsigned long n)
{
    (void)bench;
    for (unsigned long i = 0; i < n; i++)
        sleep_ms(60);
    return 0;
}

/* Each batch is longer than the whole budget: no warm-up is left to do. */
static void test_ten_samples_are_worth_more_than_the_budget(void **state)
{
    const struct benchmark benchmark = {
        .name = "nap", .unit = "us", .about = "test", .version = 1, .operation = nap};
    const struct bench_options options = {
        .samples = 10, .warmup = 1000, .budget_s = 0.05, .deadline_s = 5};
    json_t *result = success(&benchmark, &options);

    (void)state;
    assert_int_equal(number(result, "warmup"), 0);
    assert_int_equal(json_array_size(json_object_get(result, "samples")), 10);
    assert_true(json_is_null(json_object_get(result, "short")));
    json_decref(result);
}

static void test_deadline_is_worth_more_than_ten_samples(void **state)
{
    const struct benchmark benchmark = {
        .name = "nap", .unit = "us", .about = "test", .version = 1, .operation = nap};
    const struct bench_options options = {
        .samples = 50, .warmup = 1, .budget_s = 0.1, .deadline_s = 0.5};
    json_t *result = success(&benchmark, &options);
    size_t taken = json_array_size(json_object_get(result, "samples"));

    (void)state;
    assert_int_equal(number(result, "batch"), 1);
    assert_in_range(taken, 1, 9);
    assert_non_null(strstr(string(result, "short"), "of 50 samples"));
    assert_non_null(strstr(string(result, "short"), "too few"));
    assert_true(json_number_value(json_array_get(json_object_get(result, "samples"), 0)) > 59e3);
    json_decref(result);
}

/* Every second batch is twice as slow: no number of samples makes that precise to 1 %. */
static int uneven(struct bench *bench, unsigned long n)
{
    static int turn;

    (void)bench;
    for (unsigned long i = 0; i < n; i++)
        sleep_ms(turn % 2 ? 2 : 1);
    turn++;
    return 0;
}

static void test_goes_on_until_it_is_precise(void **state)
{
    static const struct {
        double precision;
        double budget_s;
        size_t low, high;
    } known[] = {{0, 5, 10, 10}, {1, 5, 10, 10}, {0.001, 20, 100, 100}, {0.001, 0.1, 11, 99}};
    const struct benchmark benchmark = {.name = "uneven",
                                        .unit = "us",
                                        .about = "test",
                                        .version = 1,
                                        .operation = uneven,
                                        .max_batch = 1};

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const struct bench_options options = {.samples = 10,
                                              .precision = known[i].precision,
                                              .warmup = 1,
                                              .budget_s = known[i].budget_s,
                                              .deadline_s = 30};
        json_t *result = success(&benchmark, &options);

        assert_in_range(json_array_size(json_object_get(result, "samples")), known[i].low,
                        known[i].high);
        json_decref(result);
    }
}

/* Orders as in tests/unit/test-stats.c: 20 samples have x(6) to x(15). */
static void test_half_width(void **state)
{
    double samples[20];

    (void)state;
    for (int i = 0; i < 20; i++)
        samples[i] = 100 + i * 7 % 20;
    assert_float_equal(agent_bench_half_width(samples, 20), 4.5 / 109.5, 1e-12);
    assert_true(isinf(agent_bench_half_width(samples, 5)));
    assert_true(isinf(agent_bench_half_width((const double[20]){0}, 20)));
}

struct seen {
    unsigned long ready, largest;
};

static int make_ready(struct bench *bench, unsigned long n)
{
    static struct seen seen;

    bench->state = &seen;
    seen.ready = n;
    return 0;
}

static int use_ready(struct bench *bench, unsigned long n)
{
    struct seen *seen = bench->state;

    if (seen->ready != n || n > 64) {
        agent_bench_skip(bench, "%lu operations, made ready %lu", n, seen->ready);
        return -1;
    }
    seen->ready = 0;
    return spin(bench, n);
}

static void test_reset_precedes_every_batch(void **state)
{
    const struct benchmark benchmark = {.name = "ready",
                                        .unit = "ns",
                                        .about = "test",
                                        .version = 1,
                                        .max_batch = 64,
                                        .reset = make_ready,
                                        .operation = use_ready};
    json_t *result = success(&benchmark, &quick);

    (void)state;
    assert_int_equal(number(result, "batch"), 64);
    json_decref(result);
}

static int time_itself(struct bench *bench, unsigned long n)
{
    bench->own_ns += 7000.0 * (double)n;
    return spin(bench, n);
}

static void test_self_timed_counts_what_it_says(void **state)
{
    const struct benchmark benchmark = {.name = "own",
                                        .unit = "us",
                                        .about = "test",
                                        .version = 1,
                                        .self_timed = true,
                                        .operation = time_itself};
    json_t *result = success(&benchmark, &quick), *sample;
    size_t i;

    (void)state;
    json_array_foreach(json_object_get(result, "samples"), i, sample)
        assert_float_equal(json_real_value(sample), 7, 1e-6);
    json_decref(result);
}

/* What a comparison is to find: in what is timed by the runner and in what times itself. */
static void test_extra_exits_take_their_time(void **state)
{
    struct benchmark benchmarks[] = {
        {.name = "spins", .unit = "ns", .about = "test", .version = 1, .operation = spin},
        {.name = "own",
         .unit = "ns",
         .about = "test",
         .version = 1,
         .self_timed = true,
         .operation = time_itself},
    };
    struct bench_options more = quick;

    (void)state;
    more.extra_exits = 1000;
    for (size_t i = 0; i < 2; i++) {
        json_t *plain = success(&benchmarks[i], &quick), *slower = success(&benchmarks[i], &more);
        double before = json_real_value(json_array_get(json_object_get(plain, "samples"), 5));
        double after = json_real_value(json_array_get(json_object_get(slower, "samples"), 5));

        /* A CPUID takes no less than 20 ns on any processor. */
        if (after - before < 15000)
            fail_msg("%s: %f, then %f", benchmarks[i].name, before, after);
        json_decref(plain);
        json_decref(slower);
    }
}

static void test_extra_exits_are_told(void **state)
{
    json_t *args = json_pack("{s:f, s:i}", "budget_s", 0.1, "extra_exits", 2), *result;
    char *error;

    (void)state;
    assert_int_equal(agent_bench("syscall", args, &result, &error), 0);
    assert_true(number(result, "extra_exits") == 2);
    json_decref(result);
    json_object_set_new(args, "metered", json_true());
    assert_int_equal(agent_bench("syscall", args, &result, &error), 0);
    assert_true(number(result, "extra_exits") == 2);
    json_decref(result);
    json_decref(args);
    assert_int_equal(agent_bench("syscall", NULL, &result, &error), 0);
    assert_null(json_object_get(result, "extra_exits"));
    json_decref(result);
}

static int say_no(struct bench *bench)
{
    return agent_bench_skip(bench, "not on a %s", "Tuesday");
}

static void test_skip_keeps_the_reason(void **state)
{
    const struct benchmark benchmark = {.name = "no",
                                        .unit = "ns",
                                        .about = "test",
                                        .version = 1,
                                        .prepare = say_no,
                                        .operation = spin};
    json_t *result = success(&benchmark, &quick);

    (void)state;
    assert_string_equal(string(result, "skipped"), "not on a Tuesday");
    assert_int_equal(json_array_size(json_object_get(result, "samples")), 0);
    assert_null(json_object_get(result, "batch"));
    json_decref(result);
}

static int crash(struct bench *bench, unsigned long n)
{
    (void)bench;
    (void)n;
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    return 0;
}

static int leave(struct bench *bench, unsigned long n)
{
    (void)bench;
    (void)n;
    _exit(9);
}

static int refuse(struct bench *bench, unsigned long n)
{
    (void)n;
    errno = EPERM;
    return agent_bench_fail(bench, "ask the kernel");
}

static void test_crash_exit_and_refusal_are_errors(void **state)
{
    struct benchmark benchmark = {.name = "bad", .unit = "ns", .about = "test", .version = 1};

    (void)state;
    benchmark.operation = crash;
    assert_fails_with(&benchmark, "killed by signal 11");
    assert_fails_with(&benchmark, "while calibrating, after 0 of 10 samples");
    benchmark.operation = leave;
    assert_fails_with(&benchmark, "ended unexpectedly with status 9");
    benchmark.operation = refuse;
    assert_fails_with(&benchmark, "\"bad\": ask the kernel: Operation not permitted");
}

static int hang(struct bench *bench)
{
    /* A helper that waits for ever must go too. */
    if (agent_bench_fork(bench) < 0)
        return agent_bench_fail(bench, "fork");
    while (pause())
        ;
    return 0;
}

static void test_hang_ends_at_the_deadline(void **state)
{
    const struct benchmark benchmark = {.name = "hang",
                                        .unit = "ns",
                                        .about = "test",
                                        .version = 1,
                                        .prepare = hang,
                                        .operation = spin};
    const struct bench_options options = {
        .samples = 10, .warmup = 0, .budget_s = 0.1, .deadline_s = 0.6};
    double start = agent_bench_now_ns();
    char *error = failure(&benchmark, &options);

    (void)state;
    assert_non_null(strstr(error, "did not end within its deadline while preparing"));
    assert_in_range((agent_bench_now_ns() - start) / 1e6, 590, 5000);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left behind */
    free(error);
}

static void assert_refuses(json_t *args, const char *part)
{
    json_t *result = NULL;
    char *error = NULL;

    assert_int_equal(agent_bench("cpuid", args, &result, &error), -1);
    assert_null(result);
    if (!strstr(error, part))
        fail_msg("\"%s\" does not say \"%s\"", error, part);
    free(error);
    json_decref(args);
}

static void test_bad_requests_are_refused(void **state)
{
    json_t *result = NULL;
    char *error = NULL;

    (void)state;
    assert_refuses(json_pack("{s:i}", "samples", 9), "\"samples\" must be a number from 10");
    assert_refuses(json_pack("{s:s}", "samples", "20"), "\"samples\"");
    assert_refuses(json_pack("{s:f}", "samples", 10.5), "whole");
    assert_refuses(json_pack("{s:i}", "samples", 100000), "to 1000");
    assert_refuses(json_pack("{s:i}", "warmup", -1), "\"warmup\"");
    assert_refuses(json_pack("{s:n}", "budget_s"), "\"budget_s\"");
    assert_refuses(json_pack("{s:i}", "extra_exits", 1001), "from 0 to 1000");
    assert_refuses(json_pack("{s:f}", "extra_exits", 0.5), "whole");
    assert_int_equal(agent_bench("no\xffne", NULL, &result, &error), -1);
    assert_non_null(strstr(error, "of that name; there are syscall, "));
    assert_null(strchr(error, '\xff')); /* it could not go into JSON */
    free(error);
}

/* Every benchmark of the table, at this very place: it measures or says why it cannot. */
static void test_every_benchmark_measures_or_says_why(void **state)
{
    json_t *list = agent_bench_list(), *entry, *args, *sample;
    size_t i, s;

    (void)state;
    args = json_pack("{s:i, s:i, s:f}", "samples", 10, "warmup", 1, "budget_s", 2.0);
    json_array_foreach(list, i, entry)
    {
        const char *name = string(entry, "name");
        json_t *result = NULL, *samples;
        char *error = NULL;

        if (agent_bench(name, args, &result, &error))
            fail_msg("%s: %s", name, error);
        samples = json_object_get(result, "samples");
        if (json_is_null(json_object_get(result, "skipped")))
            assert_true(json_array_size(samples) > 0);
        else
            assert_true(strlen(string(result, "skipped")) > 5);
        json_array_foreach(samples, s, sample) assert_true(json_real_value(sample) > 0);
        json_decref(result);
    }
    json_decref(args);
    json_decref(list);
}

/* The control group needs nothing that could be refused: it must never be skipped. */
static void test_plain_work_is_never_skipped(void **state)
{
    static const char *const plain[] = {"syscall", "cpuid", "integer", "page-touch", "exec"};

    (void)state;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        json_t *result = NULL;
        char *error = NULL;

        if (agent_bench(plain[i], NULL, &result, &error))
            fail_msg("%s", error);
        assert_true(json_is_null(json_object_get(result, "skipped")));
        json_decref(result);
    }
}

/* FIPS 180-4's example "abc", padded by hand. */
static void test_hash_is_sha256(void **state)
{
    uint32_t hash[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const uint32_t wanted[8] = {0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223,
                                0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad};
    uint8_t block[64] = {'a', 'b', 'c', 0x80, [63] = 24};

    (void)state;
    agent_bench_sha256_block(hash, block);
    assert_memory_equal(hash, wanted, sizeof wanted);
}

static void test_child_is_told_by_its_name(void **state)
{
    char name[] = AGENT_BENCH_CHILD_NAME, other[] = "nestlab-agent", option[] = "--stdio";
    char *child[] = {name, NULL}, *agent[] = {other, NULL}, *more[] = {name, option, NULL};
    char *empty[] = {NULL};

    (void)state;
    assert_true(agent_bench_child(1, child));
    assert_false(agent_bench_child(1, agent));
    assert_false(agent_bench_child(2, more));
    assert_false(agent_bench_child(0, empty));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_is_consistent),
        cmocka_unit_test(test_what_the_issue_asks_for_is_there),
        cmocka_unit_test(test_values_are_in_their_unit),
        cmocka_unit_test(test_unfit_says_why),
        cmocka_unit_test(test_result_is_complete),
        cmocka_unit_test(test_ten_samples_are_worth_more_than_the_budget),
        cmocka_unit_test(test_goes_on_until_it_is_precise),
        cmocka_unit_test(test_half_width),
        cmocka_unit_test(test_deadline_is_worth_more_than_ten_samples),
        cmocka_unit_test(test_reset_precedes_every_batch),
        cmocka_unit_test(test_self_timed_counts_what_it_says),
        cmocka_unit_test(test_extra_exits_take_their_time),
        cmocka_unit_test(test_extra_exits_are_told),
        cmocka_unit_test(test_skip_keeps_the_reason),
        cmocka_unit_test(test_crash_exit_and_refusal_are_errors),
        cmocka_unit_test(test_hang_ends_at_the_deadline),
        cmocka_unit_test(test_bad_requests_are_refused),
        cmocka_unit_test(test_every_benchmark_measures_or_says_why),
        cmocka_unit_test(test_plain_work_is_never_skipped),
        cmocka_unit_test(test_hash_is_sha256),
        cmocka_unit_test(test_child_is_told_by_its_name),
    };

    if (agent_bench_child(argc, argv))
        return AGENT_BENCH_CHILD_EXIT;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
