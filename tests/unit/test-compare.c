/*
 * test-compare.c - what changed between runs: nothing where nothing did, what did where it did, and
 * nothing at all where figures mean different things.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "cmd.h"
#include "command.h"
#include "compare-words.h"
#include "comparison-text.h"
#include "dig.h"
#include "document.h"

#include <float.h>
#include <libxml/parser.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define ARGS_MAX 8
#define LAYERS 2

static const struct nl_compare_options plain = {0.05, NAN, false};

static json_t *real_series; /* tests/fixtures/samples.json */
static char folder[] = "/tmp/nl-test-compare-XXXXXX";

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*seed >> 11) / 9007199254740992.0;
}

static json_t *layer_json(size_t k)
{
    return json_pack("{s:o, s:i, s:s, s:{s:s}, s:{s:i, s:{s:s}, s:{s:s}, s:{s:s}}, s:[], s:[]}",
                     "name", json_sprintf("L%zu", k), "index", (int)k, "state", "up", "domain",
                     "type", "kvm", "facts", "vcpus", 1, "clock_source", "current", "kvm-clock",
                     "cpuid", "brand", "Test", "kernel", "release", "6.1", "benchmarks", "metered");
}

static json_t *document(const char *id)
{
    json_t *layers = json_array();

    for (size_t k = 0; k < LAYERS; k++)
        json_array_append_new(layers, layer_json(k));
    return json_pack("{s:{s:i}, s:{s:s, s:{s:s}, s:{s:s}}, s:{}, s:[], s:o, s:[], s:[], s:[], s:n, "
                     "s:{s:s, s:i, s:s}}",
                     "nestlab", "document", 1, "run", "id", id, "l0", "taken", "emulated", "host",
                     "cpu", "host", "scenario", "phases", "layers", layers, "commands", "checks",
                     "slowdown", "failure", "verdict", "status", "passed", "exit", 0, "summary",
                     "");
}

static json_t *layer_of(json_t *root, size_t k)
{
    return json_array_get(json_object_get(root, "layers"), k);
}

static void add_benchmark(json_t *root, size_t k, const char *name, const char *unit,
                          const double *samples, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, json_real(samples[i]));
    json_array_append_new(json_object_get(layer_of(root, k), "benchmarks"),
                          json_pack("{s:s, s:s, s:i, s:s, s:s, s:i, s:o, s:n}", "name", name,
                                    "unit", unit, "version", 1, "clock", "CLOCK_MONOTONIC",
                                    "clock_source", "kvm-clock", "vcpus", 1, "samples", array,
                                    "skipped"));
}

static void add_metered(json_t *root, size_t k, int l0, int l1, int agreeing, int low, int high)
{
    json_array_append_new(
        json_object_get(layer_of(root, k), "metered"),
        json_pack("{s:s, s:i, s:f, s:i, s:n, s:s, s:i, s:i, s:i, s:i, s:i, s:[i,i], s:[i,i], s:[]}",
                  "name", "cpuid", "version", 1, "repeats", 0.0, "operations", 101, "skipped",
                  "estimate", "mode", "undisturbed", 100, "agreeing", agreeing, "total", l0 + l1,
                  "low", low, "high", high, "instructions", l0, l1, "vmruns", 1, 0, "samples"));
}

/* A set of N documents; the caller's. */
static struct nl_document_set set_of(json_t **documents, size_t n)
{
    struct nl_document_set set = {calloc(n, sizeof(json_t *)), calloc(n, sizeof(char *)), n};

    for (size_t i = 0; i < n; i++) {
        set.documents[i] = documents[i];
        set.paths[i] = strdup("document.json");
    }
    return set;
}

/* Both are consumed. */
static json_t *compare(json_t *base, json_t *new, const struct nl_compare_options *options)
{
    cleanup_document_set struct nl_document_set a = set_of(&base, 1);
    cleanup_document_set struct nl_document_set b = set_of(&new, 1);
    json_t *comparison = NULL;
    cleanup_error struct nl_error *err = NULL;

    if (nl_compare(&a, &b, options, &comparison, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    return comparison;
}

/* A run of the real series: N samples of each, drawn with replacement, times FACTOR at L1. */
static json_t *redraw(const char *id, size_t n, double factor, uint64_t *seed)
{
    json_t *root = document(id);
    size_t i;
    json_t *series;

    json_array_foreach(real_series, i, series)
    {
        const json_t *samples = json_object_get(series, "samples");

        for (size_t k = 0; k < LAYERS; k++) {
            double drawn[100];

            for (size_t s = 0; s < n; s++) {
                size_t at = (size_t)(uniform(seed) * (double)json_array_size(samples));

                drawn[s] = json_number_value(json_array_get(samples, at)) * (k ? factor : 1);
            }
            add_benchmark(root, k, nl_dig_string(series, "name", ""), "ns", drawn, n);
        }
    }
    return root;
}

static long count_of(const json_t *comparison, const char *verdict)
{
    return (long)nl_dig_integer(json_object_get(comparison, "sum"), verdict, -9);
}

static long changed(const json_t *comparison)
{
    return count_of(comparison, "worse") + count_of(comparison, "better");
}

/* N runs against N runs; all are consumed. */
static json_t *compare_sets(json_t **base, json_t **new, size_t n,
                            const struct nl_compare_options *options)
{
    cleanup_document_set struct nl_document_set a = set_of(base, n);
    cleanup_document_set struct nl_document_set b = set_of(new, n);
    json_t *comparison = NULL;

    assert_int_equal(nl_compare(&a, &b, options, &comparison, NULL), 0);
    return comparison;
}

/* A against A: two runs with samples from one urn, 200 times. What two single runs show may differ
   in 5 % of all comparisons, and must not never: then the test could not see anything. But it is
   not worse, and fails nothing. */
static void test_a_against_a(void **state)
{
    struct nl_compare_options options = {0.05, 0, false};
    uint64_t seed = 1;
    int alarms = 0;

    (void)state;
    for (int draw = 0; draw < 200; draw++) {
        cleanup_json json_t *comparison =
            compare(redraw("a", 20, 1, &seed), redraw("b", 20, 1, &seed), &options);

        assert_int_equal(json_array_size(json_object_get(comparison, "times")), 8);
        assert_int_equal(changed(comparison), 0);
        assert_int_equal(count_of(comparison, "failed"), 0);
        alarms += count_of(comparison, "differs") > 0;
    }
    assert_in_range(alarms, 1, 16);
}

/* The same with runs as observations, each with a level of its own: what differs from run to run is
   no change. */
static void test_a_against_a_of_runs(void **state)
{
    uint64_t seed = 4;
    int alarms = 0;

    (void)state;
    for (int draw = 0; draw < 200; draw++) {
        json_t *documents[16];
        cleanup_document_set struct nl_document_set a = {0}, b = {0};
        cleanup_json json_t *comparison = NULL;

        for (int i = 0; i < 16; i++) {
            char id[8];

            snprintf(id, sizeof(id), "r%d", i);
            documents[i] = redraw(id, 6, 1 + uniform(&seed), &seed);
        }
        a = set_of(documents, 8);
        b = set_of(documents + 8, 8);
        assert_int_equal(nl_compare(&a, &b, &plain, &comparison, NULL), 0);
        assert_true(nl_dig_is(json_array_get(json_object_get(comparison, "times"), 0),
                              "observations", "runs"));
        alarms += changed(comparison) > 0;
    }
    assert_in_range(alarms, 1, 16);
}

#define RUNS 6 /* fewer cannot give a p that stands Holm's correction for 8 rows */

/* L1 three times as slow, L0 as before. */
static void test_a_against_b(void **state)
{
    struct nl_compare_options options = {0.05, 100, false};
    json_t *base[RUNS], *new[RUNS];
    cleanup_json json_t *comparison = NULL;
    uint64_t seed = 2;
    json_t *row;
    size_t i;

    (void)state;
    for (i = 0; i < RUNS; i++) {
        base[i] = redraw("a", 20, 1, &seed);
        new[i] = redraw("b", 20, 3, &seed);
    }
    comparison = compare_sets(base, new, RUNS, &options);
    json_array_foreach(json_object_get(comparison, "times"), i, row)
    {
        bool at_l1 = nl_dig_is(row, "layer", "L1");

        assert_true(nl_dig_is(row, "verdict", at_l1 ? "worse" : "unchanged"));
        assert_int_equal(nl_dig_true(row, "failed"), at_l1);
        if (at_l1)
            assert_in_range(nl_dig_number(row, "ratio", 0) * 100, 250, 400);
    }
    assert_int_equal(nl_dig_integer(comparison, "sum.failed", 0), 4);
}

/* The same change between two single runs: they differ, and that is all that can be said. */
static void test_single_runs_only_differ(void **state)
{
    struct nl_compare_options options = {0.05, 100, false};
    uint64_t seed = 2;
    cleanup_json json_t *comparison =
        compare(redraw("a", 100, 1, &seed), redraw("b", 100, 3, &seed), &options);

    (void)state;
    assert_int_equal(changed(comparison), 0);
    assert_int_equal(count_of(comparison, "differs"), 4);
    assert_int_equal(count_of(comparison, "unchanged"), 4);
    assert_int_equal(count_of(comparison, "failed"), 0);
}

static void fill(double *samples, size_t n, double around, double step)
{
    for (size_t i = 0; i < n; i++)
        samples[i] = around + step * (double)(i * 7 % n);
}

/* Half as many MB/s is twice as slow, and PERCENT is about what is sure. */
static void test_directions(void **state)
{
    static const struct {
        const char *unit;
        double before, after, fail_above;
        const char *verdict;
        bool failed;
    } known[] = {
        {"ns", 100, 200, 90, "worse", true},       {"ns", 100, 200, 101, "worse", false},
        {"ns", 200, 100, 0, "better", false},      {"MB/s", 200, 100, 90, "worse", true},
        {"MB/s", 100, 200, 0, "better", false},    {"ns", 100, 100, 0, "unchanged", false},
        {"ns", -100, 100, 0, "not judged", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        struct nl_compare_options options = {0.05, known[i].fail_above, false};
        double before[20], after[20];
        json_t *base[RUNS], *new[RUNS];
        cleanup_json json_t *comparison = NULL;
        const json_t *row;

        for (size_t k = 0; k < RUNS; k++) {
            fill(before, 20, known[i].before + 0.01 * (double)k, 0.01);
            fill(after, 20, known[i].after + 0.01 * (double)k, 0.01);
            base[k] = document("a");
            new[k] = document("b");
            add_benchmark(base[k], 1, "x", known[i].unit, before, 20);
            add_benchmark(new[k], 1, "x", known[i].unit, after, 20);
        }
        comparison = compare_sets(base, new, RUNS, &options);
        row = json_array_get(json_object_get(comparison, "times"), 0);
        if (!nl_dig_is(row, "verdict", known[i].verdict) ||
            nl_dig_true(row, "failed") != known[i].failed)
            fail_msg("%zu: %s", i, nl_dig_string(row, "verdict", "?"));
    }
}

/* Neighbours that are alike make few observations of many samples. */
static void test_dependent_samples(void **state)
{
    double before[20], after[20];
    cleanup_json json_t *comparison = NULL;
    json_t *a = document("a"), *b = document("b");

    (void)state;
    for (int i = 0; i < 20; i++) {
        int level = i / 5;

        before[i] = 100 + level + 0.01 * (i * 7 % 20);
        after[i] = before[i] + 3;
    }
    add_benchmark(a, 1, "x", "ns", before, 20);
    add_benchmark(b, 1, "x", "ns", after, 20);
    comparison = compare(a, b, &plain);
    assert_int_equal(count_of(comparison, "differs"), 0);
    assert_true(nl_dig_number(json_array_get(json_object_get(comparison, "times"), 0), "dependence",
                              0) > 2);
}

static void test_metered(void **state)
{
    static const struct {
        int l0, l1, agreeing, low, high;
        const char *verdict;
        bool exact, failed;
    } known[] = {
        {3201, 19, 100, 3220, 3220, "unchanged", true, false},
        {3301, 29, 100, 3330, 3330, "worse", true, true},
        {3202, 19, 100, 3221, 3221, "worse", true, false},
        {3101, 19, 100, 3120, 3120, "better", true, false},
        {3301, 19, 60, 3000, 3400, "unchanged", false, false},
        {3301, 19, 60, 3300, 3400, "worse", false, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        struct nl_compare_options options = {0.05, 2, false};
        json_t *a = document("a"), *b = document("b");
        cleanup_json json_t *comparison = NULL;
        const json_t *row;

        add_metered(a, 1, 3201, 19, 100, 3220, 3220);
        add_metered(b, 1, known[i].l0, known[i].l1, known[i].agreeing, known[i].low, known[i].high);
        comparison = compare(a, b, &options);
        row = json_array_get(json_object_get(comparison, "metered"), 0);
        assert_true(nl_dig_is(row, "layer", "L1"));
        if (!nl_dig_is(row, "verdict", known[i].verdict) ||
            nl_dig_true(row, "failed") != known[i].failed ||
            nl_dig_true(row, "exact") != known[i].exact)
            fail_msg("%zu: %s", i, nl_dig_string(row, "verdict", "?"));
        /* Whose instructions: it adds up. */
        assert_int_equal((int)json_number_value(json_array_get(nl_dig(row, "instructions"), 0)),
                         known[i].l0 - 3201);
        assert_int_equal((int)json_number_value(json_array_get(nl_dig(row, "instructions"), 1)),
                         known[i].l1 - 19);
        assert_int_equal((int)nl_dig_number(row, "difference", 0),
                         known[i].l0 + known[i].l1 - 3220);
    }
}

/* A tilde is what reports mark other things with: what does not agree has a sign of its own, which
   is explained. */
static void test_mark_of_what_does_not_agree(void **state)
{
    for (int agreeing = 60; agreeing <= 100; agreeing += 40) {
        json_t *a = document("a"), *b = document("b");
        cleanup_json json_t *comparison = NULL;
        cleanup_free char *text = NULL, *page = NULL;

        add_metered(a, 1, 3201, 19, 100, 3220, 3220);
        add_metered(b, 1, 3301, 19, agreeing, 3300, 3400);
        comparison = compare(a, b, &plain);
        text = text_of(comparison);
        page = nl_compare_html(comparison);
        assert_non_null(strstr(text, "* not all operations agree"));
        assert_non_null(strstr(page, "* is where not all operations agree"));
        assert_null(strchr(text, '~'));
        assert_null(strchr(page, '~'));
        assert_int_equal(strstr(text, "+100* ") != NULL, agreeing < 100);
        assert_int_equal(strstr(page, ">+100*<") != NULL, agreeing < 100);
    }
    (void)state;
}

/* What is not known to cost the same after every boot only differs, unless several runs on both
   sides say so; what is known to within a hundredth may differ by as much. */
static void test_metered_that_may_not_repeat(void **state)
{
    static const struct {
        int repeats; /* thousandths; -1: not known */
        size_t runs;
        int more;
        const char *verdict;
    } known[] = {
        {-1, 1, 300, "differs"},   {-1, 1, 0, "unchanged"},  {-1, 4, 300, "worse"},
        {-1, 4, -300, "better"},   {10, 1, 29, "unchanged"}, {10, 1, 31, "worse"},
        {10, 1, -29, "unchanged"}, {10, 1, -31, "better"},   {10, 4, 29, "unchanged"},
        {-1, 3, 300, "differs"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        json_t *base[4], *new[4];
        cleanup_json json_t *comparison = NULL;
        const json_t *row;

        for (size_t k = 0; k < known[i].runs; k++) {
            json_t *repeats =
                known[i].repeats < 0 ? json_null() : json_real(known[i].repeats / 1e3);
            size_t l;
            json_t *side;
            json_t *both = json_pack("[O, O]", base[k] = document("a"), new[k] = document("b"));

            add_metered(base[k], 1, 3000, 0, 100, 3000, 3000);
            add_metered(new[k], 1, 3000 + known[i].more, 0, 100, 0, 0);
            json_array_foreach(both, l, side)
                json_object_set(json_array_get(json_object_get(layer_of(side, 1), "metered"), 0),
                                "repeats", repeats);
            json_decref(both);
            json_decref(repeats);
        }
        comparison = compare_sets(base, new, known[i].runs, &plain);
        row = json_array_get(json_object_get(comparison, "metered"), 0);
        if (!nl_dig_is(row, "verdict", known[i].verdict))
            fail_msg("%zu: %s", i, nl_dig_string(row, "verdict", "?"));
    }
}

/* What several runs count differently is no change. */
static void test_metered_sets(void **state)
{
    json_t *documents[4] = {document("a"), document("b"), document("c"), document("d")};
    cleanup_document_set struct nl_document_set a = {0}, b = {0};
    cleanup_json json_t *comparison = NULL;
    const json_t *row;

    (void)state;
    for (int i = 0; i < 4; i++)
        add_metered(documents[i], 1, 3000 + 10 * (i % 2), 0, 100, 0, 0);
    a = set_of(documents, 2);
    b = set_of(documents + 2, 2);
    assert_int_equal(nl_compare(&a, &b, &plain, &comparison, NULL), 0);
    row = json_array_get(json_object_get(comparison, "metered"), 0);
    assert_true(nl_dig_is(row, "verdict", "unchanged"));
    assert_int_equal(nl_dig_integer(row, "base.runs", 0), 2);
}

/* Each of these makes figures mean something else. */
static void test_not_comparable(void **state)
{
    static const struct {
        const char *object; /* in layer L1, "" for the layer, NULL for the run */
        const char *key;
        const char *value;
        const char *said;
    } known[] = {
        {"facts.clock_source", "current", "tsc", "L1: clock source: kvm-clock, but tsc in b"},
        {"facts.cpuid", "brand", "Other", "L1: processor: Test, but Other in b"},
        {"facts", "vcpus", "2", "L1: vCPUs: 1, but 2 in b"},
        {"domain", "type", "qemu", "L1: kind of domain: kvm, but qemu in b"},
        {NULL, "taken", "local", "not comparable: kind of L0: emulated, but local in b"},
    };
    double samples[20];

    (void)state;
    fill(samples, 20, 100, 0.1);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        json_t *documents[2] = {document("a"), document("b")};
        cleanup_document_set struct nl_document_set a = set_of(documents, 1);
        cleanup_document_set struct nl_document_set b = set_of(documents + 1, 1);
        struct nl_compare_options forced = {0.05, NAN, true};
        cleanup_json json_t *comparison = NULL;
        cleanup_error struct nl_error *err = NULL;
        const json_t *object = known[i].object ? nl_dig(layer_of(documents[1], 1), known[i].object)
                                               : nl_dig(documents[1], "run.l0");

        add_benchmark(documents[0], 1, "x", "ns", samples, 20);
        add_benchmark(documents[1], 1, "x", "ns", samples, 20);
        json_object_set_new((json_t *)object, known[i].key, json_string(known[i].value));
        assert_int_equal(nl_compare(&a, &b, &plain, &comparison, &err), -1);
        assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
        if (!strstr(nl_error_message(err), known[i].said))
            fail_msg("%s", nl_error_message(err));
        assert_int_equal(nl_compare(&a, &b, &forced, &comparison, NULL), 0);
        assert_int_equal(json_array_size(json_object_get(comparison, "not_comparable")), 1);
    }
}

static void test_other_version(void **state)
{
    static const char *const keys[] = {"version", "unit", "clock_source"};
    double samples[20];

    (void)state;
    fill(samples, 20, 100, 0.1);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        json_t *documents[2] = {document("a"), document("b")};
        cleanup_document_set struct nl_document_set a = set_of(documents, 1);
        cleanup_document_set struct nl_document_set b = set_of(documents + 1, 1);
        json_t *comparison = NULL;

        add_benchmark(documents[0], 1, "x", "ns", samples, 20);
        add_benchmark(documents[1], 1, "x", "ns", samples, 20);
        json_object_set_new(
            json_array_get(json_object_get(layer_of(documents[1], 1), "benchmarks"), 0), keys[i],
            json_string("other"));
        assert_int_equal(nl_compare(&a, &b, &plain, &comparison, NULL), -1);
    }
}

/* What is compared differs: that is no reason to refuse. Counted instructions know no clock. */
static void test_subjects(void **state)
{
    json_t *a = document("a"), *b = document("b");
    cleanup_json json_t *comparison = NULL;
    const json_t *first;

    (void)state;
    add_metered(a, 1, 100, 1, 100, 0, 0);
    add_metered(b, 1, 100, 1, 100, 0, 0);
    json_object_set_new((json_t *)nl_dig(layer_of(b, 1), "facts.kernel"), "release",
                        json_string("6.9"));
    json_object_set_new((json_t *)nl_dig(layer_of(b, 1), "facts"), "modules",
                        json_pack("{s:{s:{s:s}}}", "kvm_amd", "parameters", "vnmi", "1"));
    json_object_set_new((json_t *)nl_dig(layer_of(b, 1), "facts.clock_source"), "current",
                        json_string("tsc"));
    comparison = compare(a, b, &plain);
    assert_int_equal(json_array_size(json_object_get(comparison, "differs")), 3);
    /* Only the newer kernel has that. */
    first = json_array_get(json_object_get(comparison, "differs"), 2);
    assert_true(nl_dig_is(first, "what", "kvm_amd.vnmi") && nl_dig_is(first, "other", "1"));
    first = json_array_get(json_object_get(comparison, "differs"), 1);
    assert_true(nl_dig_is(first, "what", "kernel") && nl_dig_is(first, "reference", "6.1") &&
                nl_dig_is(first, "other", "6.9") && nl_dig_is(first, "layer", "L1"));
}

/* Operations that were made slower on purpose are said to be. */
static void test_extra_exits_are_named(void **state)
{
    json_t *a = document("a"), *b = document("b");
    cleanup_json json_t *comparison = NULL;
    const json_t *first;

    (void)state;
    add_metered(a, 1, 100, 1, 100, 0, 0);
    add_metered(b, 1, 100, 1, 100, 0, 0);
    json_object_set_new(json_object_get(a, "scenario"), "meter",
                        json_pack("{s:i}", "extra_exits", 0));
    json_object_set_new(json_object_get(b, "scenario"), "meter",
                        json_pack("{s:i}", "extra_exits", 1));
    comparison = compare(a, b, &plain);
    first = json_array_get(json_object_get(comparison, "differs"), 0);
    assert_int_equal(json_array_size(json_object_get(comparison, "differs")), 1);
    assert_true(nl_dig_is(first, "what", "extra exits of a metered operation") &&
                nl_dig_is(first, "reference", "0") && nl_dig_is(first, "other", "1"));
}

static void test_nothing_in_common(void **state)
{
    json_t *documents[2] = {document("a"), document("b")};
    cleanup_document_set struct nl_document_set a = set_of(documents, 1);
    cleanup_document_set struct nl_document_set b = set_of(documents + 1, 1);
    cleanup_error struct nl_error *err = NULL;
    json_t *comparison = NULL;

    (void)state;
    assert_int_equal(nl_compare(&a, &b, &plain, &comparison, &err), -1);
    assert_non_null(strstr(nl_error_message(err), "nothing in common"));
}

static int run(const char *const args[ARGS_MAX], char *text, size_t size)
{
    char output[80];
    const struct command_call call = {nl_cmd_compare, "nestlab compare", .output = output};
    int status;
    FILE *file;

    snprintf(output, sizeof(output), "%s.out", folder);
    status = call_command(&call, args, ARGS_MAX);
    file = fopen(output, "r");
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    unlink(output);
    return status;
}

static void save(const char *name, json_t *root)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(nl_document_write(root, path, NULL), 0);
    json_decref(root);
}

/* A run in the file NAME. */
static void save_run(const char *name, double around)
{
    double samples[20];
    json_t *root = document(name);

    fill(samples, 20, around, 0.1);
    add_benchmark(root, 1, "x", "ns", samples, 20);
    save(name, root);
}

/* Four runs in each of two folders. */
static void save_sets(void)
{
    char name[32];

    assert_int_equal(mkdir("sets", 0700) + mkdir("sets/a", 0700) + mkdir("sets/b", 0700), 0);
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "sets/a/%d.json", i);
        save_run(name, 100);
        snprintf(name, sizeof(name), "sets/b/%d.json", i);
        save_run(name, 150);
    }
}

static void remove_sets(void)
{
    char name[32];

    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "sets/%c/%d.json", 'a' + i % 2, i / 2);
        unlink(name);
    }
    assert_int_equal(rmdir("sets/a") + rmdir("sets/b") + rmdir("sets"), 0);
}

/* As a user calls it. */
static void test_command(void **state)
{
    static const struct {
        const char *args[ARGS_MAX];
        int status;
        const char *printed;
    } known[] = {
        {{"a/document.json", "b/document.json"}, 0, "0 worse, 0 better, 1 differ"},
        {{"a/document.json", "b/document.json", "--fail-above", "10"}, 0, "PASSED"},
        {{"sets/a", "sets/b", "--fail-above", "10"}, 1, "FAILED  1 row got worse"},
        {{"--fail-above=300", "sets/a", "sets/b"}, 0, "PASSED  nothing is known"},
        {{"a", "--with", "b", "--json"}, 0, "\"verdict\": \"differs\""},
        {{"sets/a", "--with", "b"}, 0, "4 runs, from"},
        {{"--csv", "out.csv", "sets/a", "sets/b"}, 0, "1 worse"},
        {{"--html", "out.html", "sets/a", "sets/b"}, 0, "1 worse"},
        {{"--html", "/no/such/folder.html", "a", "b"}, 3, "cannot write"},
        {{"a", "a/document.json", "--with", "b"}, 2, "are the same run"},
        {{"a", "c.json"}, 2, "not comparable: kind of L0"},
        {{"a", "c.json", "--force"}, 0, "Not comparable"},
        {{"a"}, 2, "needs two"},
        {{"a", "b", "c.json"}, 2, "needs two"},
        {{"--with", "a"}, 2, "--with goes between"},
        {{"a", "b", "--alpha", "2"}, 2, "--alpha 2: is no number from"},
        {{"a", "b", "--alpha="}, 2, "--alpha : is no number from"},
        {{"a", "b", "--fail-above", "5x"}, 2, "--fail-above 5x: is no number from 0 to 1e+06"},
        {{"a", "b", "--fail-above", "nan"}, 2, "--fail-above nan: is no number from"},
        {{"a", "empty"}, 2, "holds no document"},
        {{"a", "nothing"}, 2, "cannot open nothing"},
    };
    char text[65536];
    double samples[20];
    json_t *root;

    (void)state;
    assert_int_equal(chdir(folder), 0);
    fill(samples, 20, 100, 0.1);
    save_sets();
    assert_int_equal(mkdir("a", 0700) + mkdir("b", 0700) + mkdir("empty", 0700), 0);
    root = document("a");
    add_benchmark(root, 1, "x", "ns", samples, 20);
    save("a/document.json", json_incref(root));
    json_object_set_new((json_t *)nl_dig(root, "run.l0"), "taken", json_string("local"));
    json_object_set_new(json_object_get(root, "run"), "id", json_string("c"));
    save("c.json", root);
    save_run("b/document.json", 150);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        int status = run(known[i].args, text, sizeof(text));

        if (status != known[i].status || !strstr(text, known[i].printed))
            fail_msg("%zu: status %d\n%s", i, status, text);
    }
    assert_int_equal(unlink("out.csv") + unlink("out.html"), 0);
    unlink("a/document.json");
    unlink("b/document.json");
    unlink("c.json");
    remove_sets();
    assert_int_equal(rmdir("a") + rmdir("b") + rmdir("empty"), 0);
    assert_int_equal(chdir("/"), 0);
}

/* What a spreadsheet would take for a formula, and quotes. */
static void test_csv(void **state)
{
    double samples[20];
    json_t *a = document("a"), *b = document("b");
    cleanup_json json_t *comparison = NULL;
    cleanup_free char *text = NULL;

    (void)state;
    fill(samples, 20, 100, 0.1);
    add_benchmark(a, 1, "=1+\"x\"", "ns", samples, 20);
    add_benchmark(b, 1, "=1+\"x\"", "ns", samples, 20);
    add_metered(a, 1, 100, 1, 100, 0, 0);
    add_metered(b, 1, 150, 1, 100, 0, 0);
    comparison = compare(a, b, &plain);
    text = nl_compare_csv(comparison);
    assert_non_null(strstr(text, "time,\"'=1+\"\"x\"\"\",\"L1\",\"ns\",100.95"));
    assert_non_null(strstr(text, "metered,\"cpuid\",\"L1\",\"instructions\",101,151,"));
    assert_non_null(strstr(text, ",50,0,,,0,0,,,worse,no\r\n"));
}

/* The counts of layer I are I + 1 times FACTOR. */
static void add_deep(json_t *root, int layers, int factor)
{
    json_t *metered;

    add_metered(root, 1, 100, 1, 100, 0, 0);
    metered = json_array_get(json_object_get(layer_of(root, 1), "metered"), 0);
    json_array_clear(json_object_get(metered, "instructions"));
    json_array_clear(json_object_get(metered, "vmruns"));
    for (int i = 0; i < layers; i++) {
        json_array_append_new(json_object_get(metered, "instructions"),
                              json_integer(factor * (i + 1)));
        json_array_append_new(json_object_get(metered, "vmruns"), json_integer(0));
    }
}

/* Columns for as many layers as there are, and the same for stacks of up to four. */
static void test_csv_depth(void **state)
{
    static const struct {
        int layers;
        const char *heading, *row;
    } known[] = {
        {2, ",instructions_L3,vmruns_L0,vmruns_L1,vmruns_L2,vmruns_L3,verdict,failed\r\n",
         ",10,20,,,0,0,,,"},
        {5,
         ",instructions_L3,instructions_L4,vmruns_L0,vmruns_L1,vmruns_L2,vmruns_L3,vmruns_L4,"
         "verdict,failed\r\n",
         ",10,20,30,40,50,0,0,0,0,0,"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        json_t *a = document("a"), *b = document("b");
        cleanup_json json_t *comparison = NULL;
        cleanup_free char *text = NULL;

        add_deep(a, known[i].layers, 10);
        add_deep(b, known[i].layers, 20);
        comparison = compare(a, b, &plain);
        text = nl_compare_csv(comparison);
        if (!strstr(text, known[i].heading) || !strstr(text, known[i].row))
            fail_msg("%s", text);
    }
}

/* A page that is XML whatever the documents held, with a row for each benchmark and no script. */
static void test_html(void **state)
{
    const struct nl_compare_options options = {0.05, 1, false};
    double samples[20], extremes[20];
    json_t *a = document("a"), *b = document("<script>b");
    cleanup_json json_t *comparison = NULL;
    cleanup_free char *page = NULL;
    xmlDocPtr xml;

    (void)state;
    fill(samples, 20, 100, 0.1);
    fill(extremes, 20, 1e300, 0);
    add_benchmark(a, 1, "<img src=x>\"`ls`", "ns", samples, 20);
    add_benchmark(b, 1, "<img src=x>\"`ls`", "ns", extremes, 20);
    add_benchmark(a, 1, "same", "ns", samples, 20);
    add_benchmark(b, 1, "same", "ns", samples, 20);
    add_metered(a, 1, 100, 1, 100, 0, 0);
    add_metered(b, 1, 150, 1, 100, 0, 0);
    comparison = compare(a, b, &options);
    page = nl_compare_html(comparison);
    assert_non_null(page);
    xml = xmlReadMemory(page, (int)strlen(page), "page", NULL, XML_PARSE_NONET);
    assert_non_null(xml);
    xmlFreeDoc(xml);
    assert_null(strstr(page, "<script"));
    assert_null(strstr(page, "<img"));
    assert_non_null(strstr(page, "<strong>FAILED</strong>"));
    assert_non_null(strstr(page, "&lt;img src=x&gt;"));
    assert_non_null(strstr(page, "role=\"img\""));
    assert_non_null(strstr(page, "+50"));
    assert_non_null(strstr(page, ">worse, FAIL<"));
    assert_non_null(strstr(page, ">unchanged<"));
    assert_non_null(strstr(page, "Base: a; new: "));
    assert_non_null(strstr(page, "<a href=\"#times\">Times</a>"));
    assert_null(strstr(page, "href=\"#failures\""));
    assert_non_null(strstr(page, "</svg>\nbetter</li>"));
    assert_non_null(strstr(page, ">At</th><th scope=\"col\">Verdict</th>"));
}

/* No text has a number that nobody could read. */
static void assert_readable(const char *text)
{
    size_t digits = 0;

    assert_non_null(text);
    for (; *text; text++) {
        digits = *text >= '0' && *text <= '9' ? digits + 1 : 0;
        if (digits > 20)
            fail_msg("%.60s", text - digits);
    }
}

static void test_great_figures(void **state)
{
    static const double great[] = {DBL_MAX, -DBL_MAX, 1e16};
    double samples[20], extremes[20];

    (void)state;
    fill(samples, 20, 100, 0.1);
    for (size_t i = 0; i < sizeof(great) / sizeof(great[0]); i++) {
        json_t *a = document("a"), *b = document("b");
        cleanup_json json_t *comparison = NULL;
        cleanup_free char *text = NULL, *page = NULL;
        json_t *row;

        fill(extremes, 20, fabs(great[i]), 0);
        add_benchmark(a, 1, "cpuid", "ns", samples, 20);
        add_benchmark(b, 1, "cpuid", "ns", extremes, 20);
        add_metered(a, 1, 100, 1, 100, 0, 0);
        add_metered(b, 1, 150, 1, 100, 0, 0);
        comparison = compare(a, b, &plain);
        row = json_array_get(json_object_get(comparison, "metered"), 0);
        json_object_set_new(row, "verdict", json_string("differs"));
        json_object_set_new(row, "ratio", json_real(great[i]));
        json_array_set_new(json_object_get(row, "instructions"), 0, json_real(great[i]));
        json_array_set_new(json_object_get(row, "vmruns"), 0, json_real(great[i]));
        text = text_of(comparison);
        page = nl_compare_html(comparison);
        assert_readable(text);
        assert_readable(page);
        assert_null(strstr(text, "inf"));
    }
}

/* Halves and differences of what a document may hold can be more than a double holds; a row that is
   left out would read as nothing that changed. */
static void test_rows_beyond_a_double(void **state)
{
    json_t *a = document("a"), *b = document("b"), *base, *new;
    cleanup_json json_t *comparison = NULL;
    cleanup_free char *text = NULL, *csv = NULL;
    const json_t *row;
    double great[20];

    (void)state;
    fill(great, 20, DBL_MAX, 0);
    add_benchmark(a, 1, "cpuid", "ns", great, 20);
    add_benchmark(b, 1, "cpuid", "ns", great, 20);
    add_metered(a, 1, 100, 1, 100, 0, 0);
    add_metered(b, 1, 150, 1, 100, 0, 0);
    base = json_array_get(json_object_get(layer_of(a, 1), "metered"), 0);
    new = json_array_get(json_object_get(layer_of(b, 1), "metered"), 0);
    json_object_set_new(base, "total", json_real(-DBL_MAX));
    json_object_set_new(new, "total", json_real(DBL_MAX));
    json_array_set_new(json_object_get(base, "instructions"), 0, json_real(DBL_MAX));
    json_array_set_new(json_object_get(new, "instructions"), 0, json_real(-DBL_MAX));
    comparison = compare(a, b, &plain);
    row = json_array_get(json_object_get(comparison, "times"), 0);
    assert_true(nl_dig_number(row, "base.median", 0) == DBL_MAX);
    row = json_array_get(json_object_get(comparison, "metered"), 0);
    assert_true(nl_dig_number(row, "difference", 0) == DBL_MAX);
    assert_int_equal(json_array_size(nl_dig(row, "instructions")), 2);
    text = text_of(comparison);
    csv = nl_compare_csv(comparison);
    assert_readable(text);
    assert_null(strstr(text, "inf"));
    assert_null(strstr(csv, "inf"));
}

static json_t *document_of_many(const char *id, size_t n)
{
    static const double samples[] = {1, 2, 3};
    json_t *made = document(id);

    for (size_t i = 0; i < n; i++) {
        char name[32];

        snprintf(name, sizeof(name), "benchmark-%zu", i);
        add_benchmark(made, 1, name, "ns", samples, 3);
    }
    return made;
}

/* Looking each one up in a list takes its time a million times over. */
static void test_many_benchmarks(void **state)
{
    enum { MANY = 10000 };
    cleanup_json json_t *comparison = NULL;
    clock_t begun = clock();

    (void)state;
    comparison = compare(document_of_many("a", MANY), document_of_many("b", MANY), &plain);
    assert_int_equal(json_array_size(json_object_get(comparison, "times")), MANY);
    if ((double)(clock() - begun) / CLOCKS_PER_SEC > 20)
        fail_msg("%.1f s", (double)(clock() - begun) / CLOCKS_PER_SEC);
}

/* What a table cannot say of itself is below it: in the text, whose lines wrap, and on the page. */
static void test_notes(void **state)
{
    json_t *a = document("a"), *b = document("b"), *disturbed;
    cleanup_json json_t *comparison = NULL;
    cleanup_free char *text = NULL, *page = NULL, *note = NULL;
    double samples[20];

    (void)state;
    fill(samples, 20, 100, 1);
    add_benchmark(a, 1, "cpuid", "ns", samples, 20);
    add_benchmark(b, 1, "cpuid", "ns", samples, 20);
    add_metered(a, 1, 100, 1, 100, 0, 0);
    add_metered(b, 1, 150, 1, 100, 0, 0);
    disturbed = json_array_get(json_object_get(layer_of(b, 1), "metered"), 0);
    json_object_set_new(disturbed, "undisturbed", json_integer(0));
    comparison = compare(a, b, &plain);
    text = text_of(comparison);
    page = nl_compare_html(comparison);
    assert_non_null(strstr(text, "\n  The factor is the median of all ratios of a new to a base"));
    assert_non_null(strstr(page, NL_COMPARE_FACTOR_NOTE));
    assert_non_null(strstr(text, "\n  1 row is not judged: in some run no operation was"));
    assert_non_null(strstr(page, "1 row is not judged: in some run no operation was undisturbed."));
    json_object_set_new(json_array_get(json_object_get(comparison, "metered"), 0), "verdict",
                        json_string("unchanged"));
    note = nl_compare_counted_note(comparison, "without a verdict");
    assert_string_equal(note,
                        "A difference without a verdict is within what the benchmark is known "
                        "to repeat within, or within the range of its operations.");
}

static int set_up(void **state)
{
    cleanup_json json_t *file = json_load_file(NL_SOURCE "/tests/fixtures/samples.json", 0, NULL);

    (void)state;
    real_series = json_incref(json_object_get(file, "series"));
    return real_series && mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    json_decref(real_series);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_against_a),
        cmocka_unit_test(test_a_against_a_of_runs),
        cmocka_unit_test(test_a_against_b),
        cmocka_unit_test(test_single_runs_only_differ),
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_dependent_samples),
        cmocka_unit_test(test_metered),
        cmocka_unit_test(test_mark_of_what_does_not_agree),
        cmocka_unit_test(test_metered_that_may_not_repeat),
        cmocka_unit_test(test_metered_sets),
        cmocka_unit_test(test_not_comparable),
        cmocka_unit_test(test_other_version),
        cmocka_unit_test(test_subjects),
        cmocka_unit_test(test_extra_exits_are_named),
        cmocka_unit_test(test_nothing_in_common),
        cmocka_unit_test(test_command),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_depth),
        cmocka_unit_test(test_html),
        cmocka_unit_test(test_great_figures),
        cmocka_unit_test(test_rows_beyond_a_double),
        cmocka_unit_test(test_many_benchmarks),
        cmocka_unit_test(test_notes),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
