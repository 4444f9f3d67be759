/*
 * history-print.c - a history for a terminal: see history.h.
 */
#include "history.h"
#include "dig.h"
#include "history-figures.h"
#include "history-words.h"
#include "printable.h"
#include "report-text.h"
#include "stats.h"
#include "table.h"

#include <math.h>
#include <string.h>

/* So many of the latest runs have a column of their own. */
#define COLUMNS 5

/* The latest runs of a lane, as indices, the earliest first. */
struct latest {
    json_int_t runs[COLUMNS];
    size_t n;
};

static void note_run(struct latest *latest, json_int_t run)
{
    size_t at = latest->n;

    while (at > 0 && latest->runs[at - 1] > run)
        at--;
    if (at > 0 && latest->runs[at - 1] == run)
        return;
    if (latest->n == COLUMNS && at == 0)
        return;
    if (latest->n == COLUMNS) {
        memmove(latest->runs, latest->runs + 1, (at - 1) * sizeof(latest->runs[0]));
        latest->runs[at - 1] = run;
        return;
    }
    memmove(latest->runs + at + 1, latest->runs + at, (latest->n - at) * sizeof(latest->runs[0]));
    latest->runs[at] = run;
    latest->n++;
}

static struct latest find_latest(const json_t *history, size_t lane)
{
    struct latest latest = {.n = 0};
    size_t i, k;
    json_t *series, *point;

    json_array_foreach(json_object_get(history, "series"), i, series)
    {
        if ((size_t)nl_dig_integer(series, "lane", 0) != lane)
            continue;
        json_array_foreach(json_object_get(series, "points"), k, point)
            note_run(&latest, nl_dig_integer(point, "run", 0));
    }
    return latest;
}

/* Is POINT the first of a new level? */
static bool begins_level(const json_t *series, size_t point)
{
    size_t i;
    json_t *change;

    json_array_foreach(json_object_get(series, "changes"), i, change)
    {
        if ((size_t)nl_dig_integer(change, "point", -1) == point)
            return true;
    }
    return false;
}

/* The median of all that come before the first run with a column. */
static void earlier_cell(struct nl_table *table, const json_t *series, const struct latest *latest)
{
    const json_t *points = json_object_get(series, "points");
    cleanup_free double *numbers = calloc(json_array_size(points) + 1, sizeof(*numbers));
    char text[32] = "";
    size_t n = 0, i;
    json_t *point;

    json_array_foreach(points, i, point)
    {
        if (numbers && nl_dig_integer(point, "run", 0) < latest->runs[0])
            numbers[n++] = nl_dig_number(point, "value", 0);
    }
    if (n > 0)
        nl_history_number(text, series, nl_median(numbers, n));
    nl_table_cell(table, "%s", text);
}

static void run_cell(struct nl_table *table, const json_t *series, json_int_t run)
{
    char text[32];
    size_t i;
    json_t *point;

    json_array_foreach(json_object_get(series, "points"), i, point)
    {
        if (nl_dig_integer(point, "run", 0) != run)
            continue;
        nl_history_number(text, series, nl_dig_number(point, "value", 0));
        nl_table_cell(table, "%s%s", begins_level(series, i) ? "| " : "", text);
        return;
    }
    nl_table_cell(table, "%s", "");
}

/* Counts that never were anything but 0 say nothing. */
static bool is_empty(const json_t *series)
{
    size_t i;
    json_t *point;

    json_array_foreach(json_object_get(series, "points"), i, point)
    {
        if (nl_dig_number(point, "value", 0) != 0)
            return false;
    }
    return true;
}

static void print_row(struct nl_table *table, const json_t *series, const struct latest *latest)
{
    const char *layer = nl_dig_string(series, "layer", "");

    nl_table_cell(table, "%s%s", nl_dig_string(series, "name", "?"),
                  nl_dig_is(series, "kind", NL_FIGURE_PHASE) ? " (phase)" : "");
    nl_table_cell(table, "%s", *layer ? layer : "run");
    nl_table_cell(table, "%s", nl_dig_string(series, "unit", ""));
    nl_table_cell(table, "%zu", json_array_size(json_object_get(series, "points")));
    earlier_cell(table, series, latest);
    for (size_t i = 0; i < latest->n; i++)
        run_cell(table, series, latest->runs[i]);
}

static void print_table(const struct nl_text *to, const json_t *history, size_t lane)
{
    static const char *const heads[] = {"", "at", "unit", "runs", "earlier"};
    struct nl_table *table;
    struct latest latest = find_latest(history, lane);
    char align[5 + COLUMNS + 1] = "lllrr";
    size_t i;
    json_t *series;

    for (i = 0; i < latest.n; i++)
        strcat(align, "r");
    table = nl_table_new(align);
    for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        nl_table_cell(table, "%s", heads[i]);
    for (i = 0; i < latest.n; i++)
        nl_table_cell(table, "%s", nl_history_when(history, latest.runs[i]).text);
    json_array_foreach(json_object_get(history, "series"), i, series)
    {
        if ((size_t)nl_dig_integer(series, "lane", 0) == lane && !is_empty(series))
            print_row(table, series, &latest);
    }
    nl_table_print(table, to->out, to->dim, to->plain);
}

static void print_differences(const struct nl_text *to, const json_t *differences,
                              const char *indent)
{
    size_t i;
    json_t *each;

    json_array_foreach(differences, i, each)
    {
        cleanup_free char *text = nl_history_difference(each);

        fputs(indent, to->out);
        nl_text_wrap(to, text ? text : "", (int)strlen(indent), (int)strlen(indent) + 2);
    }
}

static void print_change(const struct nl_text *to, const json_t *series, const json_t *change)
{
    cleanup_free char *text = nl_history_change(series, change);
    const char *verdict = nl_dig_string(change, "verdict", "?");
    const char *colour = strcmp(verdict, "worse") == 0    ? to->red
                         : strcmp(verdict, "better") == 0 ? to->green
                                                          : to->yellow;

    fprintf(to->out, "    %s%-7s%s ", colour, verdict, to->plain);
    nl_text_wrap(to, text ? text : "", 12, 14);
}

/* What its documents say is anybody's: names of runs and scenarios, too. */
static void print_changes_head(const struct nl_text *to, const json_t *history, size_t lane,
                               json_int_t run)
{
    cleanup_free char *id = nl_printable(nl_history_run(history, run), 0);
    cleanup_json json_t *differences = nl_history_differences(history, lane, run);

    fprintf(to->out, "\n  %sChanged%s with %s, %s\n", to->bold, to->plain, id ? id : "?",
            nl_history_when(history, run).text);
    print_differences(to, differences, "    ");
}

/* The changes of lane LANE that begin at RUN. */
static void print_changes_at(const struct nl_text *to, const json_t *history, size_t lane,
                             json_int_t run)
{
    bool first = true;
    size_t i, k;
    json_t *series, *change;

    json_array_foreach(json_object_get(history, "series"), i, series)
    {
        json_array_foreach(json_object_get(series, "changes"), k, change)
        {
            if ((size_t)nl_dig_integer(series, "lane", 0) != lane ||
                nl_dig_integer(change, "run", -1) != run)
                continue;
            if (first)
                print_changes_head(to, history, lane, run);
            first = false;
            print_change(to, series, change);
        }
    }
}

static void print_lane(const struct nl_text *to, const json_t *history, size_t index)
{
    const json_t *lane = json_array_get(json_object_get(history, "lanes"), index);
    cleanup_free char *title = nl_history_lane(lane);
    size_t runs = json_array_size(json_object_get(history, "runs"));

    if (!nl_history_lane_used(history, index))
        return;
    nl_text_section(to, title ? title : "", NULL);
    if (json_array_size(json_object_get(lane, "apart")) > 0) {
        fputs("  not comparable with the runs above:\n", to->out);
        print_differences(to, json_object_get(lane, "apart"), "    ");
    }
    print_table(to, history, index);
    for (size_t run = 0; run < runs; run++)
        print_changes_at(to, history, index, (json_int_t)run);
}

void nl_history_text(const json_t *history, FILE *out, bool colour)
{
    struct nl_text to = nl_text_to(out, colour);
    cleanup_free char *sum = nl_history_sum(history);
    size_t lanes = json_array_size(json_object_get(history, "lanes"));
    size_t runs = json_array_size(json_object_get(history, "runs"));

    fprintf(out, "%sHistory%s  %zu %s, %s to %s\n", to.bold, to.plain, runs,
            runs == 1 ? "run" : "runs", nl_history_when(history, 0).text,
            nl_history_when(history, (json_int_t)runs - 1).text);
    for (size_t lane = 0; lane < lanes; lane++)
        print_lane(&to, history, lane);
    fputs("\n| is before the first run of a new level.\n", out);
    nl_text_wrap(&to, sum ? sum : "", 0, 2);
}
