/*
 * test-history.c - trends over many runs: what changed is marked where it did, nothing is marked
 * where nothing did, and runs that mean different things are kept apart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cmd.h"
#include "command.h"
#include "dig.h"
#include "history-runs.h"
#include "history-store.h"
#include "history-words.h"
#include "history.h"

#include <libxml/parser.h>
#include <string.h>
#include <sys/stat.h>

#define RUNS 30
#define ARGS_MAX 6

static char folder[] = "/tmp/nl-test-history-XXXXXX";
static char database[64];
static uint64_t seed = 1;

static const struct run plain = {0, "6.1", "host", 1000, 0, 4, 0};
static const struct nl_history_options all = {0.05, NULL, NULL};

/* A few per cent up or down. */
static double scatter(void)
{
    return 1 + 0.05 * ((double)(nl_random(&seed) % 2001) / 1000 - 1);
}

static json_t *history_of(const struct run *runs, size_t n,
                          const struct nl_history_options *options)
{
    cleanup_history struct nl_history_store *store = NULL;
    cleanup_error struct nl_error *err = NULL;
    cleanup_json json_t *loaded = NULL;
    json_t *history = NULL;

    unlink(database);
    if (nl_history_open(folder, true, &store, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    for (size_t i = 0; i < n; i++) {
        cleanup_json json_t *document = run_document(&runs[i], &seed);
        bool added;

        if (nl_history_add(store, document, &added, &err) < 0)
            fail_msg("%s", nl_error_message(err));
    }
    if (nl_history_load(store, 1000, &loaded, &err) < 0 ||
        nl_history(loaded, options, &history, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    return history;
}

static void fill(struct run *runs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        runs[i] = plain;
        runs[i].day = (int)i;
        runs[i].cpuid *= scatter();
        runs[i].create *= scatter();
    }
}

static const json_t *find(const json_t *history, const char *kind, const char *layer, size_t lane)
{
    size_t i;
    json_t *series;

    json_array_foreach(json_object_get(history, "series"), i, series)
    {
        if (nl_dig_is(series, "kind", kind) && nl_dig_is(series, "layer", layer) &&
            (size_t)nl_dig_integer(series, "lane", 0) == lane)
            return series;
    }
    fail_msg("no %s at %s in lane %zu", kind, layer, lane);
    return NULL;
}

static const json_t *only_change(const json_t *series)
{
    const json_t *changes = json_object_get(series, "changes");

    assert_int_equal(json_array_size(changes), 1);
    return json_array_get(changes, 0);
}

/* What the store would load: SERIES series over N runs, whose values are around 100 by chance. */
static json_t *by_chance(size_t series, size_t n)
{
    json_t *runs = json_array(), *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(runs,
                              json_pack("{s:o, s:s, s:{s:[]}}", "id", json_sprintf("run-%zu", i),
                                        "started", "2026-11-30T10:15:00Z", "excerpt", "layers"));
    for (size_t k = 0; k < series; k++) {
        json_t *points = json_array();

        for (size_t i = 0; i < n; i++)
            json_array_append_new(points,
                                  json_pack("{s:i, s:f}", "run", (int)i, "value", 100 * scatter()));
        json_array_append_new(list, json_pack("{s:s, s:o, s:s, s:s, s:s, s:o}", "kind", "time",
                                              "name", json_sprintf("b-%zu", k), "layer", "L1",
                                              "unit", "ns", "terms", "", "points", points));
    }
    return json_pack("{s:o, s:o}", "runs", runs, "series", list);
}

/* 200 histories of 20 series each: what differs from run to run by chance is no change, but in 5 %,
   and with as many histories never would be too good. */
static void test_nothing_changed(void **state)
{
    int alarms = 0;

    (void)state;
    for (int draw = 0; draw < 200; draw++) {
        cleanup_json json_t *loaded = by_chance(20, RUNS);
        cleanup_json json_t *history = NULL;

        assert_int_equal(nl_history(loaded, &all, &history, NULL), 0);
        assert_int_equal(nl_dig_integer(history, "sum.judged", 0), 20);
        alarms += nl_dig_integer(history, "sum.changed", 0) > 0;
    }
    assert_in_range(alarms, 1, 18);
}

/* A new kernel in L1, with which cpuid takes a fifth longer, and a phase is quicker from then on.
 */
static void test_changed(void **state)
{
    struct run runs[RUNS];
    cleanup_json json_t *history = NULL;
    const json_t *change, *differs;

    (void)state;
    fill(runs, RUNS);
    for (size_t i = 18; i < RUNS; i++) {
        runs[i].kernel = "6.9";
        runs[i].cpuid *= 1.2;
        runs[i].create *= 0.5;
    }
    history = history_of(runs, RUNS, &all);
    change = only_change(find(history, "time", "L1", 0));
    assert_int_equal(nl_dig_integer(change, "point", 0), 18);
    assert_int_equal(nl_dig_integer(change, "run", 0), 18);
    assert_true(nl_dig_is(change, "verdict", "worse"));
    assert_true(nl_dig_is(change, "how", "ranks"));
    assert_true(nl_dig_number(change, "ratio", 0) > 1.15 &&
                nl_dig_number(change, "ratio", 0) < 1.25);
    assert_true(nl_dig_number(change, "p", 1) <= 0.05);
    differs = json_object_get(change, "differs");
    assert_int_equal(json_array_size(differs), 1);
    assert_true(nl_dig_is(json_array_get(differs, 0), "what", "kernel"));
    assert_true(nl_dig_is(json_array_get(differs, 0), "layer", "L1"));
    assert_true(nl_dig_is(json_array_get(differs, 0), "reference", "6.1"));
    change = only_change(find(history, "phase", "L1", 0));
    assert_true(nl_dig_is(change, "verdict", "better"));
    assert_int_equal(json_array_size(json_object_get(find(history, "time", "L0", 0), "changes")),
                     0);
    assert_int_equal(nl_dig_integer(history, "sum.worse", 0), 1);
    assert_int_equal(nl_dig_integer(history, "sum.better", 0), 1);
}

/* A count that repeats needs no test: the first run that differs is marked. One that does not
   repeat is tested like a time. */
static void test_counts(void **state)
{
    struct run runs[RUNS];
    cleanup_json json_t *steady = NULL;
    cleanup_json json_t *restless = NULL;
    const json_t *series, *change;

    (void)state;
    fill(runs, RUNS);
    for (size_t i = 0; i < RUNS; i++) {
        runs[i].count = i < RUNS - 1 ? 3220 + (int)(i % 2) : 3226;
        runs[i].repeats = 0.0005;
    }
    steady = history_of(runs, RUNS, &all);
    change = only_change(find(steady, "instructions", "L1", 1));
    assert_int_equal(nl_dig_integer(change, "point", 0), RUNS - 1);
    assert_true(nl_dig_is(change, "how", "exact"));
    assert_null(nl_dig(change, "p"));
    assert_true(nl_dig_is(change, "verdict", "worse"));
    series = find(steady, "vmruns", "L1", 1);
    assert_true(nl_dig_is(series, "judged", "exact"));
    assert_int_equal(json_array_size(json_object_get(series, "changes")), 0);
    for (size_t i = 0; i < RUNS; i++)
        runs[i].count = 3220 + (int)(nl_random(&seed) % 50);
    restless = history_of(runs, RUNS, &all);
    series = find(restless, "instructions", "L1", 1);
    assert_true(nl_dig_is(series, "judged", "ranks"));
    assert_int_equal(json_array_size(json_object_get(series, "changes")), 0);
}

/* Runs of another processor are no change, but a lane of their own, wherever they come in time;
   their counts are the same. */
static void test_lanes(void **state)
{
    struct run runs[RUNS];
    cleanup_json json_t *history = NULL;
    const json_t *lane, *apart;
    size_t n = 0, i;
    json_t *each;

    (void)state;
    fill(runs, RUNS);
    for (i = 0; i < RUNS; i++) {
        runs[i].count = 3220;
        runs[i].repeats = 0.0005;
        if (i % 3 == 1) {
            runs[i].cpu = "faster";
            runs[i].cpuid *= 0.3;
        }
    }
    history = history_of(runs, RUNS, &all);
    assert_int_equal(nl_dig_integer(history, "sum.changed", 9), 0);
    json_array_foreach(json_object_get(history, "lanes"), i, each) n +=
        nl_dig_is(each, "of", "times");
    assert_int_equal(n, 2);
    assert_int_equal(json_array_size(json_object_get(history, "lanes")), 3);
    lane = json_array_get(json_object_get(history, "lanes"), 2);
    assert_true(nl_dig_is(lane, "of", "times"));
    assert_int_equal(nl_dig_integer(lane, "runs", 0), 10);
    apart = json_array_get(json_object_get(lane, "apart"), 0);
    assert_true(nl_dig_is(apart, "what", "this machine's processor"));
    assert_true(nl_dig_is(apart, "other", "faster"));
    assert_int_equal(json_array_size(json_object_get(find(history, "time", "L1", 0), "points")),
                     20);
    assert_int_equal(
        json_array_size(json_object_get(find(history, "instructions", "L1", 1), "points")), RUNS);
}

/* The series of a benchmark's instructions at L1, in the lane that begins with count FIRST. */
static const json_t *find_count(const json_t *history, const char *name, double first)
{
    size_t i;
    json_t *series;

    json_array_foreach(json_object_get(history, "series"), i, series)
    {
        const json_t *point = json_array_get(json_object_get(series, "points"), 0);

        if (nl_dig_is(series, "kind", "instructions") && nl_dig_is(series, "name", name) &&
            nl_dig_is(series, "layer", "L1") && nl_dig_number(point, "value", 0) == first)
            return series;
    }
    fail_msg("no %s that begins with %g", name, first);
    return NULL;
}

/* Ten runs of a real stack on a busy machine. Its L0 took one clock source or the other as it
   booted, which costs 1104 instructions in an access to PCI's configuration: two lanes of counts,
   and nothing that changed. Nothing in them says that any count repeats. */
static void test_real_runs(void **state)
{
    cleanup_json json_t *file = json_load_file(NL_SOURCE "/tests/fixtures/history.json", 0, NULL);
    cleanup_history struct nl_history_store *store = NULL;
    cleanup_json json_t *loaded = NULL;
    cleanup_json json_t *history = NULL;
    size_t i;
    json_t *document;

    (void)state;
    unlink(database);
    assert_int_equal(nl_history_open(folder, true, &store, NULL), 0);
    json_array_foreach(json_object_get(file, "documents"), i, document)
    {
        bool added;

        assert_int_equal(nl_history_add(store, document, &added, NULL), 0);
        assert_true(added);
    }
    assert_int_equal(i, 10);
    assert_int_equal(nl_history_load(store, 1000, &loaded, NULL), 0);
    assert_int_equal(nl_history(loaded, &all, &history, NULL), 0);
    assert_int_equal(json_array_size(json_object_get(history, "lanes")), 4);
    assert_int_equal(nl_dig_integer(history, "sum.changed", 9), 0);
    assert_int_equal(
        json_array_size(json_object_get(find_count(history, "pci-config", 15889), "points")), 6);
    assert_int_equal(
        json_array_size(json_object_get(find_count(history, "pci-config", 14786), "points")), 4);
    assert_true(nl_dig_is(find_count(history, "pci-config", 15889), "judged", "too few runs"));
}

/* Nine runs that nothing was changed between: counts that one boot repeats, and the next does not,
   are no change. What is known to repeat is judged by that. */
static void test_clean_runs(void **state)
{
    cleanup_json json_t *file =
        json_load_file(NL_SOURCE "/tests/fixtures/clean-runs.json", 0, NULL);
    cleanup_history struct nl_history_store *store = NULL;
    cleanup_json json_t *loaded = NULL;
    cleanup_json json_t *history = NULL;
    size_t i, exact = 0;
    json_t *run, *series;

    (void)state;
    unlink(database);
    assert_int_equal(nl_history_open(folder, true, &store, NULL), 0);
    json_array_foreach(json_object_get(file, "runs"), i, run)
    {
        cleanup_json json_t *document = json_pack(
            "{s:{s:O, s:o, s:{s:s}}, s:{s:s}, s:O, s:{s:s}}", "run", "id",
            json_object_get(run, "id"), "started", json_sprintf("2026-11-30T10:%02zu:00Z", i), "l0",
            "taken", "emulated", "scenario", "name", "clean", "layers",
            json_object_get(run, "layers"), "verdict", "status", "passed");
        bool added;

        assert_int_equal(nl_history_add(store, document, &added, NULL), 0);
    }
    assert_int_equal(i, 9);
    assert_int_equal(nl_history_load(store, 1000, &loaded, NULL), 0);
    assert_int_equal(nl_history(loaded, &all, &history, NULL), 0);
    assert_int_equal(nl_dig_integer(history, "sum.changed", 9), 0);
    json_array_foreach(json_object_get(history, "series"), i, series) exact +=
        nl_dig_is(series, "judged", "exact");
    /* cpuid, syscall and page-touch at three layers, instructions and VMRUNs; but of cpuid at
       L2 too few operations of one run agree. */
    assert_int_equal(exact, 16);
}

/* Counts that are known to repeat, one letter a run: where a level begins that has three runs, or
   the newest, and nowhere else. */
static void test_levels(void **state)
{
    static const struct {
        const char *runs;
        size_t n;
        size_t at[2];
        int last;
    } known[] = {
        {"AAAAAABAA", 0, {0}, 0},         {"AAAAAABAAA", 0, {0}, 0},
        {"AAAAAAAAB", 1, {8}, 'B'},       {"AAAAAAABB", 1, {7}, 'B'},
        {"AAAABBBBB", 1, {4}, 'B'},       {"BAAAAAAAA", 0, {0}, 0},
        {"AAAABAAACCC", 0, {0}, 0},       {"AAAAAABAAACCC", 1, {10}, 'C'},
        {"AAAABBBBAAAA", 2, {4, 8}, 'A'}, {"AAAAAAAAABBAAAACCC", 1, {15}, 'C'},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t n = strlen(known[i].runs);
        struct run runs[RUNS];
        cleanup_json json_t *history = NULL;
        const json_t *changes;

        fill(runs, n);
        for (size_t k = 0; k < n; k++) {
            runs[k].count = 1000 * known[i].runs[k];
            runs[k].repeats = 0.0005;
        }
        history = history_of(runs, n, &all);
        changes = json_object_get(find(history, "instructions", "L1", 1), "changes");
        if (json_array_size(changes) != known[i].n)
            fail_msg("%s: %zu changes", known[i].runs, json_array_size(changes));
        for (size_t k = 0; k < known[i].n; k++)
            if ((size_t)nl_dig_integer(json_array_get(changes, k), "point", 0) != known[i].at[k])
                fail_msg("%s: not at %zu", known[i].runs, known[i].at[k]);
        if (known[i].n > 0)
            assert_int_equal(nl_dig_number(json_array_get(changes, known[i].n - 1), "after", 0) /
                                 1000,
                             known[i].last);
    }
}

/* More changes than are listed: the latest are, and how many are left out is said. */
static void test_many_changes(void **state)
{
    enum { MANY = 3 * (NL_HISTORY_CHANGES_MAX + 4) };
    struct run runs[MANY];
    cleanup_json json_t *history = NULL;
    cleanup_free char *sum = NULL;
    cleanup_free char *page = NULL;
    const json_t *series, *changes;

    (void)state;
    fill(runs, MANY);
    for (size_t i = 0; i < MANY; i++) {
        runs[i].count = 1000 * (int)(1 + i / 3);
        runs[i].repeats = 0.0005;
    }
    history = history_of(runs, MANY, &all);
    series = find(history, "instructions", "L1", 1);
    changes = json_object_get(series, "changes");
    assert_int_equal(json_array_size(changes), NL_HISTORY_CHANGES_MAX);
    assert_int_equal(nl_dig_integer(series, "left_out", 0), 3);
    assert_int_equal(nl_dig_integer(series, "from", 0), 9);
    assert_int_equal(nl_dig_integer(json_array_get(changes, 0), "point", 0), 12);
    assert_int_equal(
        nl_dig_integer(json_array_get(changes, NL_HISTORY_CHANGES_MAX - 1), "point", 0), MANY - 3);
    sum = nl_history_sum(history);
    assert_non_null(strstr(sum, "3 earlier changes are left out"));
    page = nl_history_html(history);
    assert_non_null(page);
}

/* Medians that are equal are neither worse nor better, however much the ranks differ. */
static void test_equal_medians(void **state)
{
    cleanup_json json_t *loaded = by_chance(1, RUNS);
    json_t *series = json_array_get(json_object_get(loaded, "series"), 0);
    cleanup_json json_t *history = NULL;
    cleanup_free char *sum = NULL;
    const json_t *change;

    (void)state;
    /* Most are 100: before, the others are less, and after, they are more. */
    for (size_t i = 0; i < RUNS; i++)
        json_object_set_new(json_array_get(json_object_get(series, "points"), i), "value",
                            json_real(100 + (i % 3 == 1 ? (i < RUNS / 2 ? -1.0 : 1.0) : 0)));
    assert_int_equal(nl_history(loaded, &all, &history, NULL), 0);
    change = only_change(find(history, "time", "L1", 0));
    assert_true(nl_dig_is(change, "verdict", "differs"));
    assert_int_equal(nl_dig_integer(history, "sum.better", 9), 0);
    assert_int_equal(nl_dig_integer(history, "sum.differs", 0), 1);
    sum = nl_history_sum(history);
    assert_non_null(strstr(sum, "1 with equal medians"));
}

/* Where no number of runs could tell a change, none is named. */
static void test_hopeless(void **state)
{
    static const struct {
        double alpha;
        const char *says;
    } known[] = {{0.05, "it takes 8 runs"}, {1e-9, "no number of runs will do"}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct nl_history_options options = {known[i].alpha, NULL, NULL};
        cleanup_json json_t *loaded = by_chance(1, 3);
        cleanup_json json_t *history = NULL;
        cleanup_free char *sum = NULL;

        assert_int_equal(nl_history(loaded, &options, &history, NULL), 0);
        sum = nl_history_sum(history);
        assert_non_null(strstr(sum, "None of 1 series can be judged yet"));
        assert_non_null(strstr(sum, "1 of the series is too short"));
        assert_non_null(strstr(sum, known[i].says));
    }
}

/* The index of a run that is none is nobody's. */
static void test_no_such_run(void **state)
{
    cleanup_json json_t *loaded = by_chance(1, 3);
    json_t *series = json_array_get(json_object_get(loaded, "series"), 0);
    cleanup_json json_t *history = NULL;

    (void)state;
    json_object_set_new(json_array_get(json_object_get(series, "points"), 0), "run",
                        json_integer(1000000));
    json_object_set_new(json_array_get(json_object_get(series, "points"), 1), "run",
                        json_integer(-1));
    assert_int_equal(nl_history(loaded, &all, &history, NULL), 0);
    assert_int_equal(json_array_size(json_object_get(find(history, "time", "L1", 0), "points")), 1);
}

static void test_few_runs(void **state)
{
    struct run runs[7];
    cleanup_json json_t *history = NULL;

    (void)state;
    fill(runs, 7);
    for (size_t i = 3; i < 7; i++)
        runs[i].cpuid *= 10;
    history = history_of(runs, 7, &all);
    assert_true(nl_dig_is(find(history, "time", "L1", 0), "judged", "too few runs"));
    assert_int_equal(nl_dig_integer(history, "sum.judged", 9), 0);
}

static void test_filters(void **state)
{
    static const char *const names[] = {"cpuid", NULL};
    static const char *const nothing[] = {"no-such", NULL};
    const struct nl_history_options one = {0.05, names, "L1"};
    const struct nl_history_options none = {0.05, nothing, NULL};
    cleanup_json json_t *history = history_of(&plain, 1, &one);
    cleanup_json json_t *loaded = json_pack("{s:[{}], s:[]}", "runs", "series");
    cleanup_error struct nl_error *err = NULL;
    json_t *nobody = NULL;

    (void)state;
    assert_int_equal(json_array_size(json_object_get(history, "series")), 1);
    assert_true(nl_history(loaded, &none, &nobody, &err) < 0);
    assert_non_null(strstr(nl_error_message(err), "no-such"));
    assert_non_null(nl_error_hint(err));
}

static void test_text_and_csv(void **state)
{
    struct run runs[RUNS];
    cleanup_json json_t *history = NULL;
    cleanup_free char *csv = NULL;
    cleanup_free char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    (void)state;
    fill(runs, RUNS);
    for (size_t i = 26; i < RUNS; i++)
        runs[i].cpuid *= 9;
    runs[0].kernel = "\033[31mred";
    history = history_of(runs, RUNS, &all);
    json_object_set_new(json_array_get(json_object_get(history, "runs"), 26), "id",
                        json_string("run-026\033]0;title\a"));
    json_object_set_new(json_array_get(json_object_get(history, "lanes"), 0), "scenario",
                        json_string("daily\033[2J"));
    nl_history_text(history, out, false);
    fclose(out);
    assert_non_null(strstr(text, "daily\\x1b[2J, L0 to L1: times of 30 runs"));
    assert_non_null(strstr(text, " | "));
    assert_non_null(strstr(text, "Changed with run-026\\x1b]0;title\\x07, 01-27 10:15"));
    assert_non_null(strstr(text, "worse   cpuid at L1: "));
    assert_null(strchr(text, '\033'));
    csv = nl_history_csv(history);
    assert_non_null(strstr(csv, "lane,scenario,layers,metered,kind,name,layer,"));
    assert_non_null(strstr(csv, "2,no,\"time\",\"cpuid\",\"L1\",\"ns\",\"version 1, clock "
                                "CLOCK_MONOTONIC, clock source kvm-clock, vCPUs 1\",\"run-000\","
                                "\"2026-01-01T10:15:00Z\",\"passed\","));
    assert_non_null(strstr(csv, ",20,1,worse\r\n"));
}

/* A page that is XML whatever the documents held, with a plot for each series and no script. */
static void test_html(void **state)
{
    struct run runs[RUNS];
    cleanup_json json_t *history = NULL;
    cleanup_free char *page = NULL;
    xmlDocPtr xml;

    (void)state;
    fill(runs, RUNS);
    for (size_t i = 18; i < RUNS; i++) {
        runs[i].kernel = "6.9<script>alert(1)</script>";
        runs[i].cpuid *= 2;
    }
    history = history_of(runs, RUNS, &all);
    json_object_set_new(json_array_get(json_object_get(history, "series"), 0), "name",
                        json_string("\"><img src=x onerror=y>\n`system`"));
    page = nl_history_html(history);
    assert_non_null(page);
    xml = xmlReadMemory(page, (int)strlen(page), "page", NULL, XML_PARSE_NONET);
    assert_non_null(xml);
    xmlFreeDoc(xml);
    assert_null(strstr(page, "<script"));
    assert_null(strstr(page, "<img"));
    assert_non_null(strstr(page, "Changed with run-018, 01-19 10:15"));
    assert_non_null(strstr(page, "L1: kernel: 6.1 -&gt; 6.9&lt;script&gt;"));
    assert_non_null(strstr(page, "role=\"img\""));
    assert_non_null(strstr(page, "<desc"));
    assert_non_null(strstr(page, ": worse</p>"));
    assert_non_null(strstr(page, "<summary>A row for each series that did not change</summary>"));
}

/* Without ERRORS what is PRINTED begins standard output. */
static int command(const char *const args[ARGS_MAX], const char *printed, bool errors)
{
    char output[80], text[8192] = "";
    const struct command_call call = {nl_cmd_history, "nestlab history", NULL, output, !errors};
    int status;
    FILE *file;

    snprintf(output, sizeof(output), "%s/output", folder);
    status = call_command(&call, args, ARGS_MAX);
    file = fopen(output, "r");
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0 || !*printed);
    fclose(file);
    unlink(output);
    if (errors ? !strstr(text, printed) : strncmp(text, printed, strlen(printed)) != 0)
        fail_msg("\"%s\" is not in:\n%s", printed, text);
    return status;
}

static void test_command(void **state)
{
    static const struct {
        const char *args[ARGS_MAX];
        int status;
        const char *printed;
    } known[] = {
        {{NULL}, 2, "which folder?"},
        {{"h"}, 2, "cannot open h"},
        {{".", "--last", "0"}, 2, "no number from 1"},
        {{".", "--alpha", "0.0001"}, 2, "no number from 0.001"},
        {{"h", "a.json"}, 0, "1 added, 0 there already"},
        {{"h", "runs"}, 0, "1 added, 1 there already"},
        {{"h", "broken.json"}, 2, "broken.json"},
        {{"h", "/nonexistent.json"}, 2, "cannot open /nonexistent.json"},
        {{"h"}, 0, "daily, L0 to L1: times of 2 runs"},
        {{"h", "--at", "L1", "--benchmark", "cpuid"}, 0, "cpuid"},
        {{"h", "--at", "L9"}, 2, "no run has figures of anything at L9"},
        {{"h", "--csv", "out.csv"}, 0, ""},
        {{"h", "--html", "out.html"}, 0, ""},
        {{"h", "--html", "/no/such/folder.html"}, 3, "cannot write"},
        {{"h", "--json"}, 0, "\"series\""},
        {{"h", "--document", "run-001"}, 0, "\"run-001\""},
        {{"h", "--document", "run-00"}, 2, "holds no run run-00"},
        {{"h", "--csv", "/no/such/folder.csv"}, 3, "cannot write"},
        {{"h", "--document", "run-001", "--json"}, 2, "no other option goes with it"},
        {{"h", "--html", "no.html", "--document", "run-001"}, 2, "no other option goes with it"},
        {{"h", "a.json", "--last", "1"}, 0, "times of 1 run"},
        {{"h", "a.json", "--alpha", "0.1"}, 0, "at a level of 10 %"},
    };
    static const char *const shown[][ARGS_MAX] = {{"h", "a.json", "--document", "run-001"},
                                                  {"h", "a.json", "--json"}};
    cleanup_json json_t *a = run_document(&plain, &seed);
    struct run later = plain;
    cleanup_json json_t *b = NULL;

    (void)state;
    later.day = 1;
    b = run_document(&later, &seed);
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(mkdir("runs", 0700), 0);
    assert_int_equal(json_dump_file(a, "a.json", 0) + json_dump_file(a, "runs/a.json", 0) +
                         json_dump_file(b, "runs/b.json", 0) +
                         json_dump_file(json_object_get(b, "run"), "broken.json", 0),
                     0);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        int status = command(known[i].args, known[i].printed, true);

        if (status != known[i].status)
            fail_msg("%s %s: status %d", known[i].args[0], known[i].args[1], status);
    }
    /* Standard output is JSON and nothing else, also where something is added. */
    assert_int_equal(command(shown[0], "{\n", false) + command(shown[1], "{\n", false), 0);
    assert_int_equal(unlink("a.json") + unlink("runs/a.json") + unlink("runs/b.json") +
                         unlink("broken.json") + unlink("out.csv") + unlink("out.html") +
                         unlink("h/history.db"),
                     0);
    assert_int_equal(rmdir("runs") + rmdir("h"), 0);
    assert_int_equal(chdir("/"), 0);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(database, sizeof(database), "%s/" NL_HISTORY_FILE, folder);
    return 0;
}

/* Fails if something is left. */
static int tear_down(void **state)
{
    (void)state;
    unlink(database);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_changed), cmocka_unit_test(test_changed),
        cmocka_unit_test(test_counts),          cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_real_runs),       cmocka_unit_test(test_few_runs),
        cmocka_unit_test(test_clean_runs),      cmocka_unit_test(test_levels),
        cmocka_unit_test(test_many_changes),    cmocka_unit_test(test_equal_medians),
        cmocka_unit_test(test_no_such_run),     cmocka_unit_test(test_hopeless),
        cmocka_unit_test(test_filters),         cmocka_unit_test(test_html),
        cmocka_unit_test(test_text_and_csv),    cmocka_unit_test(test_command),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
