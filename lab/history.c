/*
 * history.c - trends of figures, and where they changed: see history.h.
 */
#include "history.h"
#include "change-point.h"
#include "comparable.h"
#include "dig.h"
#include "history-figures.h"
#include "history-lanes.h"
#include "rank-test.h"
#include "stats.h"

#include <math.h>
#include <string.h>

/* What differs between the runs around a change, at most. */
#define DIFFERENCES_MAX 20

struct series {
    json_t *json;    /* the element of "series" */
    double *numbers; /* its values, in order */
    size_t n;
    bool exact;       /* counts of operations that agree, known to repeat from boot to boot */
    double allowance; /* but for this part of them */
    bool tested;
    struct nl_change_point first;
    double p_holm;
};

static void set_real(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, isfinite(value) ? json_real(value) : json_null());
}

static int read_numbers(struct series *series, struct nl_error **err)
{
    const json_t *points = json_object_get(series->json, "points");
    size_t i;
    json_t *point;

    series->n = json_array_size(points);
    series->numbers = calloc(series->n ? series->n : 1, sizeof(double));
    if (!series->numbers)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    series->exact = nl_figure_is_count(series->json);
    json_array_foreach(points, i, point)
    {
        double repeats = nl_dig_number(point, "repeats", NAN);

        series->numbers[i] = nl_dig_number(point, "value", 0);
        series->exact &= nl_dig_true(point, "exact") && repeats >= 0;
        series->allowance = fmax(series->allowance, repeats);
    }
    return 0;
}

/* Between which the counts of a level are. */
struct level {
    double low;
    double high;
};

/* Is NUMBER of LEVEL? All of a level are equal within what is allowed: a count that creeps leaves
   it. */
static bool joins(struct level *level, double number, double allowance)
{
    double low = fmin(level->low, number), high = fmax(level->high, number);

    if (low != high && !(high <= low * (1 + allowance)))
        return false;
    *level = (struct level){low, high};
    return true;
}

/* So many from AT on are of one level. */
static size_t level_length(const struct series *series, size_t at, struct level *level)
{
    size_t end = at;

    *level = (struct level){series->numbers[at], series->numbers[at]};
    while (end < series->n && joins(level, series->numbers[end], series->allowance))
        end++;
    return end - at;
}

/* A count that repeats has changed where it differs from those before it. One that comes to another
   number every few runs does not repeat, whatever is known of it. */
static bool repeats(const struct series *series)
{
    struct level level;
    size_t levels = 0;

    if (!series->exact || series->n < NL_CHANGE_LEVEL_MIN)
        return false;
    for (size_t at = 0; at < series->n; at += level_length(series, at, &level))
        levels++;
    return levels * NL_CHANGE_LEVEL_MIN <= series->n || levels == 1;
}

static double part_median(const struct series *series, size_t from, size_t end)
{
    return nl_median(series->numbers + from, end - from);
}

/* What else is different. The place of a change is known to a few runs only, unless it is a count
   that repeats: AROUND runs on both sides are taken to be near it. */
static json_t *differences(const json_t *runs, const struct series *series, size_t from, size_t at,
                           size_t end, size_t around)
{
    const json_t *points = json_object_get(series->json, "points");
    const size_t places[2] = {at - from > around ? at - around : from,
                              end - at > around ? at + around - 1 : end - 1};
    cleanup_json json_t *obstacles = json_array();
    json_t *found = json_array();
    const json_t *excerpts[2];

    for (size_t i = 0; i < 2; i++) {
        json_int_t run = nl_dig_integer(json_array_get(points, places[i]), "run", 0);

        excerpts[i] = nl_dig(json_array_get(runs, (size_t)run), "excerpt");
    }
    nl_comparable(excerpts[0], excerpts[1], obstacles, found);
    while (json_array_size(found) > DIFFERENCES_MAX)
        json_array_remove(found, json_array_size(found) - 1);
    return found;
}

static const char *verdict(const json_t *series, double before, double after)
{
    if (before == after)
        return "differs";
    return (after > before) == !nl_dig_true(series, "rate") ? "worse" : "better";
}

/* FROM and END bound what is compared: from the change before to the one after. P NAN: no chance is
   involved. */
static void add_change(const json_t *runs, struct series *series, size_t from, size_t at,
                       size_t end, double p)
{
    json_t *point = json_array_get(json_object_get(series->json, "points"), at);
    double before = part_median(series, from, at), after = part_median(series, at, end);
    bool rate = nl_dig_true(series->json, "rate");
    double ratio = before > 0 && after > 0 ? (rate ? before / after : after / before) : NAN;
    json_t *change = json_pack(
        "{s:I, s:O, s:f, s:f, s:s, s:s, s:o}", "point", (json_int_t)at, "run",
        json_object_get(point, "run"), "before", before, "after", after, "verdict",
        verdict(series->json, before, after), "how", isnan(p) ? "exact" : "ranks", "differs",
        differences(runs, series, from, at, end, isnan(p) ? 1 : NL_CHANGE_LEVEL_MIN));

    set_real(change, "ratio", ratio);
    set_real(change, "p", p);
    json_array_append_new(json_object_get(series->json, "changes"), change);
}

/* The latest of N changes; the first level begins with point FROM. */
static void add_changes(const json_t *runs, struct series *series, size_t from,
                        const struct nl_change_point *changes, size_t n)
{
    size_t left_out = n > NL_HISTORY_CHANGES_MAX ? n - NL_HISTORY_CHANGES_MAX : 0;

    if (left_out > 0)
        from = changes[left_out - 1].at;
    json_object_set_new(series->json, "from", json_integer((json_int_t)from));
    json_object_set_new(series->json, "left_out", json_integer((json_int_t)left_out));
    for (size_t i = left_out; i < n; i++)
        add_change(runs, series, i > left_out ? changes[i - 1].at : from, changes[i].at,
                   i + 1 < n ? changes[i + 1].at : series->n, changes[i].p);
}

/* A level is what three runs have in a row, or the newest ones: what differs in fewer is odd, and
   the level goes on after it. CHANGES has room for all. */
static void mark_exact(const json_t *runs, struct series *series, struct nl_change_point *changes)
{
    struct level level = {NAN, NAN}, next;
    size_t from = 0, n = 0;

    json_object_set_new(series->json, "judged", json_string("exact"));
    for (size_t at = 0, length = 1; at < series->n; at += length) {
        bool newest;

        length = 1;
        if (!isnan(level.low) && joins(&level, series->numbers[at], series->allowance))
            continue;
        length = level_length(series, at, &next);
        newest = !isnan(level.low) && at + length == series->n;
        if (length < NL_CHANGE_LEVEL_MIN && !newest) {
            length = 1;
            continue;
        }
        if (isnan(level.low))
            from = at;
        else
            changes[n++] = (struct nl_change_point){at, NAN};
        level = next;
    }
    add_changes(runs, series, from, changes, n);
}

static void mark_tested(const json_t *runs, struct series *series, double alpha,
                        struct nl_change_point *changes)
{
    double weight = series->first.p > 0 ? series->p_holm / series->first.p : 1;
    size_t n = nl_change_points(series->numbers, series->n, series->first, weight, alpha, changes,
                                series->n);

    json_object_set_new(series->json, "judged", json_string("ranks"));
    set_real(series->json, "p", series->first.p);
    set_real(series->json, "p_holm", series->p_holm);
    add_changes(runs, series, 0, changes, n);
}

/* Holm's family are all series that could be called changed at all, whatever their numbers. */
static int correct(struct series *all, size_t n, struct nl_error **err)
{
    cleanup_free double *p = calloc(n ? n : 1, sizeof(*p));
    size_t used = 0;

    if (!p)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    for (size_t i = 0; i < n; i++)
        if (all[i].tested)
            p[used++] = all[i].first.p;
    nl_holm(p, used);
    used = 0;
    for (size_t i = 0; i < n; i++)
        if (all[i].tested)
            all[i].p_holm = p[used++];
    return 0;
}

static int judge(const json_t *runs, struct series *series, double alpha, struct nl_error **err)
{
    cleanup_free struct nl_change_point *changes =
        calloc(series->n ? series->n : 1, sizeof(*changes));

    if (!changes)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (series->tested)
        mark_tested(runs, series, alpha, changes);
    else if (repeats(series))
        mark_exact(runs, series, changes);
    else
        json_object_set_new(series->json, "judged", json_string("too few runs"));
    return 0;
}

static int find_changes(const json_t *runs, const json_t *list, double alpha, struct nl_error **err)
{
    size_t n = json_array_size(list), i;
    struct series *all = calloc(n ? n : 1, sizeof(*all));
    double family = 0;
    int rc = 0;

    if (!all)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    for (i = 0; rc == 0 && i < n; i++) {
        all[i].json = json_array_get(list, i);
        json_object_set_new(all[i].json, "changes", json_array());
        rc = read_numbers(&all[i], err);
        if (rc < 0)
            break;
        all[i].tested = !repeats(&all[i]) && nl_change_point_least_p(all[i].n) <= alpha;
        family += all[i].tested;
    }
    for (i = 0; rc == 0 && i < n; i++)
        if (all[i].tested)
            all[i].first = nl_change_point(all[i].numbers, all[i].n, alpha / family);
    if (rc == 0)
        rc = correct(all, n, err);
    for (i = 0; rc == 0 && i < n; i++)
        rc = judge(runs, &all[i], alpha, err);
    for (i = 0; i < n; i++)
        free(all[i].numbers);
    free(all);
    return rc;
}

static bool wanted(const json_t *series, const struct nl_history_options *options)
{
    if (options->at && !nl_dig_is(series, "layer", options->at))
        return false;
    for (const char *const *name = options->names; name && *name; name++)
        if (nl_dig_is(series, "name", *name))
            return true;
    return !options->names || !*options->names;
}

static json_t *filtered(const json_t *loaded, const struct nl_history_options *options)
{
    json_t *kept = json_array();
    size_t i;
    json_t *series;

    json_array_foreach(json_object_get(loaded, "series"), i, series)
    {
        if (wanted(series, options))
            json_array_append(kept, series);
    }
    return kept;
}

static json_t *describe_runs(const json_t *runs)
{
    json_t *described = json_array();
    size_t i;
    json_t *run;

    json_array_foreach(runs, i, run)
    {
        json_t *copy = json_copy(run);

        json_object_del(copy, "excerpt");
        json_array_append_new(described, copy);
    }
    return described;
}

static json_t *sum_up(const json_t *list)
{
    json_int_t judged = 0, changed = 0, worse = 0, better = 0, differs = 0, left_out = 0;
    size_t i, k;
    json_t *series, *change;

    json_array_foreach(list, i, series)
    {
        judged += !nl_dig_is(series, "judged", "too few runs");
        changed += json_array_size(json_object_get(series, "changes")) > 0;
        left_out += nl_dig_integer(series, "left_out", 0);
        json_array_foreach(json_object_get(series, "changes"), k, change)
        {
            worse += nl_dig_is(change, "verdict", "worse");
            better += nl_dig_is(change, "verdict", "better");
            differs += nl_dig_is(change, "verdict", "differs");
        }
    }
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "series",
                     (json_int_t)json_array_size(list), "judged", judged, "changed", changed,
                     "worse", worse, "better", better, "differs", differs, "left_out", left_out);
}

static int nothing_left(const json_t *loaded, const struct nl_history_options *options,
                        struct nl_error **err)
{
    if (json_array_size(json_object_get(loaded, "runs")) == 0) {
        nl_fail(err, NL_EXIT_REQUEST, "the history is empty");
        return nl_hint(err, "name documents, or folders of runs, after it: they are added");
    }
    nl_fail(err, NL_EXIT_REQUEST, "no run has figures of %s%s%s",
            options->names && options->names[0] ? options->names[0] : "anything",
            options->at ? " at " : "", options->at ? options->at : "");
    return nl_hint(err, "without --benchmark and --at everything is shown");
}

int nl_history(const json_t *loaded, const struct nl_history_options *options, json_t **history,
               struct nl_error **err)
{
    const json_t *runs = json_object_get(loaded, "runs");
    cleanup_json json_t *kept = filtered(loaded, options);
    cleanup_json json_t *lanes = NULL;
    cleanup_json json_t *series = NULL;

    if (json_array_size(kept) == 0)
        return nothing_left(loaded, options, err);
    if (nl_history_lanes(runs, kept, &lanes, &series, err) < 0 ||
        find_changes(runs, series, options->alpha, err) < 0)
        return -1;
    *history = json_pack("{s:{s:s}, s:f, s:o, s:O, s:O, s:o}", "nestlab", "version", NL_VERSION,
                         "alpha", options->alpha, "runs", describe_runs(runs), "lanes", lanes,
                         "series", series, "sum", sum_up(series));
    return *history ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
}
