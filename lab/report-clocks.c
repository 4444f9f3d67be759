/*
 * report-clocks.c - the clocks by which times were measured: the rows of their table, and the text
 * report's.
 */
#include "report-clocks.h"
#include "cleanup.h"
#include "dig.h"
#include "figure.h"
#include "report-text.h"
#include "table.h"

#include <math.h>
#include <stdio.h>

const char *const nl_clock_headings[NL_CLOCK_COLUMNS] = {
    "", "clock", "seconds", "to below, ppm", "by TSC", "TSC to clock",
};

json_t *nl_clock_notes(void)
{
    return json_pack(
        "[s,s,s]",
        "to below: how much faster its clock ran than that of the layer below, in parts per "
        "million, as far as questions that take their time can tell",
        "by TSC: the same in ticks of the TSC, which tells far more where both layers have one "
        "TSC, and nothing where they have not",
        "TSC to clock: how many ticks more than its kernel's log last stated (detected, then "
        "refined) the TSC made in a second of its clock");
}

/* "+151.9 ±477.7", in ppm; empty where it is not known. A bound is rounded up, so that it stays
   one. */
static void write_rate(char *text, size_t size, const json_t *rate)
{
    double ppm = nl_dig_number(rate, "ppm", NAN);
    double uncertainty = nl_dig_number(rate, "uncertainty_ppm", NAN);
    int digits = uncertainty < 1 ? 2 : 0;
    double steps = pow(10, digits);

    text[0] = '\0';
    if (!isnan(ppm) && !isnan(uncertainty))
        snprintf(text, size, "%s \u00b1%s", nl_figure_change(ppm, digits).text,
                 nl_figure_fixed(ceil(uncertainty * steps - 1e-6) / steps, digits).text);
}

size_t nl_clock_rows(const json_t *document, nl_clock_visit *visit, void *data)
{
    size_t i, n = 0;
    json_t *layer;

    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        const json_t *clocks = nl_dig(layer, "clocks");
        const json_t *below = nl_dig(clocks, "to_below");
        struct nl_clock_row row = {.layer = nl_dig_string(layer, "name", "?"),
                                   .source = nl_dig_string(clocks, "source", "?")};

        if (!clocks)
            continue;
        n++;
        snprintf(row.figures[0], sizeof(row.figures[0]), "%s",
                 nl_figure_fixed(nl_dig_number(clocks, "seconds", 0), 1).text);
        write_rate(row.figures[1], sizeof(row.figures[1]), nl_dig(below, "clock"));
        write_rate(row.figures[2], sizeof(row.figures[2]), nl_dig(below, "clock_by_tsc"));
        write_rate(row.figures[3], sizeof(row.figures[3]), nl_dig(clocks, "tsc_to_clock"));
        if (visit)
            visit(&row, data);
    }
    return n;
}

static void add_row(const struct nl_clock_row *row, void *table)
{
    nl_table_cell(table, "%s", row->layer);
    nl_table_cell(table, "%s", row->source);
    for (size_t i = 0; i < NL_CLOCK_COLUMNS - NL_CLOCK_FIGURES; i++)
        nl_table_cell(table, "%s", row->figures[i]);
}

void nl_text_clocks(const struct nl_text *to, const json_t *document)
{
    cleanup_json json_t *notes = nl_clock_notes();
    struct nl_table *table;

    if (nl_clock_rows(document, NULL, NULL) == 0)
        return;
    table = nl_table_new("llrrrr");
    for (size_t k = 0; k < NL_CLOCK_COLUMNS; k++)
        nl_table_cell(table, "%s", nl_clock_headings[k]);
    nl_clock_rows(document, add_row, table);
    nl_text_section(to, "Clocks", "how fast each runs, to the layer below and to its own TSC");
    nl_table_print(table, to->out, to->dim, to->plain);
    nl_text_lines(to, notes);
}
