/*
 * test-clocks.c - rates of clocks from bounded readings: the truth is within the bounds, and a
 * clock that goes wrong shows.
 */
#include "cleanup.h"
#include "clocks.h"
#include "dig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <cmocka.h>

#define HZ 2e9

/* A clock that runs RATE times as fast as real time, with a TSC of HZ, read at AT seconds. */
static struct nl_clock clock_at(double at, double rate)
{
    return (struct nl_clock){(int64_t)(at * rate * 1e9), (uint64_t)(at * HZ), 100};
}

/* Asked at AT, the clock below TRIP seconds before and after. */
static struct nl_clock_look look_at(double at, double trip, double below, double own)
{
    return (struct nl_clock_look){clock_at(at - trip, below), clock_at(at, own),
                                  clock_at(at + trip, below)};
}

static json_t *between(double below, double own, double trip_before, double trip_after, double khz)
{
    struct nl_clock_look first = look_at(30, trip_before, below, own);
    struct nl_clock_look last = look_at(60, trip_after, below, own);
    cleanup_json json_t *reply = json_pack("{s:s, s:o}", "source", "kvm-clock", "kernel_tsc_khz",
                                           khz > 0 ? json_real(khz) : json_null());

    return nl_clocks_between(reply, &first, &last, true);
}

static void expect(const json_t *clocks, const char *path, double ppm, double uncertainty)
{
    const json_t *rate = nl_dig(clocks, path);
    double value = nl_dig_number(rate, "ppm", NAN);
    double bound = nl_dig_number(rate, "uncertainty_ppm", NAN);

    if (!(fabs(value - ppm) <= bound + 0.01) || !(bound <= uncertainty))
        fail_msg("%s: %f +- %f", path, value, bound);
}

static void test_same_rate(void **state)
{
    cleanup_json json_t *clocks = between(1, 1, 0.01, 0.02, 2e6);

    (void)state;
    /* 10 and 20 ms to either side of 30 s. */
    expect(clocks, "to_below.clock", 0, 1001);
    expect(clocks, "to_below.tsc", 0, 1001);
    expect(clocks, "to_below.clock_by_tsc", 0, 0.1);
    expect(clocks, "tsc_to_clock", 0, 0.1);
    assert_true(fabs(nl_dig_number(clocks, "tsc.hz", 0) - HZ) < 100);
    assert_true(fabs(nl_dig_number(clocks, "seconds", 0) - 30) < 1e-6);
    assert_true(nl_dig_is(clocks, "source", "kvm-clock"));
}

/* A clock that is 3 % too fast is found, by the questions and by the TSC. */
static void test_fast_clock(void **state)
{
    cleanup_json json_t *clocks = between(1, 1.03, 0.01, 0.02, 2e6);

    (void)state;
    expect(clocks, "to_below.clock", 30000, 1100);
    expect(clocks, "to_below.clock_by_tsc", 30000, 0.1);
    expect(clocks, "to_below.tsc", 0, 1001);
    expect(clocks, "tsc_to_clock", (1 / 1.03 - 1) * 1e6, 0.1);
    assert_true(nl_dig_number(clocks, "to_below.clock.ppm", 0) > 25000);
}

/* Both are wrong alike: nothing to see between them. */
static void test_only_the_rate_between_layers_counts(void **state)
{
    cleanup_json json_t *clocks = between(1.03, 1.03, 0.001, 0.001, 0);

    (void)state;
    expect(clocks, "to_below.clock", 0, 100);
    assert_null(nl_dig(clocks, "tsc_to_clock"));
}

/* Answers that took as long as what lies between the looks say nothing. */
static void test_too_short(void **state)
{
    cleanup_json json_t *clocks = between(1, 1, 20, 20, 2e6);

    (void)state;
    assert_null(nl_dig(clocks, "to_below.clock"));
    assert_non_null(nl_dig(clocks, "to_below.clock_by_tsc"));
}

/* An answer that was late on one side only: the truth stays within the bounds. */
static void test_lopsided(void **state)
{
    struct nl_clock_look first = {clock_at(9.5, 1), clock_at(10, 1), clock_at(10.001, 1)};
    struct nl_clock_look last = {clock_at(39.999, 1), clock_at(40, 1), clock_at(40.5, 1)};
    cleanup_json json_t *reply = json_object();
    cleanup_json json_t *clocks = nl_clocks_between(reply, &first, &last, true);

    (void)state;
    expect(clocks, "to_below.clock", 0, 17000);
    assert_true(nl_clock_closer(&first, &last) == (first.after.raw_ns - first.before.raw_ns <
                                                   last.after.raw_ns - last.before.raw_ns));
}

static void test_same_machine(void **state)
{
    struct nl_clock_look first = look_at(1, 0.1, 1, 1), last = look_at(2, 0.1, 1, 1);
    cleanup_json json_t *reply = json_object();
    cleanup_json json_t *clocks = nl_clocks_between(reply, &first, &last, false);

    (void)state;
    assert_null(nl_dig(clocks, "to_below"));
    assert_non_null(nl_dig(clocks, "tsc"));
}

/* A clock that stands still, or goes back, is no number. */
static void test_nonsense(void **state)
{
    struct nl_clock_look first = look_at(2, 0.1, 1, 1), last = look_at(1, 0.1, 1, 1);
    cleanup_json json_t *reply = json_object();
    cleanup_json json_t *backwards = nl_clocks_between(reply, &first, &last, true);
    cleanup_json json_t *still = nl_clocks_between(reply, &first, &first, true);

    (void)state;
    assert_null(nl_dig(backwards, "to_below.clock"));
    assert_null(nl_dig(still, "to_below.clock"));
    assert_null(nl_dig(still, "tsc"));
}

static void test_parse(void **state)
{
    static const char *const bad[] = {"{}", "{\"raw_ns\": -1, \"tsc\": 2, \"tsc_width\": 3}",
                                      "{\"raw_ns\": 1, \"tsc\": \"2\", \"tsc_width\": 3}", "[]"};
    cleanup_json json_t *good = json_pack("{s:i, s:i, s:i}", "raw_ns", 1, "tsc", 2, "tsc_width", 3);
    struct nl_clock clock;

    (void)state;
    assert_int_equal(nl_clock_parse(good, &clock, NULL), 0);
    assert_true(clock.raw_ns == 1 && clock.tsc == 2 && clock.tsc_width == 3);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cleanup_json json_t *reply = json_loads(bad[i], 0, NULL);
        cleanup_error struct nl_error *err = NULL;

        assert_int_equal(nl_clock_parse(reply, &clock, &err), -1);
        assert_non_null(err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_rate),
        cmocka_unit_test(test_fast_clock),
        cmocka_unit_test(test_only_the_rate_between_layers_counts),
        cmocka_unit_test(test_too_short),
        cmocka_unit_test(test_lopsided),
        cmocka_unit_test(test_same_machine),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_parse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
