/*
 * report-slowdown.c - the slowdown in the text report: medians and ratios, layer by layer.
 */
#include "cleanup.h"
#include "dig.h"
#include "figure.h"
#include "report-notes.h"
#include "report-text.h"
#include "table.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* A table of more layers is wider than any terminal: the inner ones are in the document. */
#define LAYERS_MAX 4

/* Part of a ratio that an end of its interval may be away, for one figure to stand for both ends.
 */
#define NARROW 0.05

static const json_t *of_layer(const json_t *entry, const char *layer)
{
    size_t i;
    json_t *element;

    json_array_foreach(json_object_get(entry, "layers"), i, element)
    {
        if (nl_dig_is(element, "layer", layer))
            return element;
    }
    return NULL;
}

static void median_cell(struct nl_table *table, const json_t *layer)
{
    if (!nl_dig(layer, "median")) {
        nl_table_cell(table, "%s", "");
        return;
    }
    nl_table_cell(table, "%s%s", nl_figure(nl_dig_number(layer, "median", 0)).text,
                  nl_dig_true(layer, "unstable") ? "~" : "");
}

/* VALUE with three digits of a number as great as LIKE: "136k" keeps the table narrow. */
static struct nl_figure times(double value, double like)
{
    bool thousands = like >= 1e4 && like < 1e7;
    double unit = thousands ? 1000 : 1;
    int digits = like >= 100 * unit ? 0 : like >= 10 * unit ? 1 : 2;
    struct nl_figure figure = nl_figure_fixed(value / unit, digits);
    size_t n = strlen(figure.text);

    if (thousands && n + 1 < sizeof(figure.text))
        memcpy(figure.text + n, "k", 2);
    return figure;
}

/* "13.6 ±0.4%" by the farther end of a narrow interval, "13.6 11.2-19.1" else: a wide one has its
   ends at different distances. */
static void ratio_cell(struct nl_table *table, const json_t *layer, const char *key)
{
    const json_t *ratio = nl_dig(layer, key);
    double value = nl_dig_number(ratio, "ratio", 0);
    double low = nl_dig_number(ratio, "low", value), high = nl_dig_number(ratio, "high", value);
    double away = fmax(high - value, value - low);
    const char *mark = nl_dig_true(ratio, "unstable") ? "~" : "";

    if (!ratio)
        nl_table_cell(table, "%s", "");
    else if (!nl_dig(ratio, "low") || !nl_dig(ratio, "high"))
        nl_table_cell(table, "%s%s", times(value, value).text, mark);
    else if (value > 0 && away <= NARROW * value)
        nl_table_cell(table, "%s%s ±%s%%", times(value, value).text, mark,
                      nl_figure_fixed(100 * (away / value), 1).text);
    else
        nl_table_cell(table, "%s%s %s-%s", times(value, value).text, mark, times(low, value).text,
                      times(high, value).text);
}

/* Columns: name, unit, and for each layer its median, its ratio to the layer below, and for the
   innermost of three or more its ratio to L0. */
static struct nl_table *heading(const json_t *layers, size_t n)
{
    char align[3 + 3 * LAYERS_MAX] = "ll";
    struct nl_table *table;

    for (size_t k = 0, used = 2; k < n; k++) {
        size_t columns = k == 0 ? 1 : k >= 2 && k == n - 1 ? 3 : 2;

        memset(align + used, 'r', columns);
        used += columns;
    }
    table = nl_table_new(align);
    nl_table_cell(table, "%s", "");
    nl_table_cell(table, "%s", "unit");
    for (size_t k = 0; k < n; k++) {
        const char *name = nl_dig_string(json_array_get(layers, k), "name", "?");

        nl_table_cell(table, "%s", name);
        if (k > 0)
            nl_table_cell(table, "x %s", nl_dig_string(json_array_get(layers, k - 1), "name", "?"));
        if (k >= 2 && k == n - 1)
            nl_table_cell(table, "x %s", nl_dig_string(json_array_get(layers, 0), "name", "?"));
    }
    return table;
}

static void row(struct nl_table *table, const json_t *entry, const json_t *layers, size_t n)
{
    nl_table_cell(table, "%s", nl_dig_string(entry, "benchmark", "?"));
    nl_table_cell(table, "%s", nl_dig_string(entry, "unit", "?"));
    for (size_t k = 0; k < n; k++) {
        const json_t *layer =
            of_layer(entry, nl_dig_string(json_array_get(layers, k), "name", "?"));

        median_cell(table, layer);
        if (k > 0)
            ratio_cell(table, layer, "to_below");
        if (k >= 2 && k == n - 1)
            ratio_cell(table, layer, "to_l0");
    }
}

void nl_text_slowdown(const struct nl_text *to, const json_t *document)
{
    const json_t *layers = json_object_get(document, "layers");
    const json_t *entries = json_object_get(document, "slowdown");
    size_t n = json_array_size(layers);
    cleanup_json json_t *unstable = nl_notes_unstable(document);
    cleanup_json json_t *skipped = nl_notes_skipped(document, "benchmarks");
    struct nl_table *table;
    size_t i;
    json_t *entry;

    if (json_array_size(entries) == 0)
        return;
    n = n > LAYERS_MAX ? LAYERS_MAX : n;
    nl_text_section(to, "Slowdown", "medians; x: times slower, with 95 % interval; ~ unstable");
    nl_text_extra_exits(to, document, "benchmarks");
    table = heading(layers, n);
    json_array_foreach(entries, i, entry) row(table, entry, layers, n);
    nl_table_print(table, to->out, to->dim, to->plain);
    nl_text_lines(to, unstable);
    nl_text_lines(to, skipped);
}
