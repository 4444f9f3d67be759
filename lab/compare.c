/*
 * compare.c - what changed between two sets of runs: see compare.h.
 */
#include "compare.h"
#include "comparable.h"
#include "compare-hints.h"
#include "compare-metered.h"
#include "compare-only.h"
#include "compare-runs.h"
#include "dig.h"
#include "rank-test.h"
#include "slowdown.h"
#include "stability.h"

#include <math.h>
#include <string.h>

/* The observations of one side: medians of runs, or samples of all runs. */
struct side {
    double *numbers;
    size_t n;
    size_t runs;
    double dependence; /* of samples: the most that any run shows */
    bool unstable;     /* some run's series is */
};

static void set_real(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, isfinite(value) ? json_real(value) : json_null());
}

static size_t count_runs(const json_t *index, size_t layer, const char *name)
{
    size_t runs = 0;

    for (size_t i = 0; i < json_array_size(index); i++)
        runs +=
            json_array_size(json_object_get(nl_compare_find(index, i, layer, name), "samples")) > 0;
    return runs;
}

static void add_run(struct side *side, const double *samples, size_t n, bool medians)
{
    struct nl_summary summary = nl_summarize(samples, n);
    struct nl_stability stability = nl_stability(samples, n, &summary);
    double *bigger = realloc(side->numbers, (side->n + n) * sizeof(*bigger));

    if (!bigger)
        return;
    side->numbers = bigger;
    side->runs++;
    side->unstable |= stability.wide || stability.drifts || stability.autocorrelated;
    if (medians) {
        side->numbers[side->n++] = summary.median;
        return;
    }
    memcpy(side->numbers + side->n, samples, n * sizeof(*samples));
    side->n += n;
    side->dependence = fmax(side->dependence, nl_dependence(&stability));
}

static struct side collect(const json_t *index, size_t layer, const char *name, bool medians)
{
    struct side side = {.dependence = 1};

    for (size_t i = 0; i < json_array_size(index); i++) {
        const json_t *found = nl_compare_find(index, i, layer, name);
        cleanup_free double *samples = NULL;
        size_t n = nl_benchmark_samples(found, &samples);

        if (n == 0)
            continue;
        add_run(&side, samples, n, medians);
        side.unstable |= nl_dig(found, "short_batch") != NULL;
    }
    return side;
}

static json_t *side_json(const struct side *side)
{
    struct nl_summary summary = nl_summarize(side->numbers, side->n);
    json_t *json = json_pack("{s:i, s:i}", "runs", (int)side->runs, "n", (int)side->n);

    set_real(json, "median", summary.median);
    set_real(json, "mad", summary.mad);
    json_object_set_new(json, "unstable", json_boolean(side->unstable));
    return json;
}

/* A ratio above 1 means worse, also where more is better. */
static json_t *row(const json_t *benchmark, const char *layer, const struct side *base,
                   const struct side *new, bool medians, double alpha)
{
    bool rate = nl_benchmark_is_rate(benchmark);
    const struct side *bottom = rate ? new : base, *top = rate ? base : new;
    double dependence = fmax(base->dependence, new->dependence);
    struct nl_rank_test test =
        nl_rank_test(base->numbers, base->n, new->numbers, new->n, dependence);
    struct nl_ratio ratio =
        nl_rank_ratio(bottom->numbers, bottom->n, top->numbers, top->n, alpha, dependence);
    json_t *json = json_pack("{s:s, s:s, s:s, s:b, s:s, s:o, s:o, s:b}", "benchmark",
                             nl_dig_string(benchmark, "name", "?"), "layer", layer, "unit",
                             nl_dig_string(benchmark, "unit", ""), "higher_is_worse", !rate,
                             "observations", medians ? "runs" : "samples", "base", side_json(base),
                             "new", side_json(new), "exact_p", test.exact);

    set_real(json, "dependence", dependence);
    set_real(json, "p", test.p);
    set_real(json, "ratio", ratio.value);
    set_real(json, "low", ratio.interval.low);
    set_real(json, "high", ratio.interval.high);
    set_real(json, "least_p", nl_rank_test_least_p(base->n, new->n));
    return json;
}

/* The benchmark NAME at layer K of the first run that has it. */
static const json_t *first_of(const json_t *base, const json_t *new, size_t k, const char *name)
{
    const json_t *sides[] = {base, new};
    const json_t *found = NULL;

    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < json_array_size(sides[side]) && !found; i++)
            found = nl_compare_find(sides[side], i, k, name);
    return found;
}

/* The benchmark NAME at layer K: a row, or what only one side has. */
static void add_row(json_t *rows, json_t *only, const json_t *base, const json_t *new, size_t k,
                    const char *name, double alpha)
{
    bool medians = count_runs(base, k, name) >= NL_COMPARE_RUNS_MIN &&
                   count_runs(new, k, name) >= NL_COMPARE_RUNS_MIN;
    struct side before = collect(base, k, name, medians);
    struct side after = collect(new, k, name, medians);
    const json_t *benchmark = first_of(base, new, k, name);
    const char *unit = nl_dig_string(benchmark, "unit", "");
    char layer[24];

    snprintf(layer, sizeof(layer), "L%zu", k);
    if (before.n > 0 && after.n > 0)
        json_array_append_new(rows, row(benchmark, layer, &before, &after, medians, alpha));
    else if (before.n > 0)
        nl_compare_only_add(only, "base", "time", name, unit, k, side_json(&before));
    else if (after.n > 0)
        nl_compare_only_add(only, "new", "time", name, unit, k, side_json(&after));
    free(before.numbers);
    free(after.numbers);
}

/* Changed is what the whole table's alpha allows to call so; the ratio's interval then says by how
   much at least. Samples only say that these runs differ: how much runs differ that nothing was
   changed between is not in them. */
static void judge(json_t *row, double p_holm, const struct nl_compare_options *options)
{
    double low = nl_dig_number(row, "low", NAN), high = nl_dig_number(row, "high", NAN);
    const char *verdict = "unchanged";

    if (isnan(low) || isnan(high))
        verdict = "not judged";
    else if (nl_dig_is(row, "observations", "samples"))
        verdict = p_holm <= options->alpha && (low > 1 || high < 1) ? "differs" : "unchanged";
    else if (p_holm <= options->alpha && low > 1)
        verdict = "worse";
    else if (p_holm <= options->alpha && high < 1)
        verdict = "better";
    set_real(row, "p_holm", p_holm);
    json_object_set_new(row, "verdict", json_string(verdict));
    json_object_set_new(row, "failed",
                        json_boolean(strcmp(verdict, "worse") == 0 && !isnan(options->fail_above) &&
                                     low > 1 + options->fail_above / 100));
}

static int compare_times(const struct nl_document_set *base, const struct nl_document_set *new,
                         const struct nl_compare_options *options, json_t *only, json_t **result,
                         struct nl_error **err)
{
    cleanup_json json_t *names = nl_compare_names(base, new, "benchmarks");
    cleanup_json json_t *before = nl_compare_index(base, "benchmarks");
    cleanup_json json_t *after = nl_compare_index(new, "benchmarks");
    cleanup_json json_t *rows = json_array();
    cleanup_free double *p = NULL;
    size_t i, depth = nl_compare_depth(base, new);
    json_t *name, *each;

    json_array_foreach(names, i, name)
    {
        for (size_t k = 0; k < depth; k++)
            add_row(rows, only, before, after, k, json_string_value(name), options->alpha);
    }
    p = calloc(json_array_size(rows) + 1, sizeof(*p));
    if (!p)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    json_array_foreach(rows, i, each) p[i] = nl_dig_number(each, "p", 1);
    nl_holm(p, json_array_size(rows));
    json_array_foreach(rows, i, each) judge(each, p[i], options);
    *result = nl_steal(&rows);
    return 0;
}

static int refuse(const json_t *obstacles, struct nl_error **err)
{
    const json_t *first = json_array_get(obstacles, 0);
    const char *layer = nl_dig_string(first, "layer", NULL);
    size_t more = json_array_size(obstacles) - 1;
    char others[64] = "";

    if (more > 0)
        snprintf(others, sizeof(others), "; and %zu more %s", more,
                 more > 1 ? "differences" : "difference");
    nl_fail(err, NL_EXIT_REQUEST, "not comparable: %s%s%s: %s, but %s in %s%s", layer ? layer : "",
            layer ? ": " : "", nl_dig_string(first, "what", "?"),
            nl_dig_string(first, "reference", "not known"),
            nl_dig_string(first, "other", "not known"), nl_dig_string(first, "run", "?"), others);
    return nl_hint(err, "--force compares all the same, and lists what differs");
}

static void look_at_all(const struct nl_document_set *set, const json_t *reference,
                        json_t *obstacles, json_t *differences)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->documents[i] != reference)
            nl_comparable(reference, set->documents[i], obstacles, differences);
}

static size_t count(const json_t *rows, const char *key, const json_t *value)
{
    size_t i, n = 0;
    json_t *row;

    json_array_foreach(rows, i, row) n += json_equal(json_object_get(row, key), value);
    return n;
}

static void sum_up_only(json_t *sum, const json_t *only)
{
    static const char *const lists[] = {"only_in_base", "only_in_new"};
    cleanup_json json_t *yes = json_true();

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        json_object_set_new(
            sum, lists[i],
            json_integer((json_int_t)json_array_size(json_object_get(only, lists[i]))));
    json_object_set_new(
        sum, "lost",
        json_integer((json_int_t)count(json_object_get(only, "only_in_base"), "lost", yes)));
}

static json_t *sum_up(const json_t *times, const json_t *metered, const json_t *only,
                      const json_t *runs)
{
    static const char *const verdicts[] = {"worse", "better", "differs", "unchanged", "not judged"};
    json_t *sum = json_object();
    cleanup_json json_t *yes = json_true();
    cleanup_json json_t *interrupted = json_string("interrupted");
    json_int_t failed;

    for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
        cleanup_json json_t *verdict = json_string(verdicts[i]);
        size_t n = count(times, "verdict", verdict) + count(metered, "verdict", verdict);

        json_object_set_new(sum, verdicts[i], json_integer((json_int_t)n));
    }
    failed = (json_int_t)count(times, "failed", yes);
    failed += (json_int_t)count(metered, "failed", yes);
    json_object_set_new(sum, "failed", json_integer(failed));
    json_object_set_new(sum, "new_failures",
                        json_integer((json_int_t)count(runs, "new_failure", yes)));
    json_object_set_new(sum, "interrupted",
                        json_integer((json_int_t)count(runs, "status", interrupted)));
    sum_up_only(sum, only);
    return sum;
}

/* What the others are compared with: of a run that failed much is not known. */
static const json_t *choose_reference(const struct nl_document_set *base)
{
    for (size_t i = 0; i < base->n; i++)
        if (!nl_dig(base->documents[i], "failure"))
            return base->documents[i];
    return base->documents[0];
}

bool nl_compare_has_rows(const json_t *comparison)
{
    return json_array_size(json_object_get(comparison, "times")) > 0 ||
           json_array_size(json_object_get(comparison, "metered")) > 0;
}

/* A run that failed is a result also if it measured nothing, and so is what was lost. */
static int check_rows(const json_t *comparison, const struct nl_document_set *base,
                      const struct nl_document_set *new, struct nl_error **err)
{
    cleanup_free char *other_kind = NULL;

    if (nl_compare_has_rows(comparison) || nl_compare_runs_failed(comparison) > 0 ||
        nl_dig_integer(comparison, "sum.lost", 0) > 0)
        return 0;
    other_kind = nl_compare_other_kind(base, new);
    nl_fail(err, NL_EXIT_REQUEST, "%s and %s measured nothing in common",
            nl_dig_string(json_array_get(json_object_get(comparison, "base"), 0), "path", "?"),
            nl_dig_string(json_array_get(json_object_get(comparison, "new"), 0), "path", "?"));
    return nl_hint(err, "%s",
                   other_kind
                       ? other_kind
                       : "run a scenario with benchmarks, such as slowdown.json, or --meter");
}

int nl_compare(const struct nl_document_set *base, const struct nl_document_set *new,
               const struct nl_compare_options *options, json_t **comparison, struct nl_error **err)
{
    const json_t *reference = choose_reference(base);
    cleanup_json json_t *obstacles = json_array();
    cleanup_json json_t *differences = json_array();
    cleanup_json json_t *runs = nl_compare_runs(new, base);
    cleanup_json json_t *only = nl_compare_only_new();
    cleanup_json json_t *times = NULL;
    cleanup_json json_t *metered = NULL;
    cleanup_json json_t *made = NULL;

    look_at_all(base, reference, obstacles, differences);
    look_at_all(new, reference, obstacles, differences);
    if (json_array_size(obstacles) > 0 && !options->force)
        return refuse(obstacles, err);
    if (compare_times(base, new, options, only, &times, err) < 0)
        return -1;
    metered = nl_compare_metered(base, new, options, only);
    nl_compare_only_explain(only, new);
    made = json_pack("{s:{s:s}, s:o, s:O, s:f, s:o, s:O, s:O, s:O, s:O, s:o}", "nestlab", "version",
                     NL_VERSION, "base", nl_compare_runs(base, NULL), "new", runs, "alpha",
                     options->alpha, "fail_above",
                     isnan(options->fail_above) ? json_null() : json_real(options->fail_above),
                     "not_comparable", obstacles, "differs", differences, "times", times, "metered",
                     metered, "sum", sum_up(times, metered, only, runs));
    if (!made || json_object_update(made, only) < 0 ||
        json_object_set_new(made, "hints", nl_compare_hints(base, new)) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (check_rows(made, base, new, err) < 0)
        return -1;
    *comparison = nl_steal(&made);
    return 0;
}

int nl_compare_status(const json_t *comparison)
{
    if (!nl_dig(comparison, "fail_above"))
        return NL_EXIT_PASSED;
    if (nl_dig_integer(comparison, "sum.failed", 0) > 0 ||
        nl_dig_integer(comparison, "sum.new_failures", 0) > 0 ||
        nl_dig_integer(comparison, "sum.lost", 0) > 0)
        return NL_EXIT_CHECK_FAILED;
    return nl_compare_has_rows(comparison) && nl_dig_integer(comparison, "sum.interrupted", 0) == 0
               ? NL_EXIT_PASSED
               : NL_EXIT_REQUEST;
}
