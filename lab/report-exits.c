/*
 * report-exits.c - VM exits per operation in the text report: KVM's counters around each benchmark,
 * and its tracepoints.
 */
#include "cleanup.h"
#include "dig.h"
#include "figure.h"
#include "report-notes.h"
#include "report-reasons.h"
#include "report-text.h"
#include "report-words.h"
#include "table.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define LAYERS_MAX 4

static void per_operation_cell(struct nl_table *table, const json_t *benchmark, const char *layer,
                               const char *key)
{
    double n = nl_exits_per_operation(benchmark, layer, key);

    if (isnan(n))
        nl_table_cell(table, "%s", "");
    else
        nl_table_cell(table, "%s", nl_figure_per_operation(n).text);
}

static void row(struct nl_table *table, const json_t *layers, size_t at, const json_t *benchmark,
                size_t n)
{
    nl_table_cell(table, "%s", nl_dig_string(benchmark, "name", "?"));
    nl_table_cell(table, "%s", nl_dig_string(json_array_get(layers, at), "name", "?"));
    nl_table_cell(table, "%s", nl_figure_fixed(nl_dig_number(benchmark, "operations", 0), 0).text);
    for (size_t k = 1; k < n; k++) {
        const char *name = nl_dig_string(json_array_get(layers, k), "name", "?");

        per_operation_cell(table, benchmark, name, "exits");
        per_operation_cell(table, benchmark, name, "irq_exits");
        if (k + 1 < n)
            per_operation_cell(table, benchmark, name, "nested_run");
    }
}

static struct nl_table *heading(size_t n)
{
    char align[3 + 3 * LAYERS_MAX + 1] = "llr";
    struct nl_table *table;

    memset(align + 3, 'r', 3 * (n - 1) - 1);
    table = nl_table_new(align);
    nl_table_cell(table, "%s", "");
    nl_table_cell(table, "at");
    nl_table_cell(table, "operations");
    for (size_t k = 1; k < n; k++) {
        nl_table_cell(table, "exits L%zu", k);
        nl_table_cell(table, "irq L%zu", k);
        if (k + 1 < n)
            nl_table_cell(table, "L%zu runs L%zu", k, k + 1);
    }
    return table;
}

struct rows {
    struct nl_table *table; /* NULL: nothing yet */
    size_t n;               /* layers that are shown */
};

static void add_row(const json_t *document, size_t at, const json_t *benchmark, void *data)
{
    struct rows *rows = data;

    if (at >= rows->n || rows->n < 2 || !nl_exits_counted(benchmark))
        return;
    if (!rows->table)
        rows->table = heading(rows->n);
    row(rows->table, json_object_get(document, "layers"), at, benchmark, rows->n);
}

/* That the tables of exits are no contradiction. */
static void print_note(const struct nl_text *to, const json_t *document)
{
    cleanup_free char *note = nl_notes_exits(document);

    fputs("  ", to->out);
    nl_text_wrap(to, note ? note : "", 2, 2);
}

void nl_text_exits(const struct nl_text *to, const json_t *document)
{
    size_t n = json_array_size(json_object_get(document, "layers"));
    struct rows rows = {.n = n > LAYERS_MAX ? LAYERS_MAX : n};

    nl_each_benchmark(document, "benchmarks", NULL, add_row, &rows);
    if (!rows.table)
        return;
    nl_text_section(to, "VM exits", "per operation, as KVM counts them");
    nl_table_print(rows.table, to->out, to->dim, to->plain);
    print_note(to, document);
}

static void print_line(const struct nl_exit_line *line, void *data)
{
    const struct nl_text *to = data;
    int used;

    if (line->first)
        fprintf(to->out, "  %.64s at %.16s, %s operations\n", line->benchmark, line->at,
                nl_figure_fixed(line->operations, 0).text);
    if (line->skipped) {
        fputs("    not counted: ", to->out);
        nl_text_wrap(to, line->skipped, 17, 6);
        return;
    }
    used = fprintf(to->out, "    %-6s %6s  ", line->way, nl_figure_per_operation(line->total).text);
    nl_text_wrap(to, line->reasons, used, 19);
}

void nl_text_exit_reasons(const struct nl_text *to, const json_t *document)
{
    if (!nl_exit_reasons_counted(document))
        return;
    nl_text_section(
        to, "VM exits by reason",
        json_array_size(json_object_get(document, "layers")) > 2
            ? "per operation, in a round of its own; L2>L1: of L2, passed on by L0 to L1"
            : "per operation, in a round of its own");
    nl_exit_lines(document, print_line, (void *)to);
    fputs("  ", to->out);
    nl_text_wrap(to, NL_EXIT_REASONS_NOTE, 2, 2);
}
