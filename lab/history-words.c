/*
 * history-words.c - words for what a history says: see history-words.h.
 */
#include "history-words.h"
#include "change-point.h"
#include "cleanup.h"
#include "dig.h"
#include "figure.h"
#include "history.h"
#include "history-figures.h"
#include "report-text.h"
#include "stats.h"

#include <math.h>
#include <string.h>

static const json_t *run_of(const json_t *history, json_int_t run)
{
    return run < 0 ? NULL : json_array_get(json_object_get(history, "runs"), (size_t)run);
}

struct nl_history_when nl_history_when(const json_t *history, json_int_t run)
{
    const char *started = nl_dig_string(run_of(history, run), "started", "");
    struct nl_history_when when = {"?"};

    if (strlen(started) >= 16)
        snprintf(when.text, sizeof(when.text), "%.5s %.5s", started + 5, started + 11);
    return when;
}

const char *nl_history_run(const json_t *history, json_int_t run)
{
    return nl_dig_string(run_of(history, run), "id", "?");
}

void nl_history_number(char text[32], const json_t *series, double value)
{
    if (nl_figure_is_count(series) && fabs(value) < 1e15)
        snprintf(text, 32, "%.15g", value);
    else
        snprintf(text, 32, "%s", nl_figure(value).text);
}

double nl_history_median(const json_t *series)
{
    const json_t *points = json_object_get(series, "points");
    cleanup_free double *numbers = calloc(json_array_size(points) + 1, sizeof(*numbers));
    size_t i;
    json_t *point;

    json_array_foreach(points, i, point)
    {
        if (numbers)
            numbers[i] = nl_dig_number(point, "value", 0);
    }
    return numbers && i > 0 ? nl_median(numbers, i) : 0;
}

bool nl_history_lane_used(const json_t *history, size_t lane)
{
    size_t i;
    json_t *series;

    json_array_foreach(json_object_get(history, "series"), i, series)
    {
        if ((size_t)nl_dig_integer(series, "lane", 0) == lane)
            return true;
    }
    return false;
}

/* Those of DIFFERENCES that FOUND does not have. */
static void unite(json_t *found, const json_t *differences)
{
    size_t i, k;
    json_t *each, *other;

    json_array_foreach(differences, i, each)
    {
        bool known = false;

        json_array_foreach(found, k, other) known |= json_equal(other, each);
        if (!known)
            json_array_append(found, each);
    }
}

json_t *nl_history_differences(const json_t *history, size_t lane, json_int_t run)
{
    json_t *found = json_array();
    size_t i, k;
    json_t *series, *change;

    json_array_foreach(json_object_get(history, "series"), i, series)
    {
        if ((size_t)nl_dig_integer(series, "lane", 0) != lane)
            continue;
        json_array_foreach(json_object_get(series, "changes"), k, change)
        {
            if (nl_dig_integer(change, "run", -1) == run)
                unite(found, json_object_get(change, "differs"));
        }
    }
    return found;
}

char *nl_history_lane(const json_t *lane)
{
    json_int_t layers = nl_dig_integer(lane, "layers", 0), runs = nl_dig_integer(lane, "runs", 0);
    bool counts = nl_dig_is(lane, "of", "counts");
    char to[32] = "";
    char *text;

    if (layers > 1)
        snprintf(to, sizeof(to), " to L%" JSON_INTEGER_FORMAT, layers - 1);
    if (asprintf(&text, "%s, L0%s%s: %s of %" JSON_INTEGER_FORMAT " %s",
                 nl_dig_string(lane, "scenario", "?"), to,
                 !counts && nl_dig_true(lane, "metered") ? ", under the meter" : "",
                 counts ? "counts" : "times", runs, runs == 1 ? "run" : "runs") < 0)
        return NULL;
    return text;
}

char *nl_history_difference(const json_t *difference)
{
    const char *layer = nl_dig_string(difference, "layer", NULL);
    char *text;

    if (asprintf(&text, "%s%s%s: %s -> %s", layer ? layer : "", layer ? ": " : "",
                 nl_dig_string(difference, "what", "?"),
                 nl_dig_string(difference, "reference", "not known"),
                 nl_dig_string(difference, "other", "not known")) < 0)
        return NULL;
    return text;
}

/* " (7.5 % more)" */
static void by_how_much(char text[48], double before, double after)
{
    double change = before > 0 ? 100 * (after - before) / before : NAN;

    text[0] = '\0';
    if (isfinite(change))
        snprintf(text, 48, " (%.3g %% %s)", fabs(change), change > 0 ? "more" : "less");
}

char *nl_history_change(const json_t *series, const json_t *change)
{
    const char *layer = nl_dig_string(series, "layer", "");
    double before = nl_dig_number(change, "before", 0), after = nl_dig_number(change, "after", 0);
    char from[32], to[32], much[48], p[48];
    char *text;

    nl_history_number(from, series, before);
    nl_history_number(to, series, after);
    by_how_much(much, before, after);
    if (nl_dig_is(change, "how", "exact"))
        snprintf(p, sizeof(p), "a count that repeats");
    else
        snprintf(p, sizeof(p), "p %.2g", nl_dig_number(change, "p", 1));
    if (asprintf(&text, "%s%s%s%s: %s -> %s %s%s, %s", nl_dig_string(series, "name", "?"),
                 nl_dig_is(series, "kind", NL_FIGURE_PHASE) ? " (phase)" : "", *layer ? " at " : "",
                 layer, from, to, nl_dig_string(series, "unit", ""), much, p) < 0)
        return NULL;
    return text;
}

/* The least number of runs that can show a change at all, at level ALPHA; 0: no number can. */
static size_t runs_needed(double alpha)
{
    for (size_t n = 2 * NL_CHANGE_LEVEL_MIN; n < 100; n++)
        if (nl_change_point_least_p(n) <= alpha)
            return n;
    return 0;
}

/* The level of one series: the least that Holm's correction leaves of the whole family's, which is
   those that are tested, or with ALL those that will be once they are long enough. */
static double level_of_one(const json_t *history, bool all)
{
    size_t family = 0, i;
    json_t *series;

    json_array_foreach(json_object_get(history, "series"), i, series) family +=
        nl_dig_is(series, "judged", "ranks") || (all && !nl_dig_is(series, "judged", "exact"));
    return nl_dig_number(history, "alpha", 0) / (double)(family > 0 ? family : 1);
}

/* Series in which no change could be marked, however great. */
static int count_hopeless(const json_t *history, double level)
{
    int hopeless = 0;
    size_t i;
    json_t *series;

    json_array_foreach(json_object_get(history, "series"), i, series)
    {
        size_t n = json_array_size(json_object_get(series, "points"));

        hopeless += !nl_dig_is(series, "judged", "exact") && nl_change_point_least_p(n) > level;
    }
    return hopeless;
}

static void say_hopeless(FILE *out, const json_t *history)
{
    int hopeless = count_hopeless(history, level_of_one(history, false));
    size_t needed = runs_needed(level_of_one(history, true));

    if (hopeless == 0)
        return;
    fprintf(out,
            " %d of the series %s too short for a change to be told, however great: ", hopeless,
            hopeless == 1 ? "is" : "are");
    if (needed > 0)
        fprintf(out, "with so many of them it takes %zu runs.", needed);
    else
        fputs("with so many of them no number of runs will do; name some, or take a greater alpha.",
              out);
}

static int count_judged(const json_t *history, const char *how)
{
    int n = 0;
    size_t i;
    json_t *series;

    json_array_foreach(json_object_get(history, "series"), i, series) n +=
        nl_dig_is(series, "judged", how);
    return n;
}

char *nl_history_sum(const json_t *history)
{
    const json_t *sum = json_object_get(history, "sum");
    int differs = (int)nl_dig_integer(sum, "differs", 0);
    int left_out = (int)nl_dig_integer(sum, "left_out", 0);
    int exact = count_judged(history, "exact");
    int tested = count_judged(history, "ranks");
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (!out)
        return NULL;
    if (exact == 0 && tested == 0) {
        fprintf(out, "None of %d series can be judged yet at a level of %g %%.",
                (int)nl_dig_integer(sum, "series", 0), 100 * nl_dig_number(history, "alpha", 0));
        say_hopeless(out, history);
        fclose(out);
        return text;
    }
    fprintf(out, "%d of %d series changed; of the changes %d are for the worse, %d for the better",
            (int)nl_dig_integer(sum, "changed", 0), (int)nl_dig_integer(sum, "series", 0),
            (int)nl_dig_integer(sum, "worse", 0), (int)nl_dig_integer(sum, "better", 0));
    if (differs > 0)
        fprintf(out, ", %d with equal medians", differs);
    fprintf(
        out,
        ". The chance that a change is marked anywhere in the series that are tested, %d, if none "
        "of them changed, is at most %g %%.",
        tested, 100 * nl_dig_number(history, "alpha", 0));
    if (exact > 0)
        fprintf(out, " %d are counts that are known to repeat: what differs by more is marked.",
                exact);
    if (left_out > 0)
        fprintf(out, " %d earlier changes are left out, but for the latest %d of a series.",
                left_out, NL_HISTORY_CHANGES_MAX);
    say_hopeless(out, history);
    fclose(out);
    return text;
}
