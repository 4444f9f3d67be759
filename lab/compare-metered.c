/*
 * compare-metered.c - what changed in counted instructions: see compare-metered.h.
 */
#include "compare-metered.h"
#include "compare-only.h"
#include "dig.h"
#include "rank-test.h"
#include "scenario.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A count that so many of the undisturbed operations agree on is the operation's; with fewer, any
   of the undisturbed may come out on top the next time. */
#define AGREE 0.9

/* Those of DOCUMENT that are not in SEEN. */
static void add_names(json_t *names, json_t *seen, const json_t *document, const char *key)
{
    size_t i, k;
    json_t *layer, *benchmark;

    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        json_array_foreach(json_object_get(layer, key), k, benchmark)
        {
            const char *name = nl_dig_string(benchmark, "name", NULL);

            if (!name || json_object_get(seen, name))
                continue;
            json_object_set_new(seen, name, json_true());
            json_array_append_new(names, json_string(name));
        }
    }
}

json_t *nl_compare_names(const struct nl_document_set *base, const struct nl_document_set *new,
                         const char *key)
{
    cleanup_json json_t *seen = json_object();
    json_t *names = json_array();

    for (size_t i = 0; i < base->n; i++)
        add_names(names, seen, base->documents[i], key);
    for (size_t i = 0; i < new->n; i++)
        add_names(names, seen, new->documents[i], key);
    return names;
}

/* A document that nobody vouches for may name more layers than a scenario can. */
static size_t depth_of(const struct nl_document_set *set, size_t most)
{
    for (size_t i = 0; i < set->n; i++) {
        size_t n = json_array_size(json_object_get(set->documents[i], "layers"));

        most = n > most ? n : most;
    }
    return most > NL_LAYERS_MAX ? NL_LAYERS_MAX : most;
}

size_t nl_compare_depth(const struct nl_document_set *base, const struct nl_document_set *new)
{
    return depth_of(new, depth_of(base, 0));
}

json_t *nl_compare_index(const struct nl_document_set *set, const char *key)
{
    json_t *index = json_array();

    for (size_t run = 0; run < set->n; run++) {
        json_t *layers = json_array();
        size_t i;
        json_t *layer;

        json_array_foreach(json_object_get(set->documents[run], "layers"), i, layer)
        {
            if (i < NL_LAYERS_MAX)
                json_array_append_new(layers, nl_dig_by_name(json_object_get(layer, key)));
        }
        json_array_append_new(index, layers);
    }
    return index;
}

const json_t *nl_compare_find(const json_t *index, size_t run, size_t layer, const char *name)
{
    const json_t *found = json_object_get(json_array_get(json_array_get(index, run), layer), name);

    return nl_dig(found, "skipped") ? NULL : found;
}

/* What the runs of one side counted. */
struct side {
    size_t n;
    const json_t *middle; /* the run of the (lower) median total: its counts add up */
    double total;         /* of that run */
    double *totals;       /* of all */
    double low;
    double high;   /* between which the operation's count is, in all runs */
    bool judgable; /* every run has undisturbed operations */
    bool exact;    /* and nearly all of them agree */
    /* What boots are known to be equal within, a part of the count; INFINITY: nothing is known. */
    double repeats;
};

bool nl_compare_agrees(const json_t *metered)
{
    return nl_dig_is(metered, "estimate", "mode") &&
           nl_dig_number(metered, "agreeing", 0) >=
               AGREE * nl_dig_number(metered, "undisturbed", 0);
}

static void add(struct side *side, const json_t *metered)
{
    double undisturbed = nl_dig_number(metered, "undisturbed", 0);
    bool agree = nl_compare_agrees(metered);
    double total = nl_dig_number(metered, "total", 0);

    side->judgable = (side->n == 0 || side->judgable) && undisturbed > 0;
    side->exact = (side->n == 0 || side->exact) && agree;
    side->low =
        fmin(side->n ? side->low : INFINITY, agree ? total : nl_dig_number(metered, "low", total));
    side->high = fmax(side->n ? side->high : -INFINITY,
                      agree ? total : nl_dig_number(metered, "high", total));
    side->repeats = fmax(side->n ? side->repeats : 0, nl_dig_number(metered, "repeats", INFINITY));
    side->n++;
}

/* The run whose total has as many below it as above. */
static void find_middle(struct side *side, const json_t **runs)
{
    for (size_t i = 0; i < side->n; i++) {
        double total = nl_dig_number(runs[i], "total", 0);
        size_t below = 0, equal = 0;

        for (size_t k = 0; k < side->n; k++) {
            below += nl_dig_number(runs[k], "total", 0) < total;
            equal += nl_dig_number(runs[k], "total", 0) == total;
        }
        if (below <= (side->n - 1) / 2 && (side->n - 1) / 2 < below + equal) {
            side->middle = runs[i];
            side->total = total;
            return;
        }
    }
}

static struct side collect(const json_t *index, size_t layer, const char *name)
{
    size_t n = json_array_size(index);
    cleanup_free const json_t **runs = calloc(n ? n : 1, sizeof(*runs));
    struct side side = {0};

    side.totals = calloc(n ? n : 1, sizeof(*side.totals));
    /* A row that is left out would read as nothing that changed. */
    if (!runs || !side.totals)
        abort();
    for (size_t i = 0; i < n; i++) {
        const json_t *metered = nl_compare_find(index, i, layer, name);

        if (!metered || !nl_dig(metered, "total"))
            continue;
        runs[side.n] = metered;
        side.totals[side.n] = nl_dig_number(metered, "total", 0);
        add(&side, metered);
    }
    if (side.n > 0)
        find_middle(&side, runs);
    return side;
}

static json_t *side_json(const struct side *side)
{
    json_t *json = json_pack("{s:i, s:f, s:f, s:f}", "runs", (int)side->n, "total", side->total,
                             "low", side->low, "high", side->high);
    static const char *const keys[] = {"instructions", "vmruns"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        json_object_set_new(json, keys[i], json_deep_copy(nl_dig(side->middle, keys[i])));
    return json;
}

/* Of figures that nobody vouches for a difference may be more than a double holds, for which JSON
   has no number: the row would be lost. */
static json_t *real_within(double value)
{
    return json_real(fmin(fmax(value, -DBL_MAX), DBL_MAX));
}

/* NEW - BASE of the numbers in KEY, by layer. */
static json_t *by_layer(const json_t *base, const json_t *new, const char *key)
{
    const json_t *before = nl_dig(base, key), *after = nl_dig(new, key);
    size_t n = json_array_size(before), m = json_array_size(after);
    json_t *difference = json_array();

    n = n > m ? n : m;
    for (size_t i = 0; i < n && i < NL_LAYERS_MAX; i++)
        json_array_append_new(difference,
                              real_within(json_number_value(json_array_get(after, i)) -
                                          json_number_value(json_array_get(before, i))));
    return difference;
}

/* What the two sides may differ by for another reason than a change: a part of the count. */
static double allowance(const struct side *base, const struct side *new)
{
    return fmax(base->repeats, new->repeats);
}

/* As far as these runs go; judge_unknown() has the last word. */
static const char *verdict(const struct side *base, const struct side *new)
{
    double allowed = allowance(base, new);

    if (!base->judgable || !new->judgable)
        return "not judged";
    allowed = isinf(allowed) ? 1 : 1 + allowed;
    if (new->low > base->high * allowed)
        return "worse";
    return new->high *allowed < base->low ? "better" : "unchanged";
}

static json_t *row(const char *name, const char *layer, const struct side *base,
                   const struct side *new, const struct nl_compare_options *options)
{
    const char *word = verdict(base, new);
    /* Of what is sure: the least that it got worse by. */
    bool failed = strcmp(word, "worse") == 0 && !isnan(options->fail_above) &&
                  new->low > base->high + base->high * options->fail_above / 100;
    json_t *json = json_pack("{s:s, s:s, s:o, s:o, s:o, s:b, s:s, s:b}", "benchmark", name, "layer",
                             layer, "base", side_json(base), "new", side_json(new), "difference",
                             real_within(new->total - base->total), "exact",
                             base->exact && new->exact, "verdict", word, "failed", failed);

    json_object_set_new(json, "repeats",
                        isinf(allowance(base, new)) ? json_null()
                                                    : json_real(allowance(base, new)));
    json_object_set_new(
        json, "p",
        isinf(allowance(base, new))
            ? json_real(nl_rank_test(base->totals, base->n, new->totals, new->n, 1).p)
            : json_null());
    json_object_set_new(json, "ratio",
                        base->total > 0 ? real_within(new->total / base->total) : json_null());
    json_object_set_new(json, "instructions", by_layer(base->middle, new->middle, "instructions"));
    json_object_set_new(json, "vmruns", by_layer(base->middle, new->middle, "vmruns"));
    return json;
}

/* Of few runs on a side a large alpha makes anything of. */
static bool has_runs(const json_t *row)
{
    return nl_dig_integer(row, "base.runs", 0) >= NL_COMPARE_RUNS_MIN &&
           nl_dig_integer(row, "new.runs", 0) >= NL_COMPARE_RUNS_MIN;
}

static void demote(json_t *row)
{
    json_object_set_new(row, "verdict", json_string("differs"));
    json_object_set_new(row, "failed", json_false());
}

/* A count that is the same in thousands of operations of one boot may be another one after the next
   boot. Where the benchmark is not known to repeat, it takes several runs on both sides to see that
   chance is not the reason: all p of such rows are corrected for each other. */
static void judge_unknown(json_t *rows, double alpha)
{
    cleanup_free double *p = calloc(json_array_size(rows) + 1, sizeof(*p));
    size_t i, n = 0;
    json_t *row;

    if (!p)
        abort();
    json_array_foreach(rows, i, row) if (nl_dig(row, "p")) p[n++] = nl_dig_number(row, "p", 1);
    nl_holm(p, n);
    n = 0;
    json_array_foreach(rows, i, row)
    {
        bool changed = nl_dig_is(row, "verdict", "worse") || nl_dig_is(row, "verdict", "better");
        bool tested = nl_dig(row, "p");

        json_object_set_new(row, "p_holm", tested ? json_real(p[n]) : json_null());
        if (!tested || !changed)
            n += tested;
        else if (p[n++] > alpha || !has_runs(row))
            demote(row);
    }
}

/* The benchmark NAME at layer K: a row, or what only one side has. */
static void add_row(json_t *rows, json_t *only, const json_t *base, const json_t *new, size_t k,
                    const char *name, const struct nl_compare_options *options)
{
    struct side before = collect(base, k, name), after = collect(new, k, name);
    char layer[24];

    snprintf(layer, sizeof(layer), "L%zu", k);
    if (before.n > 0 && after.n > 0)
        json_array_append_new(rows, row(name, layer, &before, &after, options));
    else if (before.n > 0)
        nl_compare_only_add(only, "base", "metered", name, "instructions", k, side_json(&before));
    else if (after.n > 0)
        nl_compare_only_add(only, "new", "metered", name, "instructions", k, side_json(&after));
    free(before.totals);
    free(after.totals);
}

json_t *nl_compare_metered(const struct nl_document_set *base, const struct nl_document_set *new,
                           const struct nl_compare_options *options, json_t *only)
{
    cleanup_json json_t *names = nl_compare_names(base, new, "metered");
    cleanup_json json_t *before = nl_compare_index(base, "metered");
    cleanup_json json_t *after = nl_compare_index(new, "metered");
    json_t *rows = json_array();
    size_t i, depth = nl_compare_depth(base, new);
    json_t *name;

    json_array_foreach(names, i, name)
    {
        for (size_t k = 0; k < depth; k++)
            add_row(rows, only, before, after, k, json_string_value(name), options);
    }
    judge_unknown(rows, options->alpha);
    return rows;
}
