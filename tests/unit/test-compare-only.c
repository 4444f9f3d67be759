/*
 * test-compare-only.c - what only one side measured is told, with the reason, and what was asked
 * for and is gone fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "comparison-text.h"
#include "dig.h"

#include <libxml/parser.h>
#include <string.h>

#define GOOD NL_SOURCE "/tests/fixtures/report.json"

static const struct nl_compare_options strict = {0.05, 5, false};
static const struct nl_compare_options plain = {0.05, NAN, false};

static json_t *load(const char *id)
{
    json_t *document = json_load_file(GOOD, 0, NULL);

    assert_non_null(document);
    json_object_set_new(json_object_get(document, "run"), "id", json_string(id));
    return document;
}

/* Both are consumed. */
static json_t *compare(json_t *base, json_t *new, const struct nl_compare_options *options)
{
    char *path = (char *)"document.json";
    struct nl_document_set a = {&base, &path, 1}, b = {&new, &path, 1};
    json_t *comparison = NULL;

    assert_int_equal(nl_compare(&a, &b, options, &comparison, NULL), 0);
    json_decref(base);
    json_decref(new);
    return comparison;
}

/* The place of NAME in ARRAY. */
static size_t place_of(const json_t *array, const char *name)
{
    size_t i;
    json_t *each;

    json_array_foreach(array, i, each)
    {
        if (nl_dig_is(each, "name", name))
            return i;
    }
    fail_msg("no %s", name);
    return 0;
}

static json_t *results(json_t *document, const char *layer, const char *key)
{
    return json_object_get(nl_dig_layer(document, layer), key);
}

static void lose(json_t *document, const char *layer, const char *key, const char *name)
{
    json_t *array = results(document, layer, key);

    json_array_remove(array, place_of(array, name));
}

static void be_gone(json_t *document)
{
    lose(document, "L1", "benchmarks", "cpuid");
}

static void be_gone_of_all(json_t *document)
{
    be_gone(document);
    json_object_set_new((json_t *)nl_dig(document, "scenario.benchmarks"), "names",
                        json_string("all"));
}

static void be_gone_unknown(json_t *document)
{
    be_gone(document);
    json_object_del(document, "scenario");
}

static void be_skipped(json_t *document)
{
    json_t *array = results(document, "L1", "benchmarks");
    json_t *benchmark = json_array_get(array, place_of(array, "cpuid"));

    json_array_clear(json_object_get(benchmark, "samples"));
    json_object_set_new(benchmark, "skipped", json_string("/dev/kvm: No such file"));
}

static void fail_alone(json_t *document)
{
    json_t *array = results(document, "L1", "benchmarks");

    be_skipped(document);
    json_object_set_new(json_array_get(array, place_of(array, "cpuid")), "skipped",
                        json_string("failed: benchmark \"cpuid\" did not end"));
}

static void not_be_asked(json_t *document)
{
    be_gone(document);
    json_object_set_new((json_t *)nl_dig(document, "scenario.benchmarks"), "names",
                        json_pack("[s]", "syscall"));
}

static void not_be_asked_there(json_t *document)
{
    be_gone(document);
    json_object_set_new((json_t *)nl_dig(document, "scenario.benchmarks"), "layers",
                        json_pack("[s, s]", "L0", "L2"));
}

static void be_interrupted(json_t *document)
{
    be_gone(document);
    json_object_set_new(json_object_get(document, "verdict"), "status", json_string("interrupted"));
}

static void fail_as_expected(json_t *document)
{
    be_gone(document);
    json_object_set_new(document, "failure",
                        json_pack("{s:s, s:s}", "layer", "L1", "phase", "benchmarks"));
}

static void lose_a_count(json_t *document)
{
    lose(document, "L1", "metered", "cpuid");
}

static void lose_a_layer(json_t *document)
{
    json_array_remove(json_object_get(document, "layers"), 2);
    json_array_remove((json_t *)nl_dig(document, "scenario.layers"), 2);
}

/* What happened to new, what is said of it, and whether --fail-above fails it. */
static const struct {
    void (*change)(json_t *document);
    const char *said;
    long lost;
    int status;
} known[] = {
    {be_gone, "L1  times of cpuid: new was asked for it, and has nothing of it", 1, 1},
    {be_gone_of_all, "L1  times of cpuid: new was asked for it, and has nothing of it", 1, 1},
    {be_gone_unknown, "L1  times of cpuid: new was asked for it, and has nothing of it", 1, 1},
    {be_skipped, "L1  times of cpuid: new skipped it: /dev/kvm: No such file", 1, 1},
    {fail_alone, "L1  times of cpuid: it failed in new: benchmark \"cpuid\" did not end", 1, 1},
    {not_be_asked, "L1  times of cpuid: new was not asked for it", 0, 0},
    {not_be_asked_there, "L1  times of cpuid: new was not asked for it", 0, 0},
    {be_interrupted, "L1  times of cpuid: the run of new was interrupted", 0, 2},
    {fail_as_expected, "L1  times of cpuid: the run of new failed before, as its scenario expects",
     0, 0},
    {lose_a_count, "L1  counts of cpuid: new was asked for it, and has nothing of it", 1, 1},
    {lose_a_layer, "L2  times of cpuid, syscall, ", 0, 0},
    {lose_a_layer, ": new has no L2", 0, 0},
};

static void test_only_in_base(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        json_t *new = load("new");
        cleanup_json json_t *comparison = NULL;
        cleanup_free char *text = NULL;

        known[i].change(new);
        comparison = compare(load("good"), new, &strict);
        text = text_of(comparison);
        if (!strstr(text, "\nOnly in base\n") || !strstr(text, known[i].said) ||
            strstr(text, "Only in new") ||
            nl_dig_integer(comparison, "sum.lost", -1) != known[i].lost ||
            nl_compare_status(comparison) != known[i].status ||
            (strstr(text, "1 measurement of the base is missing, which new was asked for") !=
             NULL) != (known[i].lost > 0))
            fail_msg("%zu: %d\n%s", i, nl_compare_status(comparison), text + strlen(text) - 900);
    }
}

static void test_only_in_new(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        json_t *old = load("old");
        cleanup_json json_t *comparison = NULL;
        cleanup_free char *text = NULL;

        known[i].change(old);
        comparison = compare(old, load("new"), &strict);
        text = text_of(comparison);
        assert_non_null(strstr(text, "\nOnly in new\n"));
        assert_null(strstr(text, "Only in base"));
        assert_int_equal(nl_compare_status(comparison), NL_EXIT_PASSED);
        assert_true(nl_dig_integer(comparison, "sum.only_in_new", 0) > 0);
    }
}

/* Where nothing else is in common, too: the comparison is made, and fails. */
static void test_all_is_lost(void **state)
{
    json_t *old = load("old"), *new = load("new");
    cleanup_json json_t *comparison = NULL;

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        json_t *layer = json_array_get(json_object_get(new, "layers"), k);

        json_array_clear(json_object_get(layer, "benchmarks"));
        json_array_clear(json_object_get(layer, "metered"));
    }
    comparison = compare(old, new, &strict);
    assert_int_equal(nl_compare_status(comparison), NL_EXIT_CHECK_FAILED);
}

/* Pages, values for spreadsheets and JSON tell it, too, and with its figures. */
static void test_outputs(void **state)
{
    json_t *new = load("new");
    cleanup_json json_t *comparison = NULL;
    cleanup_free char *page = NULL, *csv = NULL;
    const json_t *first;
    xmlDocPtr xml;

    (void)state;
    be_skipped(new);
    comparison = compare(load("good"), new, &plain);
    first = json_array_get(json_object_get(comparison, "only_in_base"), 0);
    page = nl_compare_html(comparison);
    csv = nl_compare_csv(comparison);
    assert_int_equal(nl_compare_status(comparison), NL_EXIT_PASSED);
    assert_true(nl_dig_is(first, "kind", "time") && nl_dig_is(first, "benchmark", "cpuid") &&
                nl_dig_is(first, "layer", "L1") && nl_dig_is(first, "unit", "ns") &&
                nl_dig_true(first, "lost"));
    assert_true(nl_dig_number(first, "base.median", 0) > 1000);
    xml = xmlReadMemory(page, (int)strlen(page), "page", NULL, XML_PARSE_NONET);
    assert_non_null(xml);
    xmlFreeDoc(xml);
    assert_non_null(strstr(page, ">times of cpuid<"));
    assert_non_null(strstr(page, ">new skipped it: /dev/kvm: No such file<"));
    assert_non_null(strstr(page, "1 only in base"));
    assert_non_null(strstr(csv, "only in base,no\r\n"));
}

/* One of the runs was to measure it and did not: that the others were not asked is no excuse. */
static void test_sets(void **state)
{
    json_t *documents[] = {load("old"), load("a"), load("b")};
    char *paths[] = {(char *)"old", (char *)"a", (char *)"b"};
    struct nl_document_set a = {documents, paths, 1}, b = {documents + 1, paths + 1, 2};
    cleanup_json json_t *comparison = NULL;

    (void)state;
    not_be_asked(documents[1]);
    be_skipped(documents[2]);
    assert_int_equal(nl_compare(&a, &b, &strict, &comparison, NULL), 0);
    assert_int_equal(nl_dig_integer(comparison, "sum.lost", -1), 1);
    for (size_t i = 0; i < 3; i++)
        json_decref(documents[i]);
}

/* By mistake or to try it out: no error, but said. */
static void test_run_against_itself(void **state)
{
    json_t *documents[] = {load("a"), load("b"), load("a"), load("c")};
    char *paths[] = {(char *)"1", (char *)"2", (char *)"3", (char *)"4"};
    struct nl_document_set a = {documents, paths, 2}, b = {documents + 2, paths + 2, 2};
    cleanup_json json_t *one = compare(load("same"), load("same"), &strict);
    cleanup_json json_t *other = compare(load("a"), load("b"), &strict);
    cleanup_json json_t *sets = NULL;
    cleanup_free char *text = text_of(one), *page = nl_compare_html(one);

    (void)state;
    assert_non_null(strstr(text, "hint: both are run same: it cannot differ from itself\n"));
    assert_non_null(strstr(page, "both are run same: it cannot differ from itself"));
    assert_int_equal(nl_compare_status(one), NL_EXIT_PASSED);
    assert_int_equal(json_array_size(json_object_get(other, "hints")), 0);
    assert_int_equal(nl_compare(&a, &b, &strict, &sets, NULL), 0);
    assert_int_equal(json_array_size(json_object_get(sets, "hints")), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(sets, "hints"), 0)),
                        "run a is on both sides: it cannot differ from itself");
    for (size_t i = 0; i < 4; i++)
        json_decref(documents[i]);
}

/* Only KEY is left of what DOCUMENT asked for and measured. */
static json_t *measure_only(json_t *document, const char *key)
{
    bool times = strcmp(key, "benchmarks") == 0;
    size_t i;
    json_t *layer;

    json_array_foreach(json_object_get(document, "layers"), i, layer)
        json_array_clear(json_object_get(layer, times ? "metered" : "benchmarks"));
    json_array_clear((json_t *)nl_dig(document, times ? "scenario.meter.benchmarks"
                                                      : "scenario.benchmarks.names"));
    return document;
}

static void test_times_against_counts(void **state)
{
    json_t *timed = measure_only(load("timed"), "benchmarks");
    json_t *counted = measure_only(load("counted"), "metered");
    char *path = (char *)"document.json";
    struct nl_document_set a = {&timed, &path, 1}, b = {&counted, &path, 1};
    cleanup_error struct nl_error *err = NULL;
    cleanup_json json_t *comparison = NULL;

    (void)state;
    assert_int_equal(nl_compare(&a, &b, &plain, &comparison, &err), -1);
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
    assert_string_equal(nl_error_hint(err),
                        "base measured times and new counted instructions, which cannot be "
                        "compared with each other: run both with --meter, or both without");
    json_decref(timed);
    json_decref(counted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_in_base),
        cmocka_unit_test(test_only_in_new),
        cmocka_unit_test(test_all_is_lost),
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_run_against_itself),
        cmocka_unit_test(test_times_against_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
