/*
 * history-figures.c - the figures of a run that a history follows: see history-figures.h.
 */
#include "history-figures.h"
#include "comparable.h"
#include "cleanup.h"
#include "compare-metered.h"
#include "dig.h"
#include "scenario.h"
#include "slowdown.h"
#include "stats.h"

#include <math.h>
#include <string.h>

#define NAME_MAX_LENGTH 64 /* scenarios allow no more */
#define TERMS_MAX_LENGTH 400

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static bool fits(const char *text, size_t most)
{
    return text && *text && strlen(text) <= most;
}

/* A figure without its interval, or NULL. */
static json_t *add(json_t *figures, const char *kind, const char *name, const char *layer,
                   const char *unit, double value)
{
    json_t *figure;

    if (!fits(name, NAME_MAX_LENGTH) || !fits(unit, NAME_MAX_LENGTH) || !isfinite(value) ||
        json_array_size(figures) >= NL_FIGURES_MAX)
        return NULL;
    figure = json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:f, s:n, s:n, s:i, s:b, s:n}", "kind", kind,
                       "name", name, "layer", layer, "unit", unit, "terms", "", "rate", 0, "value",
                       value, "low", "high", "n", 1, "exact", 0, "repeats");
    json_array_append_new(figures, figure);
    return figure;
}

/* False if what it depends on is too long to be kept. */
static bool set_terms(json_t *figure, const json_t *benchmark)
{
    cleanup_free char *terms = nl_comparable_benchmark(benchmark);

    if (!terms || strlen(terms) > TERMS_MAX_LENGTH)
        return false;
    json_object_set_new(figure, "terms", json_string(terms));
    return true;
}

static void set_interval(json_t *figure, double low, double high, size_t n)
{
    json_object_set_new(figure, "low", real_or_null(low));
    json_object_set_new(figure, "high", real_or_null(high));
    json_object_set_new(figure, "n", json_integer((json_int_t)n));
}

static void drop_last(json_t *figures)
{
    json_array_remove(figures, json_array_size(figures) - 1);
}

static void add_time(json_t *figures, const char *layer, const json_t *benchmark)
{
    cleanup_free double *samples = NULL;
    size_t n = nl_benchmark_samples(benchmark, &samples);
    struct nl_summary summary;
    json_t *figure;

    if (n == 0 || nl_dig(benchmark, "skipped"))
        return;
    summary = nl_summarize(samples, n);
    figure = add(figures, NL_FIGURE_TIME, nl_dig_string(benchmark, "name", NULL), layer,
                 nl_dig_string(benchmark, "unit", NULL), summary.median);
    if (!figure)
        return;
    set_interval(figure, summary.interval.low, summary.interval.high, n);
    json_object_set_new(figure, "rate", json_boolean(nl_benchmark_is_rate(benchmark)));
    if (!set_terms(figure, benchmark))
        drop_last(figures);
}

static void add_count(json_t *figures, const char *kind, const char *layer, const json_t *metered,
                      double value, double low, double high)
{
    double undisturbed = nl_dig_number(metered, "undisturbed", 0);
    double repeats = nl_dig_number(metered, "repeats", NAN);
    bool exact = undisturbed > 0 && nl_compare_agrees(metered);
    json_t *figure = add(figures, kind, nl_dig_string(metered, "name", NULL), layer,
                         strcmp(kind, NL_FIGURE_VMRUNS) == 0 ? "VMRUNs" : "instructions", value);

    if (!figure)
        return;
    set_interval(figure, low, high, undisturbed > 0 && undisturbed < 1e9 ? (size_t)undisturbed : 0);
    json_object_set_new(figure, "exact", json_boolean(exact));
    json_object_set_new(figure, "repeats", repeats >= 0 ? real_or_null(repeats) : json_null());
    if (!set_terms(figure, metered))
        drop_last(figures);
}

static void add_counts(json_t *figures, const char *layer, const json_t *metered)
{
    if (nl_dig(metered, "skipped") || !nl_dig(metered, "total"))
        return;
    add_count(figures, NL_FIGURE_INSTRUCTIONS, layer, metered, nl_dig_number(metered, "total", NAN),
              nl_dig_number(metered, "low", NAN), nl_dig_number(metered, "high", NAN));
    if (json_array_size(json_object_get(metered, "vmruns")) > 0)
        add_count(figures, NL_FIGURE_VMRUNS, layer, metered,
                  nl_dig_sum(json_object_get(metered, "vmruns")), NAN, NAN);
}

static void add_layers(json_t *figures, const json_t *document)
{
    size_t i, k;
    json_t *layer, *element;

    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        char name[24];

        if (i >= NL_LAYERS_MAX)
            break;
        snprintf(name, sizeof(name), "L%zu", i);
        json_array_foreach(json_object_get(layer, "benchmarks"), k, element)
            add_time(figures, name, element);
        json_array_foreach(json_object_get(layer, "metered"), k, element)
            add_counts(figures, name, element);
    }
}

/* The layer's name by its place, "" for the run; NULL: no layer of this document. */
static const char *layer_of(const json_t *document, const json_t *phase, char name[24])
{
    const char *called = nl_dig_string(phase, "layer", NULL);
    size_t i;
    json_t *layer;

    if (!called)
        return "";
    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        if (i >= NL_LAYERS_MAX || !nl_dig_is(layer, "name", called))
            continue;
        snprintf(name, 24, "L%zu", i);
        return name;
    }
    return NULL;
}

static json_t *find(const json_t *figures, const char *name, const char *layer)
{
    size_t i;
    json_t *figure;

    json_array_foreach(figures, i, figure)
    {
        if (nl_dig_is(figure, "kind", NL_FIGURE_PHASE) && nl_dig_is(figure, "name", name) &&
            nl_dig_is(figure, "layer", layer))
            return figure;
    }
    return NULL;
}

/* A phase that came several times counts as one, with all its seconds. */
static void add_phases(json_t *figures, const json_t *document)
{
    const json_t *phases = json_object_get(document, "phases");
    size_t i;
    json_t *phase;

    json_array_foreach(phases, i, phase)
    {
        char name[24];
        const char *layer = layer_of(document, phase, name);
        const char *what = nl_dig_string(phase, "name", "");
        double seconds = nl_dig_number(phase, "seconds", NAN);
        json_t *before = layer ? find(figures, what, layer) : NULL;

        if (i >= NL_FIGURES_MAX || json_array_size(figures) >= NL_FIGURES_MAX)
            break;
        if (!layer || !isfinite(seconds) || nl_dig_true(phase, "cut_short"))
            continue;
        if (before)
            json_object_set_new(before, "value",
                                json_real(nl_dig_number(before, "value", 0) + seconds));
        else
            add(figures, NL_FIGURE_PHASE, what, layer, "s", seconds);
    }
    add(figures, NL_FIGURE_PHASE, "run", "", "s", nl_dig_number(document, "run.seconds", NAN));
}

json_t *nl_history_figures(const json_t *document)
{
    json_t *figures = json_array();

    add_layers(figures, document);
    if (!nl_dig(document, "failure") && !nl_dig_true(document, "run.interrupted"))
        add_phases(figures, document);
    return figures;
}

bool nl_figure_is_count(const json_t *series)
{
    return nl_dig_is(series, "kind", NL_FIGURE_INSTRUCTIONS) ||
           nl_dig_is(series, "kind", NL_FIGURE_VMRUNS);
}
