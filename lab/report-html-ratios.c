/*
 * report-html-ratios.c - the slowdown as a picture in the report's page: how many times slower than
 * L0, on a log scale, with 95 % intervals.
 *
 * Positions are in per cent of the width that there is, so that it fits a phone.
 */
#include "dig.h"
#include "report-html.h"

#include <math.h>
#include <string.h>

#define ROWS_MAX 200
#define LABELS 36.0 /* per cent of the width that the names take */
#define LANE 11.0   /* of one layer */
#define GAP 7.0

/* The axis: decades. */
struct axis {
    int first;
    int last;
};

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

static void widen(struct axis *axis, double value)
{
    if (!can_be_shown(value))
        return;
    if (floor(log10(value)) < axis->first)
        axis->first = (int)floor(log10(value));
    if (ceil(log10(value)) > axis->last)
        axis->last = (int)ceil(log10(value));
}

/* One decade at least, with 1 in it. */
static struct axis find_axis(const json_t *document)
{
    struct axis axis = {0, 1};
    size_t i;
    json_t *entry;

    json_array_foreach(json_object_get(document, "slowdown"), i, entry)
    {
        for (size_t k = 1; i < ROWS_MAX && k < nl_page_layers(document); k++) {
            const json_t *ratio = ratio_of(entry, nl_page_layer_name(document, k));

            widen(&axis, nl_dig_number(ratio, "ratio", 0));
            widen(&axis, nl_dig_number(ratio, "low", 0));
            widen(&axis, nl_dig_number(ratio, "high", 0));
        }
    }
    return axis;
}

static double position(const struct axis *axis, double value)
{
    return LABELS + (98 - LABELS) * (log10(value) - axis->first) / (axis->last - axis->first);
}

static void write_text(struct nl_html *html, double x, double y, const char *anchor,
                       unsigned colour, const char *text)
{
    char at[32];

    snprintf(at, sizeof(at), "%.2f%%", x);
    nl_page_label(html, at, y, anchor, "13", colour, text);
}

static void write_line(struct nl_html *html, unsigned colour, double x1, double x2, double y1,
                       double y2, const char *width)
{
    nl_html_open(html, "line", NULL);
    nl_page_colour(html, colour);
    nl_html_attribute(html, "x1", "%.2f%%", x1);
    nl_html_attribute(html, "x2", "%.2f%%", x2);
    nl_html_attribute(html, "y1", "%.1f", y1);
    nl_html_attribute(html, "y2", "%.1f", y2);
    nl_html_attribute(html, "stroke", "currentColor");
    nl_html_attribute(html, "stroke-width", "%s", width);
    nl_html_close(html);
}

/* The ratio as a dot, hollow if it is unstable, and its interval as a line. */
static void write_ratio(struct nl_html *html, const struct axis *axis, const json_t *ratio,
                        size_t layer, double y)
{
    double value = nl_dig_number(ratio, "ratio", 0);
    double low = nl_dig_number(ratio, "low", 0);
    double high = nl_dig_number(ratio, "high", 0);

    if (!can_be_shown(value))
        return;
    if (can_be_shown(low) && can_be_shown(high))
        write_line(html, nl_colour_series(layer), position(axis, low), position(axis, high), y, y,
                   "2");
    nl_html_open(html, "circle", NULL);
    nl_page_colour(html, nl_colour_series(layer));
    nl_html_attribute(html, "cx", "%.2f%%", position(axis, value));
    nl_html_attribute(html, "cy", "%.1f", y);
    nl_html_attribute(html, "r", "3.5");
    nl_html_attribute(html, "stroke", "currentColor");
    nl_html_attribute(html, "stroke-width", "1.5");
    nl_html_attribute(html, "fill", "%s", nl_dig_true(ratio, "unstable") ? "none" : "currentColor");
    nl_html_close(html);
}

static void write_axis(struct nl_html *html, const struct axis *axis, double height)
{
    int step = (axis->last - axis->first) / 5 + 1;

    for (int decade = axis->first; decade <= axis->last; decade++) {
        double x = position(axis, pow(10, decade));
        char text[32];

        /* 1 is always among them. */
        if (decade % step != 0)
            continue;
        write_line(html, decade == 0 ? NL_COLOUR_QUIET : NL_COLOUR_RULE, x, x, 0, height, "1");
        snprintf(text, sizeof(text), "%g\u00d7", pow(10, decade));
        write_text(html, x, height + 16, "middle", NL_COLOUR_QUIET, text);
    }
}

static void write_legend(const struct nl_page *page)
{
    nl_html_open(page->html, "ul", "legend");
    for (size_t k = 1; k < nl_page_layers(page->document); k++) {
        nl_html_open(page->html, "li", NULL);
        nl_page_swatch(page->html, k);
        nl_html_format(page->html, "%s to %s", nl_page_layer_name(page->document, k),
                       nl_page_layer_name(page->document, 0));
        nl_html_close(page->html);
    }
    nl_html_leaf(page->html, "li", NULL, "hollow: unstable");
    nl_html_close(page->html);
}

void nl_page_ratios(const struct nl_page *page)
{
    const json_t *entries = json_object_get(page->document, "slowdown");
    size_t n = json_array_size(entries) < ROWS_MAX ? json_array_size(entries) : ROWS_MAX;
    size_t layers = nl_page_layers(page->document);
    double row = LANE * (double)(layers - 1) + GAP;
    struct axis axis = find_axis(page->document);

    if (layers < 2)
        return;
    write_legend(page);
    nl_html_picture(page->html, "fluid ratios", 0, (double)n * row + 24,
                    "Times slower than L0, on a log scale",
                    "A row for each benchmark, in it a dot for each layer with its 95 % interval; "
                    "the numbers are in the table below.");
    write_axis(page->html, &axis, (double)n * row);
    for (size_t i = 0; i < n; i++) {
        const json_t *entry = json_array_get(entries, i);
        double y = (double)i * row;

        write_text(page->html, 0, y + row / 2 + 4, "start", NL_COLOUR_TEXT,
                   nl_dig_string(entry, "benchmark", "?"));
        for (size_t k = 1; k < layers; k++)
            write_ratio(page->html, &axis, ratio_of(entry, nl_page_layer_name(page->document, k)),
                        k, y + GAP / 2 + LANE * ((double)k - 0.5));
    }
    nl_html_close(page->html);
}
