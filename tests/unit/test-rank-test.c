/*
 * test-rank-test.c - Mann and Whitney's test, its interval, Holm's correction, and what is seen in
 * the order of samples, against values from textbooks and from counting all cases by brute force.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "rank-test.h"
#include "stability.h"

#define NEAR(a, b, within) assert_true(fabs((a) - (b)) <= (within))
#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Hollander & Wolfe, Nonparametric Statistical Methods, 69 ff.: permeability constants of the
   human chorioamnion at term and at 12 to 26 weeks. */
static const double at_term[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
static const double earlier[] = {1.15, 0.88, 0.90, 0.74, 1.21};

/* Chambers et al., Graphical Methods for Data Analysis: ozone in New York, May and August 1973. */
static const double may[] = {41, 36, 12, 18, 28, 23, 19, 8, 7,  16, 11, 14,  18,
                             14, 34, 6,  30, 11, 1,  11, 4, 32, 23, 45, 115, 37};
static const double august[] = {39, 9,  16, 78, 35, 66, 122, 89,  110, 44, 28,  65, 22,
                                59, 23, 31, 44, 21, 9,  45,  168, 73,  76, 118, 84, 85};

static void test_without_ties(void **state)
{
    struct nl_rank_test test = nl_rank_test(earlier, 5, at_term, 10, 1);
    struct nl_rank_test turned = nl_rank_test(at_term, 10, earlier, 5, 1);

    (void)state;
    assert_true(test.exact);
    NEAR(test.u, 35, 0); /* the book's */
    NEAR(test.p, 0.2544122544, 1e-9);
    NEAR(turned.u, 15, 0);
    NEAR(turned.p, test.p, 1e-12);
}

/* All 462 ways to part 11 numbers in 6 and 5, counted one by one. */
static void test_with_ties(void **state)
{
    const double a[] = {1, 2, 2, 3, 3, 3}, b[] = {3, 4, 4, 5, 5};
    const double c[] = {1, 2, 2, 3, 7}, d[] = {2, 3, 3, 4, 4, 9};
    const double same[] = {5, 5, 5, 5};

    (void)state;
    NEAR(nl_rank_test(a, 6, b, 5, 1).p, 0.0086580087, 1e-9);
    NEAR(nl_rank_test(b, 5, a, 6, 1).p, 0.0086580087, 1e-9);
    NEAR(nl_rank_test(c, 5, d, 6, 1).p, 0.2121212121, 1e-9);
    NEAR(nl_rank_test(same, 4, same, 4, 1).p, 1, 1e-12);
    NEAR(nl_rank_test(same, 1, same, 1, 1).p, 1, 1e-12);
}

/* R 4's wilcox.test(): W = 127.5, p-value = 0.0001208. */
static void test_approximation(void **state)
{
    struct nl_rank_test test = nl_rank_test(august, 26, may, 26, 1);

    (void)state;
    assert_int_equal(N_OF(may) + N_OF(august), 52);
    assert_false(test.exact);
    NEAR(test.u, 127.5, 0);
    NEAR(test.p, 0.0001208, 5e-8);
}

/* The exact p is 0.00549521438 (another program, by recursion); the approximation is near. */
static void test_seam(void **state)
{
    double a[25], b[25];
    double exact, near;

    (void)state;
    for (int i = 0; i < 25; i++) {
        a[i] = 10 * i;
        b[i] = 10 * i + 61;
    }
    exact = nl_rank_test(a, 25, b, 25, 1).p;
    near = nl_rank_test(a, 25, b, 25, 1.0000001).p;
    assert_true(nl_rank_test(a, 25, b, 25, 1).exact);
    assert_false(nl_rank_test(a, 25, b, 25, 1.0000001).exact);
    NEAR(exact, 0.00549521438, 1e-10);
    NEAR(exact, near, 0.25 * exact);
    /* Dependent samples are worth fewer. */
    assert_true(nl_rank_test(a, 25, b, 25, 3).p > 2 * exact);
}

static void test_least_p(void **state)
{
    const double a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};

    (void)state;
    NEAR(nl_rank_test_least_p(4, 4), 2.0 / 70, 1e-12);
    NEAR(nl_rank_test_least_p(4, 4), nl_rank_test(a, 4, b, 4, 1).p, 1e-12);
    NEAR(nl_rank_test_least_p(8, 8), 0.0001554001554, 1e-12);
    NEAR(nl_rank_test_least_p(1, 1), 1, 0);
}

/* The 50 ratios sorted by hand (rather, by another program): the 25th and 26th, the 9th and 42nd.
 */
static void test_ratio(void **state)
{
    struct nl_ratio ratio = nl_rank_ratio(earlier, 5, at_term, 10, 0.05, 1);
    const double three[] = {1, 2, 3}, four[] = {10, 11, 12, 13}, zero[] = {0, 1, 2, 3};

    (void)state;
    NEAR(ratio.value, 1.3124685591, 1e-9);
    NEAR(ratio.interval.low, 0.8595041322, 1e-9);
    NEAR(ratio.interval.high, 1.9594594595, 1e-9);
    assert_true(isnan(nl_rank_ratio(three, 3, three, 3, 0.05, 1).interval.low));
    ratio = nl_rank_ratio(four, 4, four, 4, 0.05, 1);
    NEAR(ratio.interval.low, 10.0 / 13, 1e-12);
    NEAR(ratio.interval.high, 1.3, 1e-12);
    NEAR(ratio.value, 1, 1e-12);
    assert_true(isnan(nl_rank_ratio(zero, 4, four, 4, 0.05, 1).value));
    assert_true(isnan(nl_rank_ratio(four, 4, zero, 4, 0.05, 1).value));
}

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*seed >> 11) / 9007199254740992.0;
}

/* The test and its interval say the same: 1 is outside exactly where p is at most alpha. */
static void test_interval_is_the_tests(void **state)
{
    uint64_t seed = 3;
    int outside = 0;

    (void)state;
    for (int draw = 0; draw < 500; draw++) {
        double a[9], b[7];
        struct nl_ratio ratio;
        bool excluded;

        for (int i = 0; i < 9; i++)
            a[i] = 1 + uniform(&seed);
        for (int i = 0; i < 7; i++)
            b[i] = 1.3 + uniform(&seed);
        ratio = nl_rank_ratio(a, 9, b, 7, 0.05, 1);
        excluded = ratio.interval.low > 1 || ratio.interval.high < 1;
        assert_int_equal(excluded, nl_rank_test(a, 9, b, 7, 1).p <= 0.05);
        outside += excluded;
    }
    assert_in_range(outside, 100, 450);
}

/* The true factor is inside in 95 of 100 draws or more, with long tails, and by the approximation
   as well. */
static void test_ratio_coverage(void **state)
{
    const size_t sizes[] = {8, 40};
    uint64_t seed = 11;

    (void)state;
    for (size_t s = 0; s < N_OF(sizes); s++) {
        int inside = 0;

        for (int draw = 0; draw < 4000; draw++) {
            double a[40], b[40];
            struct nl_ratio ratio;

            for (size_t i = 0; i < sizes[s]; i++) {
                a[i] = 1 - log(1 - uniform(&seed));
                b[i] = 3 * (1 - log(1 - uniform(&seed)));
            }
            ratio = nl_rank_ratio(a, sizes[s], b, sizes[s], 0.05, 1);
            inside += ratio.interval.low <= 3 && 3 <= ratio.interval.high;
        }
        assert_in_range(inside, 3765, 3850);
    }
}

static void test_holm(void **state)
{
    double p[] = {0.01, 0.04, 0.03, 0.005};
    const double wanted[] = {0.03, 0.06, 0.06, 0.02};
    double high[] = {0.5, 0.9, 0.6};
    double none[1] = {0.5};

    (void)state;
    nl_holm(p, 4);
    for (size_t i = 0; i < 4; i++)
        NEAR(p[i], wanted[i], 1e-12);
    nl_holm(high, 3);
    for (size_t i = 0; i < 3; i++)
        NEAR(high[i], 1, 0);
    nl_holm(none, 0);
    NEAR(none[0], 0.5, 0);
}

static struct nl_stability look(const double *samples, size_t n)
{
    struct nl_summary summary = nl_summarize(samples, n);

    return nl_stability(samples, n, &summary);
}

/* Worked out by another program from the definitions. */
static void test_stability_known(void **state)
{
    const double samples[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7};
    struct nl_stability stability = look(samples, N_OF(samples));

    (void)state;
    NEAR(stability.lag1, 0.2064732143, 1e-9);
    NEAR(stability.lag1_p, 0.1573376304, 1e-9);
    NEAR(stability.drift, 1.1555555556, 1e-9);
    NEAR(stability.drift_p, 0.0202003652, 1e-9);
    assert_true(stability.wide && !stability.drifts && !stability.autocorrelated);
    NEAR(nl_dependence(&stability), 1, 0);
}

static void test_stability_seen(void **state)
{
    double rising[40], slow[40], little[40], same[40];
    struct nl_stability stability;
    uint64_t seed = 5;

    (void)state;
    for (int i = 0; i < 40; i++) {
        double noise = uniform(&seed) - 0.5;

        rising[i] = 100 + 0.4 * i + noise;
        slow[i] = 100 + (i / 5 % 2 ? 8 : -8) + noise; /* two levels, each for a while */
        little[i] = 100 + 0.01 * i + noise / 10;
        same[i] = 7;
    }
    stability = look(rising, 40);
    assert_true(stability.drifts && !stability.wide);
    NEAR(stability.drift, 0.4 * 39 / 107.8, 0.005);
    stability = look(slow, 40);
    assert_true(stability.autocorrelated && !stability.drifts);
    assert_true(nl_dependence(&stability) > 2);
    stability = look(little, 40); /* it drifts, and it does not matter */
    assert_true(!stability.drifts && !stability.autocorrelated && stability.drift_p < 0.01);
    stability = look(same, 40);
    assert_true(!stability.drifts && !stability.autocorrelated && !stability.wide);
    stability = look(rising, 5);
    assert_true(stability.wide && !stability.drifts && stability.lag1_p == 1);
    look(rising, 1);
}

/* Independent samples are hardly ever said to depend on each other, and not never: the level is
   one percent. */
static void test_stability_level(void **state)
{
    uint64_t seed = 77;
    int alike = 0, drift = 0;

    (void)state;
    for (int draw = 0; draw < 4000; draw++) {
        double samples[20];
        struct nl_stability stability;

        for (int i = 0; i < 20; i++)
            samples[i] = 1 / (0.1 + uniform(&seed));
        stability = look(samples, 20);
        alike += stability.lag1_p <= NL_STABILITY_LEVEL;
        drift += stability.drift_p <= NL_STABILITY_LEVEL;
    }
    assert_in_range(alike, 10, 60);
    assert_in_range(drift, 10, 60);
}

static void test_stability_of_many(void **state)
{
    static double samples[20000];
    struct nl_stability stability;

    (void)state;
    for (int i = 0; i < 20000; i++)
        samples[i] = 1000 + i % 7 + 0.01 * i;
    stability = look(samples, 20000);
    assert_true(stability.drifts);
    NEAR(stability.drift, 200.0 / 1103, 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_ties),
        cmocka_unit_test(test_with_ties),
        cmocka_unit_test(test_approximation),
        cmocka_unit_test(test_seam),
        cmocka_unit_test(test_least_p),
        cmocka_unit_test(test_ratio),
        cmocka_unit_test(test_interval_is_the_tests),
        cmocka_unit_test(test_ratio_coverage),
        cmocka_unit_test(test_holm),
        cmocka_unit_test(test_stability_known),
        cmocka_unit_test(test_stability_seen),
        cmocka_unit_test(test_stability_level),
        cmocka_unit_test(test_stability_of_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
