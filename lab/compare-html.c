/*
 * compare-html.c - a comparison as a page to look at: see compare.h and html.h.
 */
#include "compare.h"
#include "compare-html.h"
#include "compare-runs.h"
#include "compare-words.h"
#include "dig.h"
#include "figure.h"

#include <string.h>

#define ROWS_MAX 400 /* more are in the JSON */
#define PLOT_ROWS_MAX 200
#define LAYERS_MAX 4 /* of counts by layer: more columns than a page takes */
#define DIFFERENCES_MAX 200
#define ROW_HEIGHT 18.0
#define TICKS_MAX 16

/* Ratios further from 1 are drawn there; the table has them. */
#define EDGE 4.0

static void write_differences(const struct nl_page *page, const char *key, const char *caption)
{
    static const char *const headings[] = {"What", "At", "Base", "Other", "In run", NULL};
    struct nl_html *html = page->html;
    size_t i;
    json_t *each;

    nl_html_table(html, caption, headings);
    json_array_foreach(json_object_get(page->document, key), i, each)
    {
        if (i >= DIFFERENCES_MAX)
            break;
        nl_html_open(html, "tr", NULL);
        nl_html_row_heading(html, nl_dig_string(each, "what", "?"));
        nl_html_cell(html, NULL, "%s", nl_dig_string(each, "layer", "run"));
        nl_html_cell(html, NULL, "%s", nl_dig_string(each, "reference", "not known"));
        nl_html_cell(html, NULL, "%s", nl_dig_string(each, "other", "not known"));
        nl_html_cell(html, NULL, "%s", nl_dig_string(each, "run", "?"));
        nl_html_close(html);
    }
    nl_html_table_end(html);
}

static void write_obstacles(const struct nl_page *page)
{
    write_differences(page, "not_comparable", "Figures of these runs mean different things");
}

static void write_subjects(const struct nl_page *page)
{
    write_differences(page, "differs", "What differs between the runs, the subject perhaps");
}

static const char *verdict_class(const json_t *row)
{
    if (nl_dig_is(row, "verdict", "worse"))
        return "fail";
    if (nl_dig_is(row, "verdict", "better"))
        return "pass";
    return nl_dig_is(row, "verdict", "differs") ? NULL : "skip";
}

/* Next to what it is the verdict of: on a phone the columns further right are out of sight. */
static void verdict_cell(struct nl_html *html, const json_t *row)
{
    nl_html_cell(html, verdict_class(row), "%s%s", nl_dig_string(row, "verdict", ""),
                 nl_dig_true(row, "failed") ? ", FAIL" : "");
}

static void number_cell(struct nl_html *html, const json_t *side)
{
    nl_html_cell(html, "number", "%s%s", nl_figure(nl_dig_number(side, "median", 0)).text,
                 nl_dig_true(side, "unstable") ? "~" : "");
}

static struct nl_figure factor(const json_t *row, const char *key)
{
    return nl_figure_factor(nl_dig_number(row, key, 0));
}

static void time_row(struct nl_html *html, const json_t *row)
{
    nl_html_open(html, "tr", NULL);
    nl_html_row_heading(html, nl_dig_string(row, "benchmark", "?"));
    nl_html_cell(html, NULL, "%s", nl_dig_string(row, "layer", "?"));
    verdict_cell(html, row);
    nl_html_cell(html, NULL, "%s", nl_dig_string(row, "unit", ""));
    number_cell(html, nl_dig(row, "base"));
    number_cell(html, nl_dig(row, "new"));
    if (nl_dig(row, "ratio") && nl_dig(row, "low") && nl_dig(row, "high"))
        nl_html_cell(html, "number", "%s (%s to %s)", factor(row, "ratio").text,
                     factor(row, "low").text, factor(row, "high").text);
    else if (nl_dig(row, "ratio"))
        nl_html_cell(html, "number", "%s", factor(row, "ratio").text);
    else
        nl_html_cell(html, "number", "%s", "");
    nl_html_cell(html, "number", "%.2g", nl_dig_number(row, "p_holm", 1));
    nl_html_close(html);
}

/* How the ratios of one verdict look; the last is for all others. */
static const struct look {
    const char *verdict;
    unsigned colour;
    enum nl_plot_kind dots;
} looks[] = {
    {"worse", NL_COLOUR_SERIES + 4, NL_PLOT_POINTS},
    {"better", NL_COLOUR_SERIES + 2, NL_PLOT_POINTS},
    {"differs", NL_COLOUR_SERIES, NL_PLOT_POINTS},
    {NULL, NL_COLOUR_QUIET, NL_PLOT_HOLLOW},
};

#define LOOKS (sizeof(looks) / sizeof(looks[0]))

/* A line at 1, then for each look intervals and dots. */
struct ratios {
    struct nl_plot_series series[1 + 2 * LOOKS];
};

static struct nl_plot_series *intervals_of(struct ratios *ratios, const json_t *row)
{
    size_t k = 0;

    while (looks[k].verdict && !nl_dig_is(row, "verdict", looks[k].verdict))
        k++;
    return &ratios->series[1 + 2 * k];
}

/* One row that is a hundred times slower must not make a change of a tenth invisible. */
static double at_most_the_edge(double value)
{
    return fmin(fmax(value, 1 / EDGE), EDGE);
}

static void add_ratio(struct ratios *ratios, struct nl_plot_axis *axis, const json_t *row, double y)
{
    struct nl_plot_series *intervals = intervals_of(ratios, row);
    double value = nl_dig_number(row, "ratio", NAN);
    double low = nl_dig_number(row, "low", value), high = nl_dig_number(row, "high", value);

    if (!isfinite(value) || !isfinite(low) || !isfinite(high))
        return;
    value = at_most_the_edge(value);
    low = at_most_the_edge(low);
    high = at_most_the_edge(high);
    nl_plot_add(intervals, low, high, y);
    nl_plot_add(intervals + 1, value, y);
    axis->low = fmin(axis->low, low);
    axis->high = fmax(axis->high, high);
}

/* Equal factors apart, with 1 among them, so many that their labels have room. */
static size_t make_ticks(const struct nl_plot_axis *axis, struct nl_plot_tick *ticks,
                         char labels[TICKS_MAX][16])
{
    static const double factors[] = {1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 5, 10, 100};
    double span = log(axis->high / axis->low);
    size_t n = 0, chosen = 0;
    int first, last;

    while (chosen + 1 < sizeof(factors) / sizeof(factors[0]) && span / log(factors[chosen]) > 5)
        chosen++;
    first = (int)ceil(log(axis->low) / log(factors[chosen]));
    last = (int)floor(log(axis->high) / log(factors[chosen]));
    for (int i = first; i <= last && n < TICKS_MAX; i++, n++) {
        ticks[n].at = pow(factors[chosen], i);
        snprintf(labels[n], 16, "%.3g\u00d7", ticks[n].at);
        ticks[n].label = labels[n];
    }
    return n;
}

static void start_series(struct ratios *ratios)
{
    ratios->series[0].kind = NL_PLOT_LINE;
    ratios->series[0].colour = NL_COLOUR_QUIET;
    ratios->series[0].size = 1;
    for (size_t k = 0; k < LOOKS; k++) {
        struct nl_plot_series *intervals = &ratios->series[1 + 2 * k];

        intervals[0].kind = NL_PLOT_INTERVALS_X;
        intervals[1].kind = looks[k].dots;
        intervals[0].colour = intervals[1].colour = looks[k].colour;
    }
}

static size_t name_rows(const json_t *rows, struct nl_plot_tick *names, char (*texts)[96])
{
    size_t n = json_array_size(rows);

    n = n < PLOT_ROWS_MAX ? n : PLOT_ROWS_MAX;
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(rows, i);

        snprintf(texts[i], sizeof(texts[i]), "%.60s %.20s", nl_dig_string(row, "benchmark", "?"),
                 nl_dig_string(row, "layer", "?"));
        names[i] = (struct nl_plot_tick){(double)i + 0.5, texts[i]};
    }
    return n;
}

static void write_legend(struct nl_html *html)
{
    nl_html_open(html, "ul", "legend");
    for (size_t k = 0; k < LOOKS; k++)
        if (looks[k].verdict)
            nl_page_legend_entry(html, looks[k].colour, "%s", looks[k].verdict);
    nl_html_leaf(html, "li", NULL, "hollow: unchanged, or not judged");
    nl_html_leaf(html, "li", "quiet", "to the right of 1\u00d7: slower than the base");
    nl_html_close(html);
}

static void write_ratios(const struct nl_page *page)
{
    const json_t *rows = json_object_get(page->document, "times");
    cleanup_free char(*texts)[96] = calloc(PLOT_ROWS_MAX, sizeof(*texts));
    cleanup_free struct nl_plot_tick *names = calloc(PLOT_ROWS_MAX, sizeof(*names));
    struct nl_plot_tick ticks[TICKS_MAX];
    char labels[TICKS_MAX][16];
    struct ratios ratios = {0};
    struct nl_plot plot = {
        .title = "Times slower than the base, on a log scale",
        .description = "A row for each benchmark at each layer: the ratio with its interval, and a "
                       "line at 1, unchanged; the numbers are in the table below.",
        .width = 340,
        .left = 140,
        .right = 14,
        .top = 2,
        .bottom = 20,
        .x = {.low = 1 / 1.02, .high = 1.02, .log = true, .grid = true, .ticks = ticks},
        .y = {.ticks = names},
        .series = ratios.series,
        .n_series = 1 + 2 * LOOKS,
    };

    if (!texts || !names)
        return;
    plot.y.n_ticks = name_rows(rows, names, texts);
    start_series(&ratios);
    for (size_t i = 0; i < plot.y.n_ticks; i++)
        add_ratio(&ratios, &plot.x, json_array_get(rows, i), (double)i + 0.5);
    nl_plot_add(&ratios.series[0], 1.0, 0.0);
    nl_plot_add(&ratios.series[0], 1.0, (double)plot.y.n_ticks);
    plot.x.low /= 1.01;
    plot.x.high *= 1.01;
    plot.x.n_ticks = make_ticks(&plot.x, ticks, labels);
    write_legend(page->html);
    nl_page_rows(page, &plot, plot.y.n_ticks, ROW_HEIGHT);
    for (size_t k = 0; k < plot.n_series; k++)
        free(ratios.series[k].values);
}

static void write_times(const struct nl_page *page)
{
    static const char *const headings[] = {
        "Benchmark", "At", "Verdict", "Unit", ">Base", ">New", ">Times slower", ">p", NULL};
    const json_t *rows = json_object_get(page->document, "times");
    size_t i, by_samples = 0;
    json_t *row;

    nl_html_open(page->html, "p", "note");
    nl_html_format(page->html,
                   "Medians; how many times slower, with its interval; above 1 is always worse. p "
                   "is corrected for the %zu rows: with %g %% or less it is a change. ~ is "
                   "unstable. In the picture, what is further away than %g times is at the "
                   "edge.",
                   json_array_size(rows), 100 * nl_dig_number(page->document, "alpha", 0), EDGE);
    nl_html_close(page->html);
    json_array_foreach(rows, i, row) by_samples += nl_dig_is(row, "observations", "samples");
    if (by_samples > 0) {
        nl_html_open(page->html, "p", "note");
        nl_html_format(page->html,
                       "%zu of the rows compare samples, not runs: such rows may differ, but how "
                       "far apart runs are that nothing was changed between is not known. From %d "
                       "runs on both sides runs are compared.",
                       by_samples, NL_COMPARE_RUNS_MIN);
        nl_html_close(page->html);
    }
    write_ratios(page);
    nl_html_table(page->html, "Times", headings);
    json_array_foreach(rows, i, row)
    {
        if (i < ROWS_MAX)
            time_row(page->html, row);
    }
    nl_html_table_end(page->html);
    nl_html_leaf(page->html, "p", "note", NL_COMPARE_FACTOR_NOTE);
}

static void signed_cells(struct nl_html *html, const json_t *array, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        double value = json_number_value(json_array_get(array, k));

        nl_html_cell(html, "number", "%s", value == 0 ? "0" : nl_figure_change(value, 0).text);
    }
}

static void metered_row(struct nl_html *html, const json_t *row, size_t depth)
{
    nl_html_open(html, "tr", NULL);
    nl_html_row_heading(html, nl_dig_string(row, "benchmark", "?"));
    nl_html_cell(html, NULL, "%s", nl_dig_string(row, "layer", "?"));
    verdict_cell(html, row);
    nl_html_cell(html, "number", "%s",
                 nl_figure_fixed(nl_dig_number(row, "base.total", 0), 0).text);
    nl_html_cell(html, "number", "%s", nl_figure_fixed(nl_dig_number(row, "new.total", 0), 0).text);
    nl_html_cell(html, "number", "%s%s",
                 nl_figure_change(nl_dig_number(row, "difference", 0), 0).text,
                 nl_dig_true(row, "exact") ? "" : "*");
    if (nl_dig(row, "ratio"))
        nl_html_cell(html, "number", "%s %%",
                     nl_figure_change(100 * (nl_dig_number(row, "ratio", 1) - 1), 2).text);
    else
        nl_html_cell(html, "number", "%s", "");
    signed_cells(html, nl_dig(row, "instructions"), depth);
    signed_cells(html, nl_dig(row, "vmruns"), depth - 1);
    nl_html_close(html);
}

static size_t depth_of(const json_t *rows)
{
    size_t depth = 1, i;
    json_t *row;

    json_array_foreach(rows, i, row)
    {
        size_t n = json_array_size(nl_dig(row, "instructions"));

        depth = n > depth ? n : depth;
    }
    return depth < LAYERS_MAX ? depth : LAYERS_MAX;
}

static void write_metered(const struct nl_page *page)
{
    const char *headings[7 + 2 * LAYERS_MAX + 1] = {"Benchmark", "At",          "Verdict", ">Base",
                                                    ">New",      ">Difference", ">Change"};
    char texts[2 * LAYERS_MAX][24];
    const json_t *rows = json_object_get(page->document, "metered");
    cleanup_free char *note = nl_compare_counted_note(page->document, "of a row that is unchanged");
    size_t depth = depth_of(rows), used = 0, i;
    json_t *row;

    for (i = 0; i < depth; i++)
        snprintf(texts[used++], sizeof(texts[0]), ">by L%zu", i);
    for (i = 0; i + 1 < depth; i++)
        snprintf(texts[used++], sizeof(texts[0]), ">VMRUN by L%zu", i);
    for (i = 0; i < used; i++)
        headings[7 + i] = texts[i];
    nl_html_leaf(page->html, "p", "note",
                 "Instructions of one operation, and whose instructions and VMRUNs make the "
                 "difference. * is where not all operations agree, so that another may be typical "
                 "the next time.");
    nl_html_table(page->html, "Counted instructions", headings);
    json_array_foreach(rows, i, row)
    {
        if (i < ROWS_MAX)
            metered_row(page->html, row, depth);
    }
    nl_html_table_end(page->html);
    if (note && *note)
        nl_html_leaf(page->html, "p", "note", note);
}

static bool any_failed(const json_t *comparison)
{
    return nl_compare_runs_failed(comparison) > 0;
}

static bool any_only(const json_t *comparison)
{
    return nl_dig_integer(comparison, "sum.only_in_base", 0) > 0 ||
           nl_dig_integer(comparison, "sum.only_in_new", 0) > 0;
}

static const struct nl_page_section sections[] = {
    {"failures", "Failures", NULL, any_failed, nl_compare_html_failures},
    {"not-comparable", "Not comparable", "not_comparable", NULL, write_obstacles},
    {"differs", "What differs", "differs", NULL, write_subjects},
    {"times", "Times", "times", NULL, write_times},
    {"counted", "Counted", "metered", NULL, write_metered},
    {"only", "Only one side", NULL, any_only, nl_compare_html_only},
    {"runs", "Runs", "base", NULL, nl_compare_html_runs},
};

char *nl_compare_html(const json_t *comparison)
{
    cleanup_error struct nl_error *missing = NULL;
    struct nl_page page = {.document = comparison, .missing = &missing};

    page.html = nl_html_new("Comparison - nestlab");
    nl_compare_html_head(&page);
    nl_page_sections(&page, sections, sizeof(sections) / sizeof(sections[0]));
    return nl_page_finish(&page, "; `nestlab compare --json` holds more.");
}
