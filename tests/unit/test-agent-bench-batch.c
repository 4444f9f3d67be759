/*
 * test-agent-bench-batch.c - how many operations make a batch: what disturbs a try makes it longer,
 * and must not pass for a long batch.
 */
#include "bench-batch.h"
#include "bench-run.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

static const struct bench_options normal = {
    .samples = 20, .warmup = 2, .budget_s = 5, .deadline_s = 20};

static void wait_ns(double ns)
{
    double end = agent_bench_now_ns() + ns;

    while (agent_bench_now_ns() < end)
        ;
}

/* Operations of 10 us; something else takes 3 ms of the batches from FIRST to LAST, counted from 1
   in the process that the benchmark runs in. */
static int first_disturbed, last_disturbed;

static int work(struct bench *bench, unsigned long n)
{
    static int batches;

    (void)bench;
    batches++;
    wait_ns(10e3 * (double)n);
    if (batches >= first_disturbed && batches <= last_disturbed)
        wait_ns(3e6);
    return 0;
}

static json_t *run(const struct benchmark *benchmark, const struct bench_options *options,
                   int first, int last)
{
    json_t *result = NULL;
    char *error = NULL;

    first_disturbed = first;
    last_disturbed = last;
    if (agent_bench_run(benchmark, options, NULL, &result, &error))
        fail_msg("%s", error);
    return result;
}

static const struct benchmark ten_us = {
    .name = "work", .unit = "ns", .about = "test", .version = 1, .operation = work};

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void test_batch_grows_to_the_target(void **state)
{
    (void)state;
    assert_int_equal(agent_bench_next_batch(1, 1000, 5e6, 0), 16);      /* at most 16-fold */
    assert_int_equal(agent_bench_next_batch(1000, 1e6, 5e6, 0), 5000);  /* 1 us each */
    assert_int_equal(agent_bench_next_batch(10000, 1e7, 5e6, 0), 5000); /* shrinks too */
    assert_int_equal(agent_bench_next_batch(1000, 1e6, 5e6, 2048), 2048);
    assert_int_equal(agent_bench_next_batch(1, 1e9, 5e6, 0), 1); /* never 0 */
    assert_int_equal(agent_bench_next_batch(1, 4e6, 5e6, 0), 2); /* whole ones: 1.25 is too few */
    assert_int_equal(agent_bench_next_batch(3, 0, 5e6, 0), 48);  /* a clock that stands */
    assert_int_equal(agent_bench_next_batch(3, -1, 5e6, 0), 48);
    /* and never so many that their number ends */
    assert_true(agent_bench_next_batch(1UL << 63, 0, 5e6, 0) >= 1UL << 50);
    assert_true(agent_bench_next_batch(1UL << 50, 0, 5e6, 0) >= 1UL << 50);
    assert_true(agent_bench_next_batch(ULONG_MAX, 1e-9, 5e6, 0) >= 1UL << 50);
}

static void test_length_respects_clock_and_budget(void **state)
{
    const struct bench_options tight = {
        .samples = 18, .warmup = 2, .budget_s = 0.01, .deadline_s = 20};

    (void)state;
    assert_true(agent_bench_batch(&normal, 30).least == 1e6);
    assert_true(agent_bench_batch(&normal, 20e3).least == 20e6); /* 1000 times a coarse clock */
    assert_true(agent_bench_batch(&tight, 30).aim == 5e5);       /* 10 ms for 20 batches */
    assert_true(agent_bench_batch(&tight, 20e3).aim == 5e5);
    assert_true(agent_bench_batch(&tight, 30).wanted == 1e6);
}

/* Operations that take EACH_NS, and after the times in EXTRA_NS nothing more. */
struct script {
    double each_ns;
    double extra_ns[32];
    unsigned tries;
    int status; /* of the third try */
};

static int play(void *data, unsigned long n, double *wall_ns)
{
    struct script *script = data;

    *wall_ns =
        (double)n * script->each_ns + (script->tries < 32 ? script->extra_ns[script->tries] : 0);
    return ++script->tries == 3 ? script->status : 0;
}

static unsigned long calibrate(struct script *script, unsigned long max, double stop_ns)
{
    struct bench_batch length = agent_bench_batch(&normal, 30);
    unsigned long n = 0;

    assert_int_equal(agent_bench_calibrate(&length, max, stop_ns, play, script, &n), 0);
    return n;
}

static void test_quickest_of_a_few_tries_counts(void **state)
{
    struct script quiet = {.each_ns = 100}, slow = {.each_ns = 0.99e6}, long_one = {.each_ns = 1e9};

    (void)state;
    assert_int_equal(calibrate(&quiet, 0, INFINITY), 12500);
    assert_int_equal(calibrate(&slow, 0, INFINITY), 2); /* one would be below 1 ms */
    assert_int_equal(calibrate(&long_one, 0, INFINITY), 1);
    /* Wherever up to four tries in a row are disturbed, and by whatever */
    for (unsigned first = 0; first < 8; first++)
        for (int digits = 4; digits < 9; digits++) {
            struct script disturbed = {.each_ns = 100};

            for (unsigned i = first; i < first + 4; i++)
                disturbed.extra_ns[i] = pow(10, digits);
            assert_in_range(calibrate(&disturbed, 0, INFINITY), 10000, 12501);
        }
}

static void test_calibration_ends(void **state)
{
    struct script quiet = {.each_ns = 100}, stands = {0}, refuses = {.each_ns = 100, .status = -1};
    struct bench_batch length = agent_bench_batch(&normal, 30);
    unsigned long n;

    (void)state;
    assert_int_equal(calibrate(&quiet, 64, INFINITY), 64);
    assert_in_range(quiet.tries, 3, 10);
    calibrate(&stands, 0, INFINITY);
    assert_in_range(stands.tries, 1, 100);
    quiet.tries = 0;
    assert_int_equal(calibrate(&quiet, 0, 0), 16); /* no time at all: what one try shows */
    assert_int_equal(quiet.tries, 1);
    assert_int_equal(agent_bench_calibrate(&length, 0, INFINITY, play, &refuses, &n), -1);
}

/* Two tries in a row that a tick or another process made long agree with each other. */
static void test_disturbed_tries_do_not_make_a_batch(void **state)
{
    (void)state;
    for (int first = 1; first <= 3; first++) {
        json_t *result = run(&ten_us, &normal, first, first + 1);

        if (number(result, "batch") < 50)
            fail_msg("disturbed from try %d on: a batch of %g", first, number(result, "batch"));
        assert_true(number(result, "batch_ns") > 0.5e6);
        assert_true(json_is_null(json_object_get(result, "short_batch")));
        json_decref(result);
    }
}

/* Where every try was disturbed the samples tell. */
static void test_batch_grows_when_samples_show_it(void **state)
{
    json_t *result = run(&ten_us, &normal, 1, 10);

    (void)state;
    if (number(result, "batch") < 50)
        fail_msg("a batch of %g", number(result, "batch"));
    assert_true(json_is_null(json_object_get(result, "short_batch")));
    assert_int_equal(json_array_size(json_object_get(result, "samples")), 20);
    json_decref(result);
}

/* Where it cannot grow, or has no time for it, the result says so. */
static void test_short_batch_is_told(void **state)
{
    const struct bench_options hasty = {
        .samples = 100, .warmup = 0, .budget_s = 0.01, .deadline_s = 20};
    struct benchmark limited = ten_us;
    json_t *result;

    (void)state;
    limited.max_batch = 4;
    result = run(&limited, &normal, 0, 0);
    assert_int_equal(number(result, "batch"), 4);
    assert_non_null(
        strstr(json_string_value(json_object_get(result, "short_batch")), "a batch of 4 took "));
    assert_non_null(strstr(json_string_value(json_object_get(result, "short_batch")),
                           "us, where 1000 us are wanted"));
    json_decref(result);
    result = run(&ten_us, &hasty, 0, 0);
    assert_true(json_is_string(json_object_get(result, "short_batch")));
    json_decref(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_grows_to_the_target),
        cmocka_unit_test(test_length_respects_clock_and_budget),
        cmocka_unit_test(test_quickest_of_a_few_tries_counts),
        cmocka_unit_test(test_calibration_ends),
        cmocka_unit_test(test_disturbed_tries_do_not_make_a_batch),
        cmocka_unit_test(test_batch_grows_when_samples_show_it),
        cmocka_unit_test(test_short_batch_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
