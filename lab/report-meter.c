/*
 * report-meter.c - what the meter counted, in the text report: instructions of one operation by the
 * layer that executed them, world switches, and which layers an exit reached.
 */
#include "cleanup.h"
#include "dig.h"
#include "report-text.h"
#include "table.h"

#include <string.h>

#define LAYERS_MAX 4
#define PAIRS_MAX (LAYERS_MAX * (LAYERS_MAX - 1) / 2)

static void number_cell(struct nl_table *table, const json_t *array, size_t index)
{
    const json_t *number = json_array_get(array, index);

    if (json_is_integer(number))
        nl_table_cell(table, "%" JSON_INTEGER_FORMAT, json_integer_value(number));
    else
        nl_table_cell(table, "%s", "");
}

static void total_cell(struct nl_table *table, const json_t *metered)
{
    json_int_t total = nl_dig_integer(metered, "total", -1);
    const char *mark = nl_dig_is(metered, "estimate", "mode") ? "" : "~";

    nl_table_cell(table, "%" JSON_INTEGER_FORMAT "%s", total, mark);
}

static void share_cell(struct nl_table *table, const json_t *metered)
{
    double n = nl_dig_number(metered, "operations", 0);
    double calm = nl_dig_number(metered, "undisturbed", 0);

    if (n > 0)
        nl_table_cell(table, "%.0f %%", 100 * (n - calm) / n);
    else
        nl_table_cell(table, "%s", "");
}

static json_int_t times(const json_t *metered, size_t of, size_t reached)
{
    size_t i;
    json_t *exits;

    json_array_foreach(json_object_get(metered, "exits"), i, exits)
    {
        if (nl_dig_integer(exits, "of", -1) == (json_int_t)of &&
            nl_dig_integer(exits, "reached", -1) == (json_int_t)reached)
            return nl_dig_integer(exits, "times", 0);
    }
    return 0;
}

static void row(struct nl_table *table, const json_t *layer, const json_t *metered, size_t n)
{
    nl_table_cell(table, "%s", nl_dig_string(metered, "name", "?"));
    nl_table_cell(table, "%s", nl_dig_string(layer, "name", "?"));
    total_cell(table, metered);
    for (size_t k = 0; k < n; k++)
        number_cell(table, json_object_get(metered, "instructions"), k);
    for (size_t k = 0; k + 1 < n; k++)
        number_cell(table, json_object_get(metered, "vmruns"), k);
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++)
            nl_table_cell(table, "%" JSON_INTEGER_FORMAT, times(metered, i, k));
    share_cell(table, metered);
}

static struct nl_table *heading(size_t n)
{
    char align[4 + 2 * LAYERS_MAX + PAIRS_MAX] = "ll";
    size_t columns = 1 + n + (n - 1) + n * (n - 1) / 2 + 1;
    struct nl_table *table;

    memset(align + 2, 'r', columns);
    table = nl_table_new(align);
    nl_table_cell(table, "%s", "");
    nl_table_cell(table, "at");
    nl_table_cell(table, "sum");
    for (size_t k = 0; k < n; k++)
        nl_table_cell(table, "by L%zu", k);
    for (size_t k = 0; k + 1 < n; k++)
        nl_table_cell(table, "VMRUN L%zu", k);
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++)
            nl_table_cell(table, "L%zu>L%zu", i, k);
    nl_table_cell(table, "disturbed");
    return table;
}

/* All layers of one benchmark together: the first layer that has it says when. */
static void rows_of(struct nl_table *table, const json_t *layers, const char *name, size_t n)
{
    for (size_t l = 0; l < n; l++) {
        const json_t *layer = json_array_get(layers, l);
        size_t i;
        json_t *metered;

        json_array_foreach(json_object_get(layer, "metered"), i, metered)
        {
            if (nl_dig_is(metered, "name", name) && nl_dig(metered, "total"))
                row(table, layer, metered, n);
        }
    }
}

void nl_text_meter(const struct nl_text *to, const json_t *document)
{
    const json_t *layers = json_object_get(document, "layers");
    size_t n = json_array_size(layers);
    cleanup_json json_t *seen = json_object();
    struct nl_table *table = NULL;
    size_t l, i;
    json_t *layer, *metered;

    n = n > LAYERS_MAX ? LAYERS_MAX : n;
    json_array_foreach(layers, l, layer)
    {
        json_array_foreach(json_object_get(layer, "metered"), i, metered)
        {
            const char *name = nl_dig_string(metered, "name", NULL);

            if (l >= n || !name || !nl_dig(metered, "total") || json_object_get(seen, name))
                continue;
            json_object_set_new(seen, name, json_true());
            if (!table)
                table = heading(n);
            rows_of(table, layers, name, n);
        }
    }
    if (!table)
        return;
    nl_text_section(to, "Meter",
                    "instructions of one operation; L2>L1: exits of L2 that L1 was woken for; "
                    "~ does not repeat");
    nl_table_print(table, to->out, to->dim, to->plain);
}
