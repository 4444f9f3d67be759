/*
 * report-meter.c - what the meter counted, in the text report: instructions of one operation by the
 * layer that executed them; and the multiplication of exits: who entered guests, and which layers
 * an exit reached.
 */
#include "cleanup.h"
#include "dig.h"
#include "report-text.h"
#include "report-words.h"
#include "table.h"

#include <stdbool.h>
#include <string.h>

/* A table of more layers is wider than any terminal: the inner ones are in the document. */
#define LAYERS_MAX 4

/* A table, and what of a metered benchmark its rows show. */
struct kind {
    struct nl_table *(*heading)(size_t layers);
    void (*cells)(struct nl_table *table, const json_t *metered, size_t layers);
    bool (*applies)(const json_t *metered);
};

static void number_cell(struct nl_table *table, const json_t *array, size_t index)
{
    const json_t *number = json_array_get(array, index);

    if (json_is_integer(number))
        nl_table_cell(table, "%" JSON_INTEGER_FORMAT, json_integer_value(number));
    else
        nl_table_cell(table, "%s", "");
}

/* A table with columns of names and layers, and N of numbers. */
static struct nl_table *table_with(size_t n)
{
    char align[2 + 2 * LAYERS_MAX * LAYERS_MAX] = "ll";
    struct nl_table *table;

    memset(align + 2, 'r', n);
    table = nl_table_new(align);
    nl_table_cell(table, "%s", "");
    nl_table_cell(table, "at");
    return table;
}

static struct nl_table *instructions_heading(size_t layers)
{
    struct nl_table *table = table_with(layers + 2);

    nl_table_cell(table, "sum");
    for (size_t k = 0; k < layers; k++)
        nl_table_cell(table, "by L%zu", k);
    nl_table_cell(table, "disturbed");
    return table;
}

static void instructions_cells(struct nl_table *table, const json_t *metered, size_t layers)
{
    double n = nl_dig_number(metered, "operations", 0);
    double calm = nl_dig_number(metered, "undisturbed", 0);

    nl_table_cell(table, "%" JSON_INTEGER_FORMAT "%s", nl_dig_integer(metered, "total", 0),
                  nl_dig_is(metered, "estimate", "mode") ? "" : "~");
    for (size_t k = 0; k < layers; k++)
        number_cell(table, json_object_get(metered, "instructions"), k);
    nl_table_cell(table, "%.0f %%", n > 0 ? 100 * (n - calm) / n : 0);
}

static bool is_metered(const json_t *metered)
{
    return nl_dig(metered, "total");
}

static struct nl_table *switches_heading(size_t layers)
{
    struct nl_table *table = table_with(layers - 1 + layers * (layers - 1) / 2);

    for (size_t k = 0; k + 1 < layers; k++)
        nl_table_cell(table, "VMRUN by L%zu", k);
    for (size_t i = 1; i < layers; i++)
        for (size_t k = 0; k < i; k++)
            nl_table_cell(table, "L%zu>L%zu", i, k);
    return table;
}

static void switches_cells(struct nl_table *table, const json_t *metered, size_t layers)
{
    for (size_t k = 0; k + 1 < layers; k++)
        number_cell(table, json_object_get(metered, "vmruns"), k);
    for (size_t i = 1; i < layers; i++)
        for (size_t k = 0; k < i; k++)
            nl_table_cell(table, "%" JSON_INTEGER_FORMAT, nl_exits_reached(metered, i, k));
}

static bool has_exits(const json_t *metered)
{
    return json_array_size(json_object_get(metered, "exits")) > 0;
}

static const struct kind instructions = {instructions_heading, instructions_cells, is_metered};
static const struct kind switches = {switches_heading, switches_cells, has_exits};

/* The benchmark NAME at every layer. */
static void rows_of(struct nl_table *table, const struct kind *kind, const json_t *layers,
                    const char *name, size_t n)
{
    for (size_t l = 0; l < n; l++) {
        const json_t *layer = json_array_get(layers, l);
        size_t i;
        json_t *metered;

        json_array_foreach(json_object_get(layer, "metered"), i, metered)
        {
            if (!nl_dig_is(metered, "name", name) || !kind->applies(metered))
                continue;
            nl_table_cell(table, "%s", name);
            nl_table_cell(table, "%s", nl_dig_string(layer, "name", "?"));
            kind->cells(table, metered, n);
        }
    }
}

/* All layers of a benchmark together, in the order of the first layer that has it; NULL: none. */
static struct nl_table *fill(const struct kind *kind, const json_t *layers, size_t n)
{
    cleanup_json json_t *seen = json_object();
    struct nl_table *table = NULL;
    size_t l, i;
    json_t *layer, *metered;

    json_array_foreach(layers, l, layer)
    {
        json_array_foreach(json_object_get(layer, "metered"), i, metered)
        {
            const char *name = nl_dig_string(metered, "name", NULL);

            if (l >= n || !name || !kind->applies(metered) || json_object_get(seen, name))
                continue;
            json_object_set_new(seen, name, json_true());
            if (!table)
                table = kind->heading(n);
            rows_of(table, kind, layers, name, n);
        }
    }
    return table;
}

void nl_text_extra_exits(const struct nl_text *to, const json_t *document, const char *key)
{
    int n =
        (int)nl_dig_integer(nl_dig(json_object_get(document, "scenario"), key), "extra_exits", 0);

    if (n > 0)
        fprintf(to->out, "  %sthe scenario adds %d %s to every operation%s\n", to->yellow, n,
                n == 1 ? "CPUID" : "CPUIDs", to->plain);
}

void nl_text_meter(const struct nl_text *to, const json_t *document)
{
    const json_t *layers = json_object_get(document, "layers");
    size_t all = nl_metered_layers(document);
    size_t n = all > LAYERS_MAX ? LAYERS_MAX : all;
    struct nl_table *table = fill(&instructions, layers, n);

    if (table) {
        nl_text_section(to, "Meter", "instructions of one operation, by layer; ~ does not repeat");
        nl_text_extra_exits(to, document, "meter");
        nl_table_print(table, to->out, to->dim, to->plain);
        if (all > n)
            fprintf(to->out, "  layers from L%zu on are in the document, and in the sum\n", n);
    }
    table = n > 1 ? fill(&switches, layers, n) : NULL;
    if (table) {
        nl_text_section(to, "Exit multiplication",
                        "of one operation; L2>L1: exits of L2 that L1 had to handle");
        nl_table_print(table, to->out, to->dim, to->plain);
    }
}
