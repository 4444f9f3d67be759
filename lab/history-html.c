/*
 * history-html.c - a history as a page to look at: see history.h and html.h.
 */
#include "history.h"
#include "dig.h"
#include "history-plots.h"
#include "history-words.h"
#include "report-html.h"

#include <string.h>

#define ROWS_MAX 1000 /* of each lane; more are in --csv */

static void write_head(const struct nl_page *page)
{
    const json_t *history = page->document;
    json_int_t runs = (json_int_t)json_array_size(json_object_get(history, "runs"));
    cleanup_free char *sum = nl_history_sum(history);
    struct nl_html *html = page->html;

    nl_html_open(html, "header", "verdict");
    nl_html_leaf(html, "h1", NULL, "History");
    nl_html_open(html, "p", NULL);
    nl_html_format(html, "%d %s, %s to %s (UTC).", (int)runs, runs == 1 ? "run" : "runs",
                   nl_history_when(history, 0).text, nl_history_when(history, runs - 1).text);
    nl_html_close(html);
    nl_html_leaf(html, "p", NULL, sum);
    nl_html_close(html);
}

static void write_differences(struct nl_html *html, const json_t *differences, const char *lead)
{
    size_t i;
    json_t *each;

    if (json_array_size(differences) == 0)
        return;
    nl_html_leaf(html, "p", "note", lead);
    nl_html_open(html, "ul", NULL);
    json_array_foreach(differences, i, each)
    {
        cleanup_free char *text = nl_history_difference(each);

        nl_html_leaf(html, "li", NULL, text);
    }
    nl_html_close(html);
}

static const char *class_of(const json_t *change)
{
    if (nl_dig_is(change, "verdict", "worse"))
        return "fail";
    return nl_dig_is(change, "verdict", "better") ? "pass" : "warning";
}

/* A card for the changes of the lane that begin at RUN. */
static void write_changes_at(const struct nl_page *page, size_t lane, json_int_t run)
{
    struct nl_html *html = page->html;
    cleanup_json json_t *differences = NULL;
    bool any = false;
    size_t i, k;
    json_t *series, *change;

    json_array_foreach(json_object_get(page->document, "series"), i, series)
    {
        json_array_foreach(json_object_get(series, "changes"), k, change)
        {
            cleanup_free char *text = NULL;

            if ((size_t)nl_dig_integer(series, "lane", 0) != lane ||
                nl_dig_integer(change, "run", -1) != run)
                continue;
            if (!any) {
                nl_html_open(html, "div", "card");
                nl_html_open(html, "h3", NULL);
                nl_html_format(html, "Changed with %s, %s", nl_history_run(page->document, run),
                               nl_history_when(page->document, run).text);
                nl_html_close(html);
                nl_html_open(html, "ul", NULL);
            }
            any = true;
            text = nl_history_change(series, change);
            nl_html_open(html, "li", NULL);
            nl_html_leaf(html, "span", class_of(change), nl_dig_string(change, "verdict", ""));
            nl_html_format(html, " %s", text ? text : "");
            nl_html_close(html);
        }
    }
    if (!any)
        return;
    nl_html_close(html);
    differences = nl_history_differences(page->document, lane, run);
    write_differences(html, differences, "What else differs between the runs around it:");
    nl_html_close(html);
}

/* KEY of CHANGE: the median of the level before or after it. OTHERWISE where nothing changed. */
static void level_cell(struct nl_html *html, const json_t *series, const json_t *change,
                       const char *key, double otherwise)
{
    char text[32];

    nl_history_number(text, series, nl_dig_number(change, key, otherwise));
    nl_html_cell(html, "number", "%s", text);
}

static void write_row(struct nl_html *html, const json_t *series)
{
    const json_t *changes = json_object_get(series, "changes");
    size_t n = json_array_size(changes);
    double median = nl_history_median(series);
    const char *layer = nl_dig_string(series, "layer", "");

    nl_html_open(html, "tr", NULL);
    nl_html_row_heading(html, nl_dig_string(series, "name", "?"));
    nl_html_cell(html, NULL, "%s", nl_dig_string(series, "kind", ""));
    nl_html_cell(html, NULL, "%s", *layer ? layer : "run");
    nl_html_cell(html, NULL, "%s", nl_dig_string(series, "unit", ""));
    nl_html_cell(html, "number", "%zu", json_array_size(json_object_get(series, "points")));
    level_cell(html, series, json_array_get(changes, 0), "before", median);
    level_cell(html, series, n > 0 ? json_array_get(changes, n - 1) : NULL, "after", median);
    nl_html_cell(html, "number", "%zu", n + (size_t)nl_dig_integer(series, "left_out", 0));
    if (nl_dig(series, "p_holm"))
        nl_html_cell(html, "number", "%.2g", nl_dig_number(series, "p_holm", 1));
    else
        nl_html_cell(html, NULL, "%s", nl_dig_string(series, "judged", ""));
    nl_html_close(html);
}

static bool is_shown(const json_t *series, size_t lane, bool changed)
{
    return (size_t)nl_dig_integer(series, "lane", 0) == lane &&
           (json_array_size(json_object_get(series, "changes")) > 0) == changed;
}

/* Those that CHANGED; the others are many, and folded away. */
static void write_table(const struct nl_page *page, size_t lane, bool changed)
{
    static const char *const headings[] = {
        "Figure",       "Kind",        "At",       "Unit", ">Runs",
        ">First level", ">Last level", ">Changes", ">p",   NULL};
    size_t i, n = 0;
    json_t *series;

    json_array_foreach(json_object_get(page->document, "series"), i, series)
    {
        n += is_shown(series, lane, changed);
    }
    if (n == 0)
        return;
    n = 0;
    if (!changed)
        nl_html_details(page->html, "A row for each series that did not change");
    nl_html_table(page->html, "Medians of the first and the last level", headings);
    json_array_foreach(json_object_get(page->document, "series"), i, series)
    {
        if (is_shown(series, lane, changed) && n++ < ROWS_MAX)
            write_row(page->html, series);
    }
    nl_html_table_end(page->html);
    if (!changed)
        nl_html_close(page->html);
}

static void write_lane(const struct nl_page *page, size_t index)
{
    const json_t *lane = json_array_get(json_object_get(page->document, "lanes"), index);
    size_t runs = json_array_size(json_object_get(page->document, "runs"));
    cleanup_free char *title = nl_history_lane(lane);

    if (!nl_history_lane_used(page->document, index))
        return;
    nl_html_section(page->html, 2, NULL, title ? title : "", NULL);
    write_differences(page->html, json_object_get(lane, "apart"),
                      "Not comparable with the runs above:");
    for (size_t run = 0; run < runs; run++)
        write_changes_at(page, index, (json_int_t)run);
    nl_history_plots(page, index);
    write_table(page, index, true);
    write_table(page, index, false);
    nl_html_close(page->html);
}

char *nl_history_html(const json_t *history)
{
    cleanup_error struct nl_error *missing = NULL;
    struct nl_page page = {.document = history, .missing = &missing};

    page.html = nl_html_new("History - nestlab");
    write_head(&page);
    nl_html_open(page.html, "main", NULL);
    for (size_t lane = 0; lane < json_array_size(json_object_get(history, "lanes")); lane++)
        write_lane(&page, lane);
    nl_html_close(page.html);
    return nl_page_finish(&page, "; `nestlab history --json` holds more.");
}
