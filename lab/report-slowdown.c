/*
 * report-slowdown.c - the slowdown in the text report: medians and ratios, layer by layer.
 */
#include "cleanup.h"
#include "dig.h"
#include "figure.h"
#include "report-text.h"
#include "table.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* A table of more layers is wider than any terminal: the inner ones are in the document. */
#define LAYERS_MAX 4

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

/* "13.6 ±0.4%": the farther end of the interval; both are in the document. */
static void ratio_cell(struct nl_table *table, const json_t *layer, const char *key)
{
    const json_t *ratio = nl_dig(layer, key);
    double value = nl_dig_number(ratio, "ratio", 0);
    double away = fmax(nl_dig_number(ratio, "high", value) - value,
                       value - nl_dig_number(ratio, "low", value));
    int digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
    const char *mark = nl_dig_true(ratio, "unstable") ? "~" : "";

    if (!ratio)
        nl_table_cell(table, "%s", "");
    else if (value > 0 && nl_dig(ratio, "low") && nl_dig(ratio, "high"))
        nl_table_cell(table, "%s%s ±%s%%", nl_figure_fixed(value, digits).text, mark,
                      nl_figure_fixed(100 * (away / value), away < 0.1 * value ? 1 : 0).text);
    else
        nl_table_cell(table, "%s%s", nl_figure_fixed(value, digits).text, mark);
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

static void print_skipped(const struct nl_text *to, const json_t *document)
{
    size_t i, k;
    json_t *layer, *benchmark;

    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        json_array_foreach(json_object_get(layer, "benchmarks"), k, benchmark)
        {
            char *text = NULL;

            if (!nl_dig(benchmark, "skipped") ||
                asprintf(&text, "%s: %s", nl_dig_string(benchmark, "name", "?"),
                         nl_dig_string(benchmark, "skipped", "")) < 0)
                continue;
            fprintf(to->out, "  %snot at L%zu:%s ", to->dim, i, to->plain);
            nl_text_wrap(to, text, 14, 4);
            free(text);
        }
    }
}

/* What the table does not show: why a series is unstable, other than by a wide interval. */
static void print_unstable(const struct nl_text *to, const char *benchmark, const json_t *layer)
{
    const json_t *why = json_object_get(layer, "why_unstable");
    size_t i;
    json_t *reason;

    json_array_foreach(why, i, reason)
    {
        const char *name = json_is_string(reason) ? json_string_value(reason) : "";
        cleanup_free char *text = NULL;
        int rc = 0;

        if (strcmp(name, "drifts") == 0)
            rc = asprintf(&text, "%s at %s drifts by %s %% from first to last sample", benchmark,
                          nl_dig_string(layer, "layer", "?"),
                          nl_figure_change(100 * nl_dig_number(layer, "drift", 0), 0).text);
        else if (strcmp(name, "autocorrelated") == 0)
            rc = asprintf(&text, "%s at %s: neighbours are alike (r = %s)", benchmark,
                          nl_dig_string(layer, "layer", "?"),
                          nl_figure_fixed(nl_dig_number(layer, "lag1", 0), 2).text);
        if (rc <= 0)
            continue;
        fprintf(to->out, "  %sunstable:%s ", to->dim, to->plain);
        nl_text_wrap(to, text, 12, 4);
    }
}

void nl_text_slowdown(const struct nl_text *to, const json_t *document)
{
    const json_t *layers = json_object_get(document, "layers");
    const json_t *entries = json_object_get(document, "slowdown");
    size_t n = json_array_size(layers);
    struct nl_table *table;
    size_t i;
    json_t *entry;

    if (json_array_size(entries) == 0)
        return;
    n = n > LAYERS_MAX ? LAYERS_MAX : n;
    nl_text_section(to, "Slowdown", "medians; x: times slower, \u00b1 95 % interval; ~ unstable");
    nl_text_extra_exits(to, document, "benchmarks");
    table = heading(layers, n);
    json_array_foreach(entries, i, entry) row(table, entry, layers, n);
    nl_table_print(table, to->out, to->dim, to->plain);
    json_array_foreach(entries, i, entry)
    {
        size_t k;
        json_t *layer;

        json_array_foreach(json_object_get(entry, "layers"), k, layer)
            print_unstable(to, nl_dig_string(entry, "benchmark", "?"), layer);
    }
    print_skipped(to, document);
}
