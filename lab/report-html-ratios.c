/*
 * report-html-ratios.c - the slowdown as a picture in the report's page: how many times slower than
 * L0, on a log scale, with 95 % intervals.
 */
#include "cleanup.h"
#include "dig.h"
#include "report-html.h"

#define ROWS_MAX 200
#define LANE 10.0 /* of one layer */
#define GAP 8.0
#define LABELS 118.0

/* Of one layer. */
struct ratios {
    struct nl_plot_series intervals;
    struct nl_plot_series stable;
    struct nl_plot_series unstable;
};

enum { SERIES_PER_LAYER = sizeof(struct ratios) / sizeof(struct nl_plot_series) };

static const json_t *ratio_of(const json_t *entry, const char *layer)
{
    size_t i;
    json_t *element;

    json_array_foreach(json_object_get(entry, "layers"), i, element)
    {
        if (nl_dig_is(element, "layer", layer))
            return nl_dig(element, "to_l0");
    }
    return NULL;
}

static bool can_be_shown(double value)
{
    return value > 1e-6 && value < 1e9;
}

/* Whole decades, 1 among them. */
static void widen(struct nl_plot_axis *axis, double value)
{
    if (!can_be_shown(value))
        return;
    axis->low = fmin(axis->low, pow(10, floor(log10(value))));
    axis->high = fmax(axis->high, pow(10, ceil(log10(value))));
}

static void add_ratio(struct ratios *ratios, struct nl_plot_axis *axis, const json_t *ratio,
                      double y)
{
    double value = nl_dig_number(ratio, "ratio", 0);
    double low = nl_dig_number(ratio, "low", 0);
    double high = nl_dig_number(ratio, "high", 0);

    if (!can_be_shown(value))
        return;
    widen(axis, value);
    nl_plot_add(nl_dig_true(ratio, "unstable") ? &ratios->unstable : &ratios->stable, value, y);
    if (!can_be_shown(low) || !can_be_shown(high))
        return;
    widen(axis, low);
    widen(axis, high);
    nl_plot_add(&ratios->intervals, low, high, y);
}

static void add_layer(const struct nl_page *page, struct ratios *ratios, struct nl_plot_axis *axis,
                      size_t layer)
{
    double lanes = (double)nl_page_layers(page->document) - 1;
    double row = LANE * lanes + GAP;
    size_t i;
    json_t *entry;

    ratios->intervals.kind = NL_PLOT_INTERVALS_X;
    ratios->unstable.kind = NL_PLOT_HOLLOW;
    ratios->intervals.colour = ratios->stable.colour = ratios->unstable.colour =
        nl_colour_series(layer);
    json_array_foreach(json_object_get(page->document, "slowdown"), i, entry)
    {
        if (i < ROWS_MAX)
            add_ratio(ratios, axis, ratio_of(entry, nl_page_layer_name(page->document, layer)),
                      (double)i + (GAP / 2 + LANE * ((double)layer - 0.5)) / row);
    }
}

static void write_legend(const struct nl_page *page, size_t layers)
{
    char after[32];

    snprintf(after, sizeof(after), " to %.20s", nl_page_layer_name(page->document, 0));
    nl_page_legend(page, 1, layers, "", after);
    nl_html_leaf(page->html, "li", NULL, "hollow: unstable");
    if (layers > 2)
        nl_html_leaf(page->html, "li", "quiet", "in each row from above");
    nl_html_close(page->html);
}

void nl_page_ratios(const struct nl_page *page)
{
    const json_t *entries = json_object_get(page->document, "slowdown");
    size_t n = json_array_size(entries) < ROWS_MAX ? json_array_size(entries) : ROWS_MAX;
    size_t layers = nl_page_layers(page->document);
    struct ratios ratios[NL_PAGE_LAYERS_MAX] = {0};
    struct nl_plot_tick names[ROWS_MAX];
    struct nl_plot plot = {
        .title = "Times slower than L0, on a log scale",
        .description = "A row for each benchmark, in it a dot for each layer with its 95 % "
                       "interval; the numbers are in the table below.",
        .width = 340,
        .left = LABELS,
        .right = 14,
        .top = 2,
        .bottom = 20,
        .x = {.low = 1, .high = 10, .log = true, .grid = true, .suffix = "\u00d7"},
        .y = {.ticks = names, .n_ticks = n, .grid = true},
        .series = &ratios[1].intervals,
        .n_series = (layers - 1) * SERIES_PER_LAYER,
    };

    if (layers < 2)
        return;
    for (size_t i = 0; i < n; i++)
        names[i] = (struct nl_plot_tick){
            (double)i + 0.5, nl_dig_string(json_array_get(entries, i), "benchmark", "?")};
    for (size_t k = 1; k < layers; k++)
        add_layer(page, &ratios[k], &plot.x, k);
    plot.x.step = pow(10, ceil(log10(plot.x.high / plot.x.low) / 4));
    write_legend(page, layers);
    nl_page_rows(page, &plot, n, LANE * (double)(layers - 1) + GAP);
    for (size_t k = 1; k < layers; k++) {
        free(ratios[k].intervals.values);
        free(ratios[k].stable.values);
        free(ratios[k].unstable.values);
    }
}
