/*
 * test-change-point.c - where a series changes: found where it does, and not where it does not, as
 * often as is promised.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "change-point.h"
#include "random.h"

#include <stdlib.h>

static double uniform(uint64_t *seed)
{
    return (double)(nl_random(seed) >> 11) / 9007199254740992.0;
}

/* Long tails, as timings have. */
static double noise(uint64_t *seed)
{
    return -log(1 - uniform(seed));
}

static void fill(double *numbers, size_t n, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++)
        numbers[i] = 100 + noise(seed);
}

/* Of 2000 series without a change p is at most 0.05 in 5 %, with its scatter: 70 to 130. */
static void test_false_alarms(void **state)
{
    static const size_t lengths[] = {8, 13, 40};
    uint64_t seed = 7;

    (void)state;
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
        int alarms = 0;

        for (int draw = 0; draw < 2000; draw++) {
            double numbers[40];

            fill(numbers, lengths[l], &seed);
            alarms += nl_change_point(numbers, lengths[l], 0.05).p <= 0.05;
        }
        if (alarms < 40 || alarms > 130)
            fail_msg("%d alarms in series of %zu", alarms, lengths[l]);
    }
}

/* Ties, as rounded figures have, are no reason for more alarms. */
static void test_ties(void **state)
{
    uint64_t seed = 9;
    int alarms = 0;

    (void)state;
    for (int draw = 0; draw < 2000; draw++) {
        double numbers[20];

        for (size_t i = 0; i < 20; i++)
            numbers[i] = floor(3 * uniform(&seed));
        alarms += nl_change_point(numbers, 20, 0.05).p <= 0.05;
    }
    assert_in_range(alarms, 40, 130);
}

/* Every order of eight numbers: the p of the most changed ones is known. */
static void test_least_p(void **state)
{
    static const double up[] = {1, 2, 3, 4, 15, 16, 17, 18};
    static const double odd[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct nl_change_point change = nl_change_point(up, 8, 0.05);

    (void)state;
    assert_true(fabs(nl_change_point_least_p(8) - 2.0 / 70) < 1e-12);
    assert_true(fabs(change.p - 2.0 / 70) < 0.008);
    assert_int_equal(change.at, 4);
    assert_true(fabs(nl_change_point_least_p(9) - 4.0 / 126) < 1e-12);
    assert_true(fabs(nl_change_point(odd, 9, 0.05).p - 4.0 / 126) < 0.008);
    assert_true(nl_change_point_least_p(5) == 1);
    assert_true(nl_change_point_least_p(60) > 0);
}

static void test_nothing_to_tell(void **state)
{
    static const double few[] = {1, 1, 9, 9, 9};
    static const double equal[] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
    static const double one_odd[] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 9};

    (void)state;
    assert_int_equal(nl_change_point(few, 5, 0.05).at, 0);
    assert_int_equal(nl_change_point(equal, 10, 0.05).at, 0);
    assert_true(nl_change_point(equal, 10, 0.05).p == 1);
    assert_true(nl_change_point(one_odd, 10, 0.05).p > 0.2);
}

/* A change of three times the scatter is found near where it is, also near the end, if less often.
 */
static void test_found(void **state)
{
    static const size_t places[] = {15, 8, 25};
    static const int at_least[] = {95, 90, 75};
    uint64_t seed = 11;

    (void)state;
    for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); k++) {
        int found = 0;

        for (int draw = 0; draw < 100; draw++) {
            double numbers[30];
            struct nl_change_point change;

            fill(numbers, 30, &seed);
            for (size_t i = places[k]; i < 30; i++)
                numbers[i] += 3;
            change = nl_change_point(numbers, 30, 0.05);
            found += change.p <= 0.01 && change.at + 3 >= places[k] && change.at <= places[k] + 3;
        }
        if (found < at_least[k])
            fail_msg("%d of 100 found at %zu", found, places[k]);
    }
}

/* Up, and down again: both places, and p grows with the number of series that are looked at. */
static void test_several(void **state)
{
    uint64_t seed = 13;
    double numbers[60];
    struct nl_change_point changes[8], first;

    (void)state;
    fill(numbers, 60, &seed);
    for (size_t i = 20; i < 40; i++)
        numbers[i] += 20;
    first = nl_change_point(numbers, 60, 0.05);
    assert_int_equal(nl_change_points(numbers, 60, first, 1, 0.05, changes, 8), 2);
    assert_int_equal(changes[0].at, 20);
    assert_int_equal(changes[1].at, 40);
    assert_true(changes[0].p <= 0.05 && changes[1].p <= 0.05);
    assert_int_equal(nl_change_points(numbers, 60, first, 1, 0.05, changes, 1), 1);
    assert_int_equal(nl_change_points(numbers, 60, first, 1e6, 0.05, changes, 8), 0);
}

/* What is before and after a true change is looked at by the same measure: with the change known,
   one too many comes in at most 5 % of 400 series. */
static void test_none_too_many(void **state)
{
    uint64_t seed = 17;
    int more = 0;

    (void)state;
    for (int draw = 0; draw < 400; draw++) {
        double numbers[40];
        struct nl_change_point changes[8];

        fill(numbers, 40, &seed);
        for (size_t i = 20; i < 40; i++)
            numbers[i] += 50;
        more += nl_change_points(numbers, 40, nl_change_point(numbers, 40, 0.05), 1, 0.05, changes,
                                 8) > 1;
    }
    assert_in_range(more, 0, 28);
}

/* Many series, and a change inside of others: what is asked for must not be less than the least p
   that the orders can give. */
static void test_small_levels(void **state)
{
    uint64_t seed = 23;
    double numbers[160];
    struct nl_change_point changes[8], first;

    (void)state;
    fill(numbers, 160, &seed);
    for (size_t i = 80; i < 160; i++)
        numbers[i] += 20;
    for (size_t i = 120; i < 160; i++)
        numbers[i] += 20;
    first = nl_change_point(numbers, 160, 0.05 / 1000);
    assert_true(first.p * 1000 <= 0.05 / 15);
    assert_int_equal(nl_change_points(numbers, 160, first, 1000, 0.05, changes, 8), 2);
    assert_int_equal(changes[0].at, 80);
    assert_int_equal(changes[1].at, 120);
    assert_true(nl_change_point(numbers, 160, 1e-300).p <= 2e-6);
}

/* Of mostly equal figures no place fits better than none: it is where the ranks differ the most. */
static void test_place_by_ranks(void **state)
{
    double numbers[30];

    (void)state;
    for (size_t i = 0; i < 30; i++)
        numbers[i] = 100 + (i % 3 == 1 ? (i < 15 ? -1.0 : 1.0) : 0);
    assert_in_range(nl_change_point(numbers, 30, 0.05).at, 13, 17);
}

static void test_same_every_time(void **state)
{
    uint64_t seed = 19;
    double numbers[30];

    (void)state;
    fill(numbers, 30, &seed);
    assert_true(nl_change_point(numbers, 30, 0.05).p == nl_change_point(numbers, 30, 0.05).p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_false_alarms),  cmocka_unit_test(test_ties),
        cmocka_unit_test(test_least_p),       cmocka_unit_test(test_nothing_to_tell),
        cmocka_unit_test(test_found),         cmocka_unit_test(test_several),
        cmocka_unit_test(test_none_too_many), cmocka_unit_test(test_same_every_time),
        cmocka_unit_test(test_small_levels),  cmocka_unit_test(test_place_by_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
