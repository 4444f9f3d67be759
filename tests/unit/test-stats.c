/*
 * test-stats.c - medians, spreads and intervals against values that were worked out elsewhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "slowdown.h"
#include "stats.h"
#include "dig.h"

#define NEAR(a, b, within) assert_true(fabs((a) - (b)) <= (within))

static void test_median(void **state)
{
    const double odd[] = {3, 1, 2};
    const double even[] = {4, 1, 3, 2};
    const double same[] = {7, 7, 7, 7};
    const double negative[] = {-5, 10, -20};

    (void)state;
    NEAR(nl_median(odd, 3), 2, 0);
    NEAR(nl_median(odd, 1), 3, 0);
    NEAR(nl_median(even, 4), 2.5, 0);
    NEAR(nl_median(same, 4), 7, 0);
    NEAR(nl_median(negative, 3), -5, 0);
}

static void test_mad(void **state)
{
    /* Median 2; the distances 1 1 0 0 2 4 7 have the median 1. */
    const double samples[] = {1, 1, 2, 2, 4, 6, 9};

    (void)state;
    NEAR(nl_summarize(samples, 7).mad, 1, 0);
}

/* The order k of the lower bound, worked out by hand from the binomial distribution (n = 11: P(X <
   2) = 12/2048 = 0.006, P(X < 3) = 67/2048 = 0.033, so k = 2): the interval is x(k) to x(n+1-k). */
static void test_interval_orders(void **state)
{
    static const struct {
        size_t n;
        size_t k; /* 0: none */
    } known[] = {{1, 0},  {5, 0},  {6, 1},  {8, 1},  {9, 2},  {10, 2},
                 {11, 2}, {12, 3}, {15, 4}, {20, 6}, {25, 8}, {100, 40}};

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        double samples[100];
        struct nl_summary summary;

        /* In descending order, so that an interval taken before sorting is found out. */
        for (size_t s = 0; s < known[i].n; s++)
            samples[s] = (double)(known[i].n - s);
        summary = nl_summarize(samples, known[i].n);
        if (known[i].k == 0) {
            assert_true(isnan(summary.interval.low) && isnan(summary.interval.high));
            assert_true(summary.unstable);
            continue;
        }
        NEAR(summary.interval.low, (double)known[i].k, 0);
        NEAR(summary.interval.high, (double)(known[i].n + 1 - known[i].k), 0);
    }
}

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*seed >> 11) / 9007199254740992.0;
}

/* An interval that claims 95 % has to hold the true median in at least 95 of 100 draws, and must
   not be so wide that it always does: n = 20 and k = 6 give 95.9 %. */
static void test_interval_coverage(void **state)
{
    uint64_t seed = 42;
    int hits = 0;

    (void)state;
    for (int draw = 0; draw < 4000; draw++) {
        double samples[20];
        struct nl_summary summary;

        for (int i = 0; i < 20; i++)
            samples[i] = -log(1 - uniform(&seed)); /* exponential: median ln 2, a long tail */
        summary = nl_summarize(samples, 20);
        hits += summary.interval.low <= M_LN2 && M_LN2 <= summary.interval.high;
    }
    assert_in_range(hits, 3790, 3880);
}

static void test_unstable(void **state)
{
    const double steady[] = {100, 101, 99, 100, 102, 98, 100, 101};
    const double wild[] = {100, 150, 60, 100, 190, 40, 100, 130};
    const double zeros[] = {0, 0, 0, 0, 0, 0};

    (void)state;
    assert_false(nl_summarize(steady, 8).unstable);
    assert_true(nl_summarize(wild, 8).unstable);
    assert_true(nl_summarize(steady, 5).unstable);
    assert_false(nl_summarize(zeros, 6).unstable);
}

static void test_many_samples(void **state)
{
    static double samples[20000];
    struct nl_summary summary;

    (void)state;
    for (size_t i = 0; i < 20000; i++)
        samples[i] = (double)(i + 1);
    summary = nl_summarize(samples, 20000);
    /* Normal approximation: n/2 -+ 1.96 sqrt(n)/2. */
    NEAR(summary.interval.low, 10000 - 1.96 * sqrt(20000) / 2, 2);
    NEAR(summary.interval.high, 10001 + 1.96 * sqrt(20000) / 2, 2);
}

static void test_ratio(void **state)
{
    double slow[20], fast[20];
    const double zero[] = {0, 0, 0, 0, 0, 0};
    struct nl_ratio ratio, again;

    (void)state;
    for (int i = 0; i < 20; i++) {
        fast[i] = 100 + i % 5;
        slow[i] = 1300 + 3 * (i % 7);
    }
    ratio = nl_ratio_of_medians(slow, 20, fast, 20);
    NEAR(ratio.value, 1309.0 / 102, 1e-9);
    assert_true(ratio.interval.low <= ratio.value && ratio.value <= ratio.interval.high);
    assert_true(ratio.interval.low >= 1300.0 / 104 && ratio.interval.high <= 1318.0 / 100);
    assert_true(ratio.interval.low < ratio.interval.high);
    assert_false(ratio.unstable);
    again = nl_ratio_of_medians(slow, 20, fast, 20);
    assert_memory_equal(&ratio.interval, &again.interval, sizeof(ratio.interval));
    assert_true(isnan(nl_ratio_of_medians(slow, 20, zero, 6).value));
    ratio = nl_ratio_of_medians(slow, 3, fast, 20);
    assert_true(ratio.unstable && isnan(ratio.interval.low));
    NEAR(ratio.value, 1303.0 / 102, 1e-9);
}

/* The bootstrap's interval of a ratio of two medians, against the true ratio in many draws: the
   percentile bootstrap of a median is a little wide, never narrow by more than a few percent. */
static void test_ratio_coverage(void **state)
{
    uint64_t seed = 7;
    int hits = 0;

    (void)state;
    for (int draw = 0; draw < 300; draw++) {
        double a[20], b[20];
        struct nl_ratio ratio;

        for (int i = 0; i < 20; i++) {
            a[i] = 5 * (1 + uniform(&seed));
            b[i] = 1 + uniform(&seed);
        }
        ratio = nl_ratio_of_medians(a, 20, b, 20);
        hits += ratio.interval.low <= 5 && 5 <= ratio.interval.high;
    }
    assert_in_range(hits, 276, 299);
}

static json_t *document_with(const char *unit, const double *medians, size_t n)
{
    json_t *layers = json_array();

    for (size_t k = 0; k < n; k++) {
        json_t *samples = json_array();

        for (int i = 0; medians[k] > 0 && i < 11; i++)
            json_array_append_new(samples, json_real(medians[k] * (1 + (i - 5) * 0.001)));
        json_array_append_new(layers, json_pack("{s:o, s:[{s:s, s:s, s:o}]}", "name",
                                                json_sprintf("L%zu", k), "benchmarks", "name", "x",
                                                "unit", unit, "samples", samples));
    }
    return json_pack("{s:o}", "layers", layers);
}

static void test_slowdown(void **state)
{
    const double medians[] = {100, 1200, 36000};
    json_t *document = document_with("ns", medians, 3);
    json_t *slowdown = nl_slowdown(document);
    const json_t *entry = json_array_get(slowdown, 0);
    const json_t *layers = json_object_get(entry, "layers");
    const json_t *l2 = json_array_get(layers, 2);

    (void)state;
    assert_int_equal(json_array_size(slowdown), 1);
    assert_int_equal(json_array_size(layers), 3);
    assert_true(nl_dig_true(entry, "higher_is_worse"));
    assert_null(nl_dig(json_array_get(layers, 0), "to_l0"));
    NEAR(nl_dig_number(json_array_get(layers, 1), "to_l0.ratio", 0), 12, 1e-9);
    NEAR(nl_dig_number(l2, "to_l0.ratio", 0), 360, 1e-9);
    NEAR(nl_dig_number(l2, "to_below.ratio", 0), 30, 1e-9);
    NEAR(nl_dig_number(l2, "median", 0), 36000, 1e-6);
    json_decref(slowdown);
    json_decref(document);
}

/* A series that drifts has a narrow interval around a middle that nothing stayed at. */
static void test_slowdown_of_what_drifts(void **state)
{
    const double medians[] = {100, 1200};
    json_t *document = document_with("ns", medians, 2);
    json_t *benchmark = json_array_get(
        json_object_get(json_array_get(json_object_get(document, "layers"), 1), "benchmarks"), 0);
    json_t *samples = json_array(), *slowdown;
    const json_t *layers, *l1;

    (void)state;
    for (int i = 0; i < 20; i++)
        json_array_append_new(samples, json_real(1200 * (1 + 0.004 * i)));
    json_object_set_new(benchmark, "samples", samples);
    slowdown = nl_slowdown(document);
    layers = nl_dig(json_array_get(slowdown, 0), "layers");
    l1 = json_array_get(layers, 1);
    assert_true(nl_dig_true(l1, "unstable") && nl_dig_true(l1, "to_l0.unstable"));
    assert_int_equal(json_array_size(nl_dig(l1, "why_unstable")), 2);
    assert_string_equal(json_string_value(json_array_get(nl_dig(l1, "why_unstable"), 0)), "drifts");
    NEAR(nl_dig_number(l1, "drift", 0), 0.076 / 1.038, 1e-3);
    assert_int_equal(json_array_size(nl_dig(json_array_get(layers, 0), "why_unstable")), 0);
    json_decref(slowdown);
    json_decref(document);
}

/* Samples of short batches look like any others: the agent says what they are. */
static void test_slowdown_of_short_batches(void **state)
{
    const double medians[] = {100, 1200};
    json_t *document = document_with("ns", medians, 2), *slowdown;
    json_t *layer = json_array_get(json_object_get(document, "layers"), 1);
    const json_t *layers, *l1;

    (void)state;
    json_object_set_new(json_array_get(json_object_get(layer, "benchmarks"), 0), "short_batch",
                        json_string("a batch of 18 took 10.6 us, where 1000 us are wanted"));
    slowdown = nl_slowdown(document);
    layers = nl_dig(json_array_get(slowdown, 0), "layers");
    l1 = json_array_get(layers, 1);
    assert_true(nl_dig_true(l1, "unstable") && nl_dig_true(l1, "to_l0.unstable"));
    assert_int_equal(json_array_size(nl_dig(l1, "why_unstable")), 1);
    assert_string_equal(json_string_value(json_array_get(nl_dig(l1, "why_unstable"), 0)),
                        "short batch");
    assert_false(nl_dig_true(json_array_get(layers, 0), "unstable"));
    json_decref(slowdown);
    json_decref(document);
}

/* 100 MB/s at L1 against 400 MB/s at L0 is four times slower. */
static void test_slowdown_of_rates(void **state)
{
    const double medians[] = {400, 100};
    json_t *document = document_with("MB/s", medians, 2);
    json_t *slowdown = nl_slowdown(document);
    const json_t *entry = json_array_get(slowdown, 0);

    (void)state;
    assert_true(json_is_false(nl_dig(entry, "higher_is_worse")));
    NEAR(nl_dig_number(json_array_get(nl_dig(entry, "layers"), 1), "to_l0.ratio", 0), 4, 1e-9);
    json_decref(slowdown);
    json_decref(document);
}

/* The agent's word counts more than the unit. */
static void test_slowdown_of_what_says_so(void **state)
{
    const double medians[] = {400, 100};
    json_t *document = document_with("hashes", medians, 2);
    json_t *benchmark = json_array_get(
        json_object_get(json_array_get(json_object_get(document, "layers"), 0), "benchmarks"), 0);
    json_t *slowdown;

    (void)state;
    json_object_set_new(benchmark, "higher_is_better", json_true());
    slowdown = nl_slowdown(document);
    NEAR(nl_dig_number(json_array_get(nl_dig(json_array_get(slowdown, 0), "layers"), 1),
                       "to_l0.ratio", 0),
         4, 1e-9);
    json_decref(slowdown);
    json_decref(document);
}

/* What was not measured is absent, and nothing is compared with it. */
static void test_slowdown_with_holes(void **state)
{
    const double medians[] = {0, 100, 0, 300};
    json_t *document = document_with("ns", medians, 4);
    json_t *slowdown = nl_slowdown(document);
    const json_t *layers = nl_dig(json_array_get(slowdown, 0), "layers");

    (void)state;
    assert_int_equal(json_array_size(layers), 2);
    assert_true(nl_dig_is(json_array_get(layers, 1), "layer", "L3"));
    assert_null(nl_dig(json_array_get(layers, 1), "to_l0"));
    assert_null(nl_dig(json_array_get(layers, 1), "to_below"));
    json_decref(slowdown);
    json_decref(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_median),
        cmocka_unit_test(test_mad),
        cmocka_unit_test(test_interval_orders),
        cmocka_unit_test(test_interval_coverage),
        cmocka_unit_test(test_unstable),
        cmocka_unit_test(test_many_samples),
        cmocka_unit_test(test_ratio),
        cmocka_unit_test(test_ratio_coverage),
        cmocka_unit_test(test_slowdown),
        cmocka_unit_test(test_slowdown_of_what_drifts),
        cmocka_unit_test(test_slowdown_of_short_batches),
        cmocka_unit_test(test_slowdown_of_rates),
        cmocka_unit_test(test_slowdown_of_what_says_so),
        cmocka_unit_test(test_slowdown_with_holes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
