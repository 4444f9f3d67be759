/*
 * meter-result.c - what one operation costs, from records of many: see meter-result.h.
 *
 * An interrupt that falls into an operation (a tick, at any layer) adds thousands of instructions,
 * but it also shows: it ends with an IRET more, and mostly with more VMRUNs. So operations are
 * grouped by those witnesses and not by the instructions that they are to explain. Of the groups
 * that are no chance (GROUP_SHARE) the one with the fewest IRETs is undisturbed: an interrupt can
 * only add some. Within it the count that occurs most often is the operation's; docs/measuring.md
 * has the distributions that this was decided by.
 */
#include "meter-result.h"
#include "cleanup.h"
#include "dig.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A group smaller than this part of the operations may be a stray, such as one that needed no page
   fault because another had made the page. */
#define GROUP_SHARE 0.05
#define GROUP_MIN 3

/* Below this part of the group the most frequent count is not typical, and the median is taken. */
#define MODE_SHARE 0.25

struct sample {
    const struct meter_record *record;
    uint64_t total;   /* instructions */
    uint64_t returns; /* IRETs */
    size_t group;     /* operations with the same witnesses, this one included */
    size_t equals;    /* ... and the same instructions at every layer */
};

static int compare_totals(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;

    if (x->total != y->total)
        return x->total < y->total ? -1 : 1;
    /* The order of qsort() is not defined, the figures are to be. */
    return x->record->sequence < y->record->sequence ? -1 : 1;
}

static bool same_witnesses(const struct sample *a, const struct sample *b)
{
    const struct meter_counts *x = &a->record->counts, *y = &b->record->counts;

    return memcmp(x->vmruns, y->vmruns, sizeof(x->vmruns)) == 0 &&
           memcmp(x->returns, y->returns, sizeof(x->returns)) == 0 &&
           memcmp(x->reached, y->reached, sizeof(x->reached)) == 0;
}

static bool same_instructions(const struct sample *a, const struct sample *b)
{
    const struct meter_counts *x = &a->record->counts, *y = &b->record->counts;

    return memcmp(x->instructions, y->instructions, sizeof(x->instructions)) == 0;
}

static void describe(struct sample *sample, const struct meter_record *record)
{
    *sample = (struct sample){.record = record};
    for (size_t i = 0; i < METER_LAYERS; i++) {
        sample->total += record->counts.instructions[i];
        sample->returns += record->counts.returns[i];
    }
}

/* Sorted by total, and how many are alike. */
static struct sample *make_samples(const struct meter_record *records, size_t n)
{
    struct sample *samples = calloc(n ? n : 1, sizeof(*samples));

    if (!samples)
        return NULL;
    for (size_t i = 0; i < n; i++)
        describe(&samples[i], &records[i]);
    qsort(samples, n, sizeof(*samples), compare_totals);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            if (!same_witnesses(&samples[i], &samples[k]))
                continue;
            samples[i].group++;
            samples[i].equals += same_instructions(&samples[i], &samples[k]);
        }
    }
    return samples;
}

/* One of the undisturbed operations; NULL: no group is large enough. */
static const struct sample *undisturbed(const struct sample *samples, size_t n)
{
    const struct sample *best = NULL;

    for (size_t i = 0; i < n; i++) {
        const struct sample *one = &samples[i];

        if (one->group < GROUP_MIN || (double)one->group < GROUP_SHARE * (double)n)
            continue;
        if (!best || one->returns < best->returns ||
            (one->returns == best->returns && one->group > best->group))
            best = one;
    }
    return best;
}

/* The operation that stands for the group of LIKE, or for all where that is NULL. */
static const struct sample *typical(const struct sample *samples, size_t n,
                                    const struct sample *like, const char **estimate)
{
    const struct sample *mode = NULL, *median = NULL;
    size_t seen = 0, size = like ? like->group : n;

    for (size_t i = 0; i < n; i++) {
        if (like && !same_witnesses(&samples[i], like))
            continue;
        if (seen++ == (size - 1) / 2)
            median = &samples[i];
        if (!mode || samples[i].equals > mode->equals)
            mode = &samples[i];
    }
    if (like && (double)mode->equals >= MODE_SHARE * (double)size) {
        *estimate = "mode";
        return mode;
    }
    *estimate = like ? "median" : "median of all";
    return median;
}

static json_t *by_layer(const uint64_t *counts, size_t layers)
{
    json_t *array = json_array();

    for (size_t i = 0; i < layers; i++)
        json_array_append_new(array, json_integer((json_int_t)counts[i]));
    return array;
}

static json_t *exits_json(const struct meter_counts *counts, size_t layers)
{
    json_t *array = json_array();

    for (size_t i = 1; i < layers; i++)
        for (size_t k = 0; k < i; k++)
            if (counts->reached[i][k] > 0)
                json_array_append_new(array,
                                      json_pack("{s:i, s:i, s:I}", "of", (int)i, "reached", (int)k,
                                                "times", (json_int_t)counts->reached[i][k]));
    return array;
}

/* Every operation, in the order they were done: IRETs tell the disturbed ones. */
static json_t *samples_json(const struct meter_record *records, size_t n, size_t layers)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(array,
                              json_pack("{s:o, s:o, s:o}", "instructions",
                                        by_layer(records[i].counts.instructions, layers), "vmruns",
                                        by_layer(records[i].counts.vmruns, layers), "returns",
                                        by_layer(records[i].counts.returns, layers)));
    return array;
}

static void set_figures(json_t *result, const struct sample *samples, size_t n, size_t layers)
{
    const char *estimate;
    const struct sample *like = undisturbed(samples, n);
    const struct sample *one = typical(samples, n, like, &estimate);
    const struct meter_counts *counts = &one->record->counts;
    uint64_t low = UINT64_MAX, high = 0;
    size_t calm = like ? like->group : 0;

    for (size_t i = 0; i < n; i++) {
        if (like && !same_witnesses(&samples[i], like))
            continue;
        low = samples[i].total < low ? samples[i].total : low;
        high = samples[i].total > high ? samples[i].total : high;
    }
    json_object_set_new(result, "estimate", json_string(estimate));
    json_object_set_new(result, "undisturbed", json_integer((json_int_t)calm));
    json_object_set_new(result, "agreeing", json_integer((json_int_t)one->equals));
    json_object_set_new(result, "total", json_integer((json_int_t)one->total));
    json_object_set_new(result, "low", json_integer((json_int_t)low));
    json_object_set_new(result, "high", json_integer((json_int_t)high));
    json_object_set_new(result, "instructions", by_layer(counts->instructions, layers));
    json_object_set_new(result, "vmruns", by_layer(counts->vmruns, layers));
    json_object_set_new(result, "returns", by_layer(counts->returns, layers));
    json_object_set_new(result, "exits", exits_json(counts, layers));
}

/* A layer may run tiny guests of its own, which are no layers of the stack: their instructions are
   part of the operation, too. */
static size_t layers_that_ran(const struct meter_record *records, size_t n, size_t layers)
{
    for (size_t i = 0; i < n; i++)
        while (layers < METER_LAYERS && records[i].counts.instructions[layers] > 0)
            layers++;
    return layers;
}

json_t *nl_meter_result(const json_t *reply, const struct meter_record *records, size_t n,
                        size_t layers)
{
    cleanup_free struct sample *samples = make_samples(records, n);
    const json_t *brief = nl_dig(reply, "short");
    const json_t *skipped = nl_dig(reply, "skipped");
    json_t *result =
        json_pack("{s:s, s:I, s:I, s:I, s:O?, s:O?}", "name", nl_dig_string(reply, "name", "?"),
                  "version", nl_dig_integer(reply, "version", 0), "operations", (json_int_t)n,
                  "warmup", nl_dig_integer(reply, "warmup", 0), "short", brief, "skipped", skipped);

    json_object_set(result, "extra_exits", json_object_get(reply, "extra_exits"));
    json_object_set(result, "repeats", json_object_get(reply, "repeats"));
    if (!samples || !result) {
        json_decref(result);
        return NULL;
    }
    layers = layers_that_ran(records, n, layers);
    if (n > 0)
        set_figures(result, samples, n, layers);
    json_object_set_new(result, "samples", samples_json(records, n, layers));
    return result;
}
