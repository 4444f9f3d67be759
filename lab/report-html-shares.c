/*
 * report-html-shares.c - what the meter counted as pictures in the report's page: the share of each
 * layer in an operation's instructions, and how often L0 entered a guest meanwhile.
 */
#include "cleanup.h"
#include "dig.h"
#include "figure.h"
#include "metered-marks.h"
#include "report-html.h"

#include <string.h>

#define ROWS_MAX 200
#define ROW 16.0
#define LANE 10.0
#define GAP 8.0

/* Rows, with what they are called and what is written at their end. */
struct rows {
    size_t n;
    size_t layers; /* that the meter saw */
    struct nl_plot_tick names[ROWS_MAX];
    struct nl_plot_tick beside[ROWS_MAX];
    struct nl_plot_series series[NL_PAGE_LAYERS_MAX];
};

static struct rows *new_rows(enum nl_plot_kind kind)
{
    struct rows *rows = calloc(1, sizeof(*rows));

    for (size_t k = 0; rows && k < NL_PAGE_LAYERS_MAX; k++) {
        rows->series[k].kind = kind;
        rows->series[k].colour = nl_colour_series(k);
    }
    return rows;
}

static void free_rows(struct rows **rows)
{
    if (!*rows)
        return;
    for (size_t k = 0; k < NL_PAGE_LAYERS_MAX; k++)
        free((*rows)->series[k].values);
    for (size_t i = 0; i < ROWS_MAX; i++) {
        free((char *)(*rows)->names[i].label);
        free((char *)(*rows)->beside[i].label);
    }
    free(*rows);
}
#define cleanup_rows NL_CLEANUP(free_rows)

/* The labels are the row's. */
static void add_row(struct rows *rows, char *name, char *beside)
{
    double at = (double)rows->n + 0.5;

    rows->names[rows->n] = (struct nl_plot_tick){at, name};
    rows->beside[rows->n] = (struct nl_plot_tick){at, beside};
    rows->n++;
}

/* "987", "36.9 k", "1.2 M", and MARK after it */
static char *short_number(double value, const char *mark)
{
    static const char *const units[] = {"", " k", " M", " G", " T"};
    char *text = NULL;
    size_t i = 0;

    while (value >= 999.5 && i + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1000;
        i++;
    }
    return asprintf(&text, "%s%s%s", nl_figure_fixed(value, i > 0 && value < 99.95 ? 1 : 0).text,
                    units[i], mark) < 0
               ? NULL
               : text;
}

/* At L0 all is L0's: nothing to see. */
static void add_share(const struct nl_page *page, const json_t *metered, size_t layer, bool first,
                      unsigned mark, void *data)
{
    struct rows *rows = data;
    size_t n = rows->layers;
    double from = 0, sum = 0;
    char *name = NULL;

    (void)first;
    for (size_t k = 0; k < n; k++)
        sum += nl_page_instructions(metered, k);
    if (rows->n == ROWS_MAX || sum <= 0 || (layer == 0 && n > 1) ||
        asprintf(&name, "%.40s %.10s", nl_dig_string(metered, "name", "?"),
                 nl_page_layer_name(page->document, layer)) < 0)
        return;
    for (size_t k = 0; k < n; k++) {
        double part = 100 * nl_page_instructions(metered, k) / sum;

        if (part > 0)
            nl_plot_add(&rows->series[k], from, from + part, (double)rows->n + 0.15,
                        (double)rows->n + 0.85);
        from += part;
    }
    add_row(rows, name, short_number(nl_dig_number(metered, "total", sum), mark ? "~" : ""));
}

void nl_page_meter_shares(const struct nl_page *page)
{
    cleanup_rows struct rows *rows = new_rows(NL_PLOT_BOXES);
    struct nl_plot plot = {
        .title = "Share of each layer in the instructions of one operation",
        .description = "A bar for each benchmark and layer, in it a part for each layer that "
                       "executed instructions; the numbers are in the table below.",
        .width = 340,
        .left = 142,
        .right = 52,
        .top = 2,
        .bottom = 20,
        .x = {.low = 0, .high = 100, .grid = true, .step = 50, .suffix = " %"},
    };

    if (!rows)
        return;
    rows->layers = nl_page_metered_layers(page->document);
    nl_page_each_metered(page, add_share, rows);
    if (rows->n == 0)
        return;
    plot.y = (struct nl_plot_axis){.ticks = rows->names, .n_ticks = rows->n};
    plot.beside = rows->beside;
    plot.n_beside = rows->n;
    plot.series = rows->series;
    plot.n_series = rows->layers;
    nl_page_legend(page, 0, plot.n_series, "executed by ", "");
    nl_html_leaf(page->html, "li", "quiet", "in each row from the left");
    nl_html_close(page->html);
    nl_page_rows(page, &plot, rows->n, ROW);
}

static void add_entries(const struct nl_page *page, const json_t *metered, size_t layer, bool first,
                        unsigned mark, void *data)
{
    struct rows *rows = data;
    double lanes = (double)nl_page_layers(page->document) - 1;
    const json_t *entries = json_array_get(json_object_get(metered, "vmruns"), 0);
    double value = json_is_number(entries) ? json_number_value(entries) : 0;
    const char *name = nl_dig_string(metered, "name", "?");
    bool same =
        rows->n > 0 && !first &&
        strcmp(rows->names[rows->n - 1].label ? rows->names[rows->n - 1].label : "", name) == 0;

    if (value < 1 || layer == 0 || (mark & NL_MARK_INTERRUPTS) || (!same && rows->n == ROWS_MAX))
        return;
    if (!same)
        add_row(rows, strdup(name), NULL);
    nl_plot_add(&rows->series[layer], value,
                (double)(rows->n - 1) +
                    (GAP / 2 + LANE * ((double)layer - 0.5)) / (LANE * lanes + GAP));
}

void nl_page_meter_entries(const struct nl_page *page)
{
    cleanup_rows struct rows *rows = new_rows(NL_PLOT_POINTS);
    size_t layers = nl_page_layers(page->document);
    struct nl_plot plot = {
        .title = "Guest entries by L0 for one operation, on a log scale",
        .description = "A row for each benchmark that leaves its guest, in it a dot for each layer "
                       "that it ran at; the numbers are in the table below.",
        .width = 340,
        .left = 118,
        .right = 14,
        .top = 2,
        .bottom = 20,
        .x = {.low = 1, .high = 10, .log = true, .grid = true},
    };

    if (!rows || layers < 2)
        return;
    nl_page_each_metered(page, add_entries, rows);
    if (rows->n == 0)
        return;
    for (size_t k = 1; k < layers; k++)
        for (size_t i = 0; i < rows->series[k].n; i++)
            plot.x.high =
                fmax(plot.x.high, pow(10, ceil(log10(1.1 * rows->series[k].values[2 * i]))));
    /* A dot at 1 is to be seen whole. */
    plot.x.low = 0.8;
    plot.x.step = pow(10, ceil(log10(plot.x.high) / 4));
    plot.y = (struct nl_plot_axis){.ticks = rows->names, .n_ticks = rows->n, .grid = true};
    plot.series = &rows->series[1];
    plot.n_series = layers - 1;
    nl_page_legend(page, 1, layers, "VMRUN by L0, for an operation at ", "");
    if (layers > 2)
        nl_html_leaf(page->html, "li", "quiet", "in each row from above");
    nl_html_close(page->html);
    nl_page_rows(page, &plot, rows->n, LANE * (double)(layers - 1) + GAP);
}
