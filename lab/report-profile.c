/*
 * report-profile.c - profiles in the text report: the functions that execute most of an operation's
 * instructions, by layer. All of them are in the document and in the .folded file.
 */
#include "cleanup.h"
#include "dig.h"
#include "figure.h"
#include "printable.h"
#include "report-text.h"
#include "table.h"

#define ROWS_MAX 20

static void print_rows(const struct nl_text *to, const json_t *functions, double operations,
                       double all)
{
    struct nl_table *table = nl_table_new("rrlll");
    double shown = 0;
    size_t i;
    json_t *function;

    nl_table_cell(table, "instructions");
    nl_table_cell(table, "share");
    nl_table_cell(table, "by");
    nl_table_cell(table, "in");
    nl_table_cell(table, "function");
    json_array_foreach(functions, i, function)
    {
        double instructions = nl_dig_number(function, "instructions", 0);

        if (i == ROWS_MAX)
            break;
        shown += instructions;
        nl_table_cell(table, "%s", nl_figure_fixed(instructions / operations, 1).text);
        nl_table_cell(table, "%.1f %%", 100 * instructions / all);
        nl_table_cell(table, "%s", nl_dig_string(function, "layer", "?"));
        nl_table_cell(table, "%s", nl_dig_string(function, "module", "?"));
        nl_table_cell(table, "%s", nl_dig_string(function, "function", "?"));
    }
    if (json_array_size(functions) > ROWS_MAX) {
        nl_table_cell(table, "%s", nl_figure_fixed((all - shown) / operations, 1).text);
        nl_table_cell(table, "%.1f %%", 100 * (all - shown) / all);
        nl_table_cell(table, "%s", "");
        nl_table_cell(table, "%s", "");
        nl_table_cell(table, "%zu others", json_array_size(functions) - ROWS_MAX);
    }
    nl_table_print(table, to->out, to->dim, to->plain);
}

static void print_profile(const struct nl_text *to, const char *layer, const json_t *metered)
{
    const json_t *functions = json_object_get(nl_dig(metered, "profile"), "functions");
    double operations = nl_dig_number(metered, "profile.operations", 0);
    cleanup_free char *raw = NULL;
    cleanup_free char *note = NULL;
    double all = 0;
    size_t i;
    json_t *function;

    json_array_foreach(functions, i, function) all += nl_dig_number(function, "instructions", 0);
    if (asprintf(&raw, "%s at %s: instructions of one operation, of %.0f undisturbed ones",
                 nl_dig_string(metered, "name", "?"), layer, operations) < 0)
        return;
    note = nl_printable(raw, 0);
    nl_text_section(to, "Profile", note);
    if (operations > 0 && all > 0)
        print_rows(to, functions, operations, all);
    else
        fputs("  no operation was undisturbed\n", to->out);
}

void nl_text_profile(const struct nl_text *to, const json_t *document)
{
    size_t l, i;
    json_t *layer, *metered;

    json_array_foreach(json_object_get(document, "layers"), l, layer)
    {
        json_array_foreach(json_object_get(layer, "metered"), i, metered)
        {
            if (nl_dig(metered, "profile"))
                print_profile(to, nl_dig_string(layer, "name", "?"), metered);
        }
    }
}
