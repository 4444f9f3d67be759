/*
 * report-exits.c - VM exits per operation in the text report: KVM's counters around each benchmark.
 */
#include "cleanup.h"
#include "dig.h"
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
        nl_table_cell(table, "%.*f", n < 100 ? 2 : 0, n);
}

static void row(struct nl_table *table, const json_t *layers, size_t at, const json_t *benchmark,
                size_t n)
{
    nl_table_cell(table, "%s", nl_dig_string(benchmark, "name", "?"));
    nl_table_cell(table, "%s", nl_dig_string(json_array_get(layers, at), "name", "?"));
    nl_table_cell(table, "%.0f", nl_dig_number(benchmark, "operations", 0));
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

/* The benchmark NAME at every layer that has counted exits for it. */
static void rows_of(struct nl_table *table, const json_t *layers, const char *name, size_t n)
{
    for (size_t l = 0; l < n; l++) {
        size_t i;
        json_t *benchmark;

        json_array_foreach(json_object_get(json_array_get(layers, l), "benchmarks"), i, benchmark)
        {
            if (nl_dig_is(benchmark, "name", name) && nl_exits_counted(benchmark))
                row(table, layers, l, benchmark, n);
        }
    }
}

void nl_text_exits(const struct nl_text *to, const json_t *document)
{
    const json_t *layers = json_object_get(document, "layers");
    size_t n = json_array_size(layers);
    cleanup_json json_t *seen = json_object();
    struct nl_table *table = NULL;
    size_t l, i;
    json_t *layer, *benchmark;

    n = n > LAYERS_MAX ? LAYERS_MAX : n;
    json_array_foreach(layers, l, layer)
    {
        json_array_foreach(json_object_get(layer, "benchmarks"), i, benchmark)
        {
            const char *name = nl_dig_string(benchmark, "name", NULL);

            if (l >= n || n < 2 || !name || !nl_exits_counted(benchmark) ||
                json_object_get(seen, name))
                continue;
            json_object_set_new(seen, name, json_true());
            if (!table)
                table = heading(n);
            rows_of(table, layers, name, n);
        }
    }
    if (!table)
        return;
    nl_text_section(to, "VM exits",
                    "per operation, as KVM counts them; with those of ticks and of asking");
    nl_table_print(table, to->out, to->dim, to->plain);
}
