/*
 * report-meter.c - what the meter counted, in the text report: instructions of one operation by the
 * layer that executed them; and the multiplication of exits: who entered guests, and which layers
 * an exit reached.
 */
#include "cleanup.h"
#include "dig.h"
#include "metered-marks.h"
#include "report-text.h"
#include "report-words.h"
#include "table.h"

#include <stdbool.h>
#include <string.h>

/* A table of more layers is wider than any terminal: the inner ones are in the document. */
#define LAYERS_MAX 4

/* A table that is being filled. */
struct rows {
    struct nl_table *table; /* NULL: nothing yet */
    const json_t *marks;
    size_t layers; /* that are shown */
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

static void name_cells(struct nl_table *table, const json_t *document, size_t at,
                       const json_t *metered)
{
    const json_t *layer = json_array_get(json_object_get(document, "layers"), at);

    nl_table_cell(table, "%s", nl_dig_string(metered, "name", "?"));
    nl_table_cell(table, "%s", nl_dig_string(layer, "name", "?"));
}

static void instructions_row(const json_t *document, size_t at, const json_t *metered, void *data)
{
    struct rows *rows = data;
    struct nl_table *table;
    double n = nl_dig_number(metered, "operations", 0);
    double calm = nl_dig_number(metered, "undisturbed", 0);

    if (at >= rows->layers)
        return;
    if (!rows->table)
        rows->table = instructions_heading(rows->layers);
    table = rows->table;
    name_cells(table, document, at, metered);
    nl_table_cell(table, "%" JSON_INTEGER_FORMAT "%s", nl_dig_integer(metered, "total", 0),
                  nl_metered_mark(rows->marks, at, metered) ? "~" : "");
    for (size_t k = 0; k < rows->layers; k++)
        number_cell(table, json_object_get(metered, "instructions"), k);
    nl_table_cell(table, "%.0f %%", n > 0 ? 100 * (n - calm) / n : 0);
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

static void switches_row(const json_t *document, size_t at, const json_t *metered, void *data)
{
    struct rows *rows = data;

    if (at >= rows->layers || json_array_size(json_object_get(metered, "exits")) == 0 ||
        (nl_metered_mark(rows->marks, at, metered) & NL_MARK_INTERRUPTS))
        return;
    if (!rows->table)
        rows->table = switches_heading(rows->layers);
    name_cells(rows->table, document, at, metered);
    for (size_t k = 0; k + 1 < rows->layers; k++)
        number_cell(rows->table, json_object_get(metered, "vmruns"), k);
    for (size_t i = 1; i < rows->layers; i++)
        for (size_t k = 0; k < i; k++)
            nl_table_cell(rows->table, "%" JSON_INTEGER_FORMAT, nl_exits_reached(metered, i, k));
}

void nl_text_extra_exits(const struct nl_text *to, const json_t *document, const char *key)
{
    int n =
        (int)nl_dig_integer(nl_dig(json_object_get(document, "scenario"), key), "extra_exits", 0);

    if (n > 0)
        fprintf(to->out, "  %sthe scenario adds %d %s to every operation%s\n", to->yellow, n,
                n == 1 ? "CPUID" : "CPUIDs", to->plain);
}

static void print_instructions(const struct nl_text *to, const json_t *document,
                               const json_t *marks, size_t layers)
{
    struct rows rows = {.marks = marks, .layers = layers};
    cleanup_json json_t *notes = nl_metered_notes(document, marks);

    nl_each_benchmark(document, "metered", nl_metered_counted, instructions_row, &rows);
    if (!rows.table && json_array_size(notes) == 0)
        return;
    nl_text_section(to, "Meter",
                    json_object_size(marks) > 0
                        ? "instructions of one operation, by layer; ~ see below"
                        : "instructions of one operation, by layer");
    nl_text_extra_exits(to, document, "meter");
    if (rows.table)
        nl_table_print(rows.table, to->out, to->dim, to->plain);
    if (nl_metered_layers(document) > layers)
        fprintf(to->out, "  layers from L%zu on are in the document, and in the sum\n", layers);
    nl_text_lines(to, notes);
}

static void print_switches(const struct nl_text *to, const json_t *document, const json_t *marks,
                           size_t layers)
{
    struct rows rows = {.marks = marks, .layers = layers};
    cleanup_free char *left_out = nl_metered_left_out(document, marks);

    nl_each_benchmark(document, "metered", nl_metered_counted, switches_row, &rows);
    if (!rows.table && !left_out)
        return;
    nl_text_section(to, "Exit multiplication",
                    layers > 2 ? "of one operation; L2>L1: exits of L2 that L1 had to handle"
                               : "of one operation");
    if (rows.table)
        nl_table_print(rows.table, to->out, to->dim, to->plain);
    if (!left_out)
        return;
    fprintf(to->out, "  %sleft out, as exits by interrupts are among theirs:%s ", to->dim,
            to->plain);
    nl_text_wrap(to, left_out, 53, 4);
}

void nl_text_meter(const struct nl_text *to, const json_t *document)
{
    size_t all = nl_metered_layers(document);
    size_t n = all > LAYERS_MAX ? LAYERS_MAX : all;
    cleanup_json json_t *marks = nl_metered_marks(document);

    print_instructions(to, document, marks, n);
    if (n > 1)
        print_switches(to, document, marks, n);
}
