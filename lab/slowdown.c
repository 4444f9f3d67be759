/*
 * slowdown.c - what each layer costs: see slowdown.h.
 */
#include "slowdown.h"
#include "cleanup.h"
#include "dig.h"
#include "stability.h"
#include "stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A document that nobody vouches for may hold a billion samples. */
#define SAMPLES_MAX 100000

/* Units in which more is better, for a benchmark that does not say it. */
static const char *const rates[] = {"MB/s", "MiB/s", "GB/s", "GiB/s", "B/s", "ops/s", "1/s"};

struct series {
    const char *layer;
    double *samples;
    size_t n;
    struct nl_summary summary;
    struct nl_stability stability;
    bool short_batch; /* as the agent says: too short for the clock */
    double batch_ns;
};

bool nl_benchmark_is_rate(const json_t *benchmark)
{
    const json_t *higher_is_better = nl_dig(benchmark, "higher_is_better");
    const char *unit = nl_dig_string(benchmark, "unit", "");

    if (json_is_boolean(higher_is_better))
        return json_is_true(higher_is_better);
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
        if (strcmp(rates[i], unit) == 0)
            return true;
    return false;
}

/* Of one name at a layer there may be several with different units. */
static char *key_of(const char *name, const char *unit)
{
    char *key = NULL;

    return asprintf(&key, "%s\n%s", name, unit) < 0 ? NULL : key;
}

/* For each layer an object: a benchmark by name and unit, the first where there are more. */
static json_t *index_benchmarks(const json_t *document)
{
    json_t *index = json_array();
    size_t i, k;
    json_t *layer, *benchmark;

    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        json_t *of_layer = json_object();

        json_array_foreach(json_object_get(layer, "benchmarks"), k, benchmark)
        {
            const char *name = nl_dig_string(benchmark, "name", NULL);
            const char *unit = nl_dig_string(benchmark, "unit", NULL);
            cleanup_free char *key = name && unit ? key_of(name, unit) : NULL;

            if (key && !json_object_get(of_layer, key))
                json_object_set(of_layer, key, benchmark);
        }
        json_array_append_new(index, of_layer);
    }
    return index;
}

size_t nl_benchmark_samples(const json_t *benchmark, double **samples)
{
    const json_t *all = json_object_get(benchmark, "samples");
    size_t size = json_array_size(all);
    size_t i, n = 0;
    json_t *sample;

    size = size > SAMPLES_MAX ? SAMPLES_MAX : size;
    *samples = calloc(size ? size : 1, sizeof(double));
    json_array_foreach(all, i, sample)
    {
        if (*samples && n < size && json_is_number(sample))
            (*samples)[n++] = json_number_value(sample);
    }
    return n;
}

static void read_series(const json_t *layer, const json_t *benchmark, struct series *series)
{
    *series = (struct series){.layer = nl_dig_string(layer, "name", "?"),
                              .short_batch = nl_dig(benchmark, "short_batch"),
                              .batch_ns = nl_dig_number(benchmark, "batch_ns", NAN)};
    series->n = nl_benchmark_samples(benchmark, &series->samples);
    if (series->n == 0)
        return;
    series->summary = nl_summarize(series->samples, series->n);
    series->stability = nl_stability(series->samples, series->n, &series->summary);
}

/* Absent where it is no number: JSON has no NAN, and null says "not known". */
static void set_real(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, isfinite(value) ? json_real(value) : json_null());
}

static bool is_unstable(const struct series *series)
{
    const struct nl_stability *stability = &series->stability;

    return stability->wide || stability->drifts || stability->autocorrelated || series->short_batch;
}

static json_t *why_unstable(const struct series *series)
{
    const struct nl_stability *stability = &series->stability;
    const struct {
        bool is;
        const char *name;
    } reasons[] = {
        {stability->wide, "wide"},
        {stability->drifts, "drifts"},
        {stability->autocorrelated, "autocorrelated"},
        {series->short_batch, "short batch"},
    };
    json_t *why = json_array();

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].is)
            json_array_append_new(why, json_string(reasons[i].name));
    return why;
}

static json_t *ratio_json(const struct series *layer, const struct series *base, bool rate)
{
    const struct series *top = rate ? base : layer;
    const struct series *bottom = rate ? layer : base;
    struct nl_ratio ratio;
    json_t *json;

    if (!base || base->n == 0)
        return json_null();
    ratio = nl_ratio_of_medians(top->samples, top->n, bottom->samples, bottom->n);
    if (!isfinite(ratio.value))
        return json_null();
    json = json_object();
    set_real(json, "ratio", ratio.value);
    set_real(json, "low", ratio.interval.low);
    set_real(json, "high", ratio.interval.high);
    json_object_set_new(json, "unstable",
                        json_boolean(ratio.unstable || is_unstable(top) || is_unstable(bottom)));
    return json;
}

static json_t *layer_json(const struct series *series, const struct series *l0,
                          const struct series *below, bool rate)
{
    const struct nl_summary *summary = &series->summary;
    json_t *json = json_pack("{s:s, s:I}", "layer", series->layer, "n", (json_int_t)summary->n);

    set_real(json, "median", summary->median);
    set_real(json, "mad", summary->mad);
    set_real(json, "low", summary->interval.low);
    set_real(json, "high", summary->interval.high);
    if (isfinite(series->batch_ns))
        set_real(json, "batch_ns", series->batch_ns);
    set_real(json, "lag1", series->stability.lag1);
    set_real(json, "drift", series->stability.drift);
    json_object_set_new(json, "unstable", json_boolean(is_unstable(series)));
    json_object_set_new(json, "why_unstable", why_unstable(series));
    json_object_set_new(json, "to_l0", ratio_json(series, l0, rate));
    json_object_set_new(json, "to_below", ratio_json(series, below, rate));
    return json;
}

/* One benchmark through all layers; NULL if no layer has samples of it. */
static json_t *benchmark_json(const json_t *document, const json_t *index, const json_t *benchmark)
{
    const char *name = nl_dig_string(benchmark, "name", "");
    const char *unit = nl_dig_string(benchmark, "unit", "");
    bool rate = nl_benchmark_is_rate(benchmark);
    const json_t *layers = json_object_get(document, "layers");
    size_t n = json_array_size(layers);
    struct series *all = calloc(n ? n : 1, sizeof(*all));
    cleanup_free char *key = key_of(name, unit);
    cleanup_json json_t *elements = json_array();

    for (size_t i = 0; all && i < n; i++) {
        const json_t *layer = json_array_get(layers, i);

        read_series(layer, key ? json_object_get(json_array_get(index, i), key) : NULL, &all[i]);
        if (all[i].n > 0)
            json_array_append_new(elements, layer_json(&all[i], i > 0 ? &all[0] : NULL,
                                                       i > 0 ? &all[i - 1] : NULL, rate));
    }
    for (size_t i = 0; all && i < n; i++)
        free(all[i].samples);
    free(all);
    if (json_array_size(elements) == 0)
        return NULL;
    return json_pack("{s:s, s:s, s:b, s:O}", "benchmark", name, "unit", unit, "higher_is_worse",
                     !rate, "layers", elements);
}

json_t *nl_slowdown(const json_t *document)
{
    cleanup_json json_t *seen = json_object();
    cleanup_json json_t *index = index_benchmarks(document);
    json_t *slowdown = json_array();
    size_t i, k;
    json_t *layer, *benchmark;

    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        json_array_foreach(json_object_get(layer, "benchmarks"), k, benchmark)
        {
            const char *name = nl_dig_string(benchmark, "name", NULL);
            json_t *entry;

            if (!name || json_object_get(seen, name))
                continue;
            json_object_set_new(seen, name, json_true());
            entry = benchmark_json(document, index, benchmark);
            if (entry)
                json_array_append_new(slowdown, entry);
        }
    }
    return slowdown;
}
