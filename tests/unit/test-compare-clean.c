/*
 * test-compare-clean.c - real runs that nothing was changed between: no two of them, and no two
 * halves, may make anything worse.
 */
#include "compare.h"
#include "dig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <string.h>
#include <stdint.h>
#include <cmocka.h>

#define RUNS_MAX 64
#define SPLITS 200

static json_t *documents[RUNS_MAX]; /* made of tests/fixtures/clean-runs.json */
static size_t n_runs;

static const struct nl_compare_options options = {0.05, 5, false};

static json_t *compare(json_t **base, size_t n_base, json_t **new, size_t n_new)
{
    char *path = (char *)"document.json";
    char *paths[RUNS_MAX];
    struct nl_document_set a = {base, paths, n_base}, b = {new, paths, n_new};
    json_t *comparison = NULL;

    for (size_t i = 0; i < RUNS_MAX; i++)
        paths[i] = path;
    assert_int_equal(nl_compare(&a, &b, &options, &comparison, NULL), 0);
    return comparison;
}

static long sum_of(const json_t *comparison, const char *key)
{
    return (long)nl_dig_integer(json_object_get(comparison, "sum"), key, -1);
}

static void complain(const json_t *comparison, const char *which)
{
    static const char *const kinds[] = {"times", "metered"};
    size_t i;
    json_t *row;

    for (size_t k = 0; k < 2; k++)
        json_array_foreach(json_object_get(comparison, kinds[k]), i, row)
        {
            if (nl_dig_true(row, "failed"))
                fail_msg("%s: %s at %s: %f to %f", which, nl_dig_string(row, "benchmark", "?"),
                         nl_dig_string(row, "layer", "?"), nl_dig_number(row, "base.total", NAN),
                         nl_dig_number(row, "new.total", NAN));
        }
}

/* Every run against every other: with one on a side nothing is worse by its times, and no count
   that is said to repeat is another one. */
static void test_pairs(void **state)
{
    long differ = 0;

    (void)state;
    for (size_t i = 0; i < n_runs; i++)
        for (size_t k = 0; k < n_runs; k++) {
            cleanup_json json_t *comparison = NULL;

            if (i == k)
                continue;
            comparison = compare(&documents[i], 1, &documents[k], 1);
            complain(comparison, "pair");
            assert_int_equal(sum_of(comparison, "worse"), 0);
            assert_int_equal(sum_of(comparison, "better"), 0);
            assert_int_equal(sum_of(comparison, "failed"), 0);
            differ += sum_of(comparison, "differs") > 0;
        }
    /* They do differ: a rule that looked at less would find as much wrong with all of these. */
    assert_true(differ > (long)(n_runs * (n_runs - 1) / 2));
}

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return *seed >> 33;
}

static void shuffle(json_t **runs, size_t n, uint64_t *seed)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = next(seed) % i;
        json_t *run = runs[i - 1];

        runs[i - 1] = runs[k];
        runs[k] = run;
    }
}

/* Half of them against the other half, at random: as many alarms as alpha allows, and none fails.
 */
static void test_halves(void **state)
{
    json_t *runs[RUNS_MAX];
    size_t half = n_runs / 2;
    uint64_t seed = 3;
    int alarms = 0;

    (void)state;
    memcpy(runs, documents, sizeof(runs));
    for (int i = 0; i < SPLITS; i++) {
        cleanup_json json_t *comparison = NULL;

        shuffle(runs, n_runs, &seed);
        comparison = compare(runs, half, runs + half, half);
        complain(comparison, "halves");
        assert_int_equal(sum_of(comparison, "failed"), 0);
        alarms += sum_of(comparison, "worse") + sum_of(comparison, "better") > 0;
    }
    assert_in_range(alarms, 0, SPLITS / 20);
}

/* The same runs, but in half of them every count of L0's is a tenth larger: all see it. */
static void test_a_change_is_not_lost(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < n_runs; i += 2) {
        cleanup_json json_t *slower = json_deep_copy(documents[i + 1]);
        cleanup_json json_t *comparison = NULL;
        json_t *layer, *metered;
        size_t k, m;

        json_array_foreach(json_object_get(slower, "layers"), k, layer)
            json_array_foreach(json_object_get(layer, "metered"), m, metered)
        {
            static const char *const keys[] = {"total", "low", "high"};

            for (size_t j = 0; j < 3; j++)
                json_object_set_new(metered, keys[j],
                                    json_real(nl_dig_number(metered, keys[j], 0) * 1.1));
        }
        comparison = compare(&documents[i], 1, &slower, 1);
        /* cpuid, syscall and page-touch at three layers. */
        assert_int_equal(sum_of(comparison, "failed"), 9);
    }
}

static json_t *document(const json_t *run)
{
    return json_pack("{s:{s:O, s:{s:s}}, s:O}", "run", "id", json_object_get(run, "id"), "l0",
                     "taken", "emulated", "layers", json_object_get(run, "layers"));
}

static int set_up(void **state)
{
    cleanup_json json_t *file =
        json_load_file(NL_SOURCE "/tests/fixtures/clean-runs.json", 0, NULL);
    size_t i;
    json_t *run;

    (void)state;
    json_array_foreach(json_object_get(file, "runs"), i, run)
    {
        if (n_runs < RUNS_MAX)
            documents[n_runs++] = document(run);
    }
    return n_runs >= 2 * NL_COMPARE_RUNS_MIN ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_runs; i++)
        json_decref(documents[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_a_change_is_not_lost),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
