/*
 * history-plots.c - the plots of a history's page: see history-plots.h.
 */
#include "history-plots.h"
#include "cleanup.h"
#include "dig.h"
#include "history.h"
#include "history-words.h"

#include <math.h>
#include <string.h>

#define PLOTS_MAX 200 /* of one lane; gnuplot has its time for so many */
#define POINTS_MAX 1000

/* Intervals, dots, and for each change a level more and a mark. */
enum { INTERVALS, DOTS, LEVELS, SERIES = LEVELS + 2 * NL_HISTORY_CHANGES_MAX + 1 };

struct trend {
    const json_t *series;
    char title[160];
    char description[200];
    char low[32], high[32];
    struct nl_history_when first, last; /* runs */
    struct nl_plot_tick runs[2], values[2];
    struct nl_plot_series lines[SERIES];
};

static double value_of(const json_t *points, size_t i, const char *key)
{
    return nl_dig_number(json_array_get(points, i), key, NAN);
}

static void widen(struct nl_plot_axis *axis, double value)
{
    if (!isfinite(value))
        return;
    axis->low = isnan(axis->low) ? value : fmin(axis->low, value);
    axis->high = isnan(axis->high) ? value : fmax(axis->high, value);
}

static void add_points(struct trend *trend, struct nl_plot *plot)
{
    const json_t *points = json_object_get(trend->series, "points");
    size_t n = json_array_size(points);

    for (size_t i = 0; i < n && i < POINTS_MAX; i++) {
        double value = value_of(points, i, "value");
        double low = value_of(points, i, "low"), high = value_of(points, i, "high");

        nl_plot_add(&trend->lines[DOTS], (double)i, value);
        widen(&plot->y, value);
        if (!isfinite(low) || !isfinite(high) || low > value || high < value)
            continue;
        nl_plot_add(&trend->lines[INTERVALS], (double)i, low, high);
    }
}

/* An interval that is much longer than the way of the values must not flatten them: it is cut. */
static void cut_intervals(struct nl_plot_series *intervals, const struct nl_plot_axis *axis)
{
    for (size_t i = 0; i < intervals->n; i++) {
        double *point = intervals->values + 3 * i;

        point[1] = fmax(point[1], axis->low);
        point[2] = fmin(point[2], axis->high);
    }
}

static void add_level(struct trend *trend, size_t line, double from, double end, double value)
{
    trend->lines[line].kind = NL_PLOT_LINE;
    trend->lines[line].size = 1.5;
    trend->lines[line].colour = NL_COLOUR_TEXT;
    nl_plot_add(&trend->lines[line], from - 0.5, value);
    nl_plot_add(&trend->lines[line], end - 0.5, value);
}

static void add_mark(struct trend *trend, size_t line, double at, const struct nl_plot_axis *y,
                     const char *verdict)
{
    trend->lines[line].kind = NL_PLOT_LINE;
    trend->lines[line].size = 1.5;
    trend->lines[line].colour = strcmp(verdict, "worse") == 0    ? nl_colour_series(4)
                                : strcmp(verdict, "better") == 0 ? nl_colour_series(2)
                                                                 : NL_COLOUR_QUIET;
    nl_plot_add(&trend->lines[line], at - 0.5, y->low);
    nl_plot_add(&trend->lines[line], at - 0.5, y->high);
}

/* Levels as lines, and where one ends and the next begins. */
static size_t add_changes(struct trend *trend, struct nl_plot *plot)
{
    const json_t *changes = json_object_get(trend->series, "changes");
    double n = (double)json_array_size(json_object_get(trend->series, "points"));
    size_t used = LEVELS, last = json_array_size(changes);
    double from = nl_dig_number(trend->series, "from", 0);

    for (size_t i = 0; i < last; i++) {
        const json_t *change = json_array_get(changes, i);
        double at = nl_dig_number(change, "point", 0);

        add_level(trend, used++, from, at, nl_dig_number(change, "before", 0));
        add_mark(trend, used++, at, &plot->y, nl_dig_string(change, "verdict", ""));
        from = at;
    }
    add_level(trend, used++, from, n,
              last > 0 ? nl_dig_number(json_array_get(changes, last - 1), "after", 0)
                       : nl_history_median(trend->series));
    return used;
}

static void finish_axis(struct nl_plot_axis *axis)
{
    double room = 0.08 * (axis->high - axis->low);

    if (!(room > 0))
        room = fmax(0.02 * fabs(axis->high), 1e-9);
    axis->low -= room;
    axis->high += room;
}

/* The day is enough, or the time where all is of one day. */
static void shorten(struct nl_history_when *first, struct nl_history_when *last)
{
    size_t day = strcspn(first->text, " ");
    bool same = strncmp(first->text, last->text, day) == 0 && first->text[day];
    struct nl_history_when *const both[] = {first, last};

    for (size_t i = 0; i < 2; i++) {
        if (same)
            memmove(both[i]->text, both[i]->text + day + 1, strlen(both[i]->text + day + 1) + 1);
        else
            both[i]->text[strcspn(both[i]->text, " ")] = '\0';
    }
}

/* The least and the greatest value, and the first and the last run. */
static void add_ticks(const json_t *history, struct trend *trend, struct nl_plot *plot)
{
    const json_t *points = json_object_get(trend->series, "points");
    size_t n = json_array_size(points);

    nl_history_number(trend->low, trend->series, plot->y.low);
    nl_history_number(trend->high, trend->series, plot->y.high);
    trend->values[0] = (struct nl_plot_tick){plot->y.low, trend->low};
    trend->values[1] = (struct nl_plot_tick){plot->y.high, trend->high};
    plot->y.ticks = trend->values;
    plot->y.n_ticks = plot->y.high > plot->y.low ? 2 : 1;
    trend->first = nl_history_when(history, nl_dig_integer(json_array_get(points, 0), "run", 0));
    trend->last = nl_history_when(history, nl_dig_integer(json_array_get(points, n - 1), "run", 0));
    shorten(&trend->first, &trend->last);
    trend->runs[0] = (struct nl_plot_tick){0, trend->first.text};
    trend->runs[1] = (struct nl_plot_tick){(double)n - 1, trend->last.text};
    plot->x.ticks = trend->runs;
    plot->x.n_ticks = n > 1 ? 2 : 1;
}

static void describe(struct trend *trend)
{
    const char *layer = nl_dig_string(trend->series, "layer", "");
    const json_t *list = json_object_get(trend->series, "changes");
    size_t changes = json_array_size(list);
    const json_t *last = changes > 0 ? json_array_get(list, changes - 1) : NULL;

    /* The verdict in a word: the mark's colour alone does not tell it to everybody. */
    snprintf(trend->title, sizeof(trend->title), "%.64s%s%.8s, %.40s%s%.16s",
             nl_dig_string(trend->series, "name", "?"), *layer ? " at " : "", layer,
             nl_dig_string(trend->series, "unit", ""),
             changes == 0   ? ""
             : changes == 1 ? ": "
                            : ": at last ",
             nl_dig_string(last, "verdict", ""));
    snprintf(
        trend->description, sizeof(trend->description),
        "Its trend over %zu runs with intervals; %zu changes, between levels that are drawn as "
        "lines. The table below has the levels.",
        json_array_size(json_object_get(trend->series, "points")), changes);
}

static void make_plot(const json_t *history, struct trend *trend, struct nl_plot *plot)
{
    size_t n = json_array_size(json_object_get(trend->series, "points"));

    describe(trend);
    *plot = (struct nl_plot){
        .title = trend->title,
        .description = trend->description,
        .width = 300,
        .height = 110,
        .left = 62,
        .right = 14,
        .top = 6,
        .bottom = 20,
        .x = {.low = -0.7, .high = (double)n - 0.3},
        .y = {.low = NAN, .high = NAN, .grid = true},
        .series = trend->lines,
    };
    trend->lines[INTERVALS].kind = NL_PLOT_INTERVALS_Y;
    trend->lines[INTERVALS].colour = NL_COLOUR_RULE;
    trend->lines[DOTS].size = n > 60 ? 1.5 : 2.5;
    trend->lines[DOTS].colour = NL_COLOUR_SERIES;
    add_points(trend, plot);
    add_ticks(history, trend, plot);
    finish_axis(&plot->y);
    cut_intervals(&trend->lines[INTERVALS], &plot->y);
    plot->n_series = add_changes(trend, plot);
}

static bool changed(const json_t *series)
{
    return json_array_size(json_object_get(series, "changes")) > 0;
}

/* Series of one point have no trend. */
static size_t collect(const json_t *history, size_t lane, bool with_changes, struct trend *trends,
                      struct nl_plot *plots)
{
    size_t used = 0, i;
    json_t *series;

    json_array_foreach(json_object_get(history, "series"), i, series)
    {
        if ((size_t)nl_dig_integer(series, "lane", 0) != lane || changed(series) != with_changes ||
            json_array_size(json_object_get(series, "points")) < 2 || used == PLOTS_MAX)
            continue;
        trends[used].series = series;
        make_plot(history, &trends[used], &plots[used]);
        used++;
    }
    return used;
}

static void write_plots(const struct nl_page *page, const struct trend *trends,
                        const struct nl_plot *plots, size_t n)
{
    cleanup_plots struct nl_plot_pictures *pictures = nl_page_draw(page, plots, n);

    if (!pictures)
        return;
    nl_html_open(page->html, "div", "plots");
    for (size_t i = 0; i < n; i++) {
        nl_html_open(page->html, "div", NULL);
        nl_html_leaf(page->html, "p", NULL, trends[i].title);
        nl_plots_write(page->html, pictures, i);
        nl_html_close(page->html);
    }
    nl_html_close(page->html);
}

static void write_group(const struct nl_page *page, size_t lane, bool with_changes)
{
    cleanup_free struct trend *trends = calloc(PLOTS_MAX, sizeof(*trends));
    cleanup_free struct nl_plot *plots = calloc(PLOTS_MAX, sizeof(*plots));
    size_t n = trends && plots ? collect(page->document, lane, with_changes, trends, plots) : 0;

    if (n > 0 && !with_changes)
        nl_html_details(page->html, "A plot for each series that did not change");
    if (n > 0)
        write_plots(page, trends, plots, n);
    if (n > 0 && !with_changes)
        nl_html_close(page->html);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < SERIES; k++)
            free(trends[i].lines[k].values);
}

void nl_history_plots(const struct nl_page *page, size_t lane)
{
    write_group(page, lane, true);
    write_group(page, lane, false);
}
