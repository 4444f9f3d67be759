/*
 * report-clocks.c - the clocks by which times were measured, in the text report.
 */
#include "dig.h"
#include "figure.h"
#include "report-text.h"
#include "table.h"

#include <math.h>

/* "+151.9 ±477.7", in ppm. */
static void rate_cell(struct nl_table *table, const json_t *rate)
{
    double ppm = nl_dig_number(rate, "ppm", NAN);
    double uncertainty = nl_dig_number(rate, "uncertainty_ppm", NAN);
    int digits = uncertainty < 1 ? 2 : 0;

    if (isnan(ppm) || isnan(uncertainty))
        nl_table_cell(table, "%s", "");
    else
        nl_table_cell(table, "%s \u00b1%s", nl_figure_change(ppm, digits).text,
                      nl_figure_fixed(uncertainty, digits).text);
}

static void row(struct nl_table *table, const json_t *layer)
{
    const json_t *clocks = nl_dig(layer, "clocks");
    const json_t *below = nl_dig(clocks, "to_below");

    nl_table_cell(table, "%s", nl_dig_string(layer, "name", "?"));
    nl_table_cell(table, "%s", nl_dig_string(clocks, "source", "?"));
    nl_table_cell(table, "%s", nl_figure_fixed(nl_dig_number(clocks, "seconds", 0), 1).text);
    rate_cell(table, nl_dig(below, "clock"));
    rate_cell(table, nl_dig(below, "clock_by_tsc"));
    rate_cell(table, nl_dig(clocks, "tsc_to_clock"));
}

void nl_text_clocks(const struct nl_text *to, const json_t *document)
{
    static const char *const heads[] = {"",       "clock",       "seconds", "to below, ppm",
                                        "by TSC", "TSC to clock"};
    struct nl_table *table = NULL;
    size_t i;
    json_t *layer;

    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        if (!nl_dig(layer, "clocks"))
            continue;
        if (!table) {
            table = nl_table_new("llrrrr");
            for (size_t k = 0; k < sizeof(heads) / sizeof(heads[0]); k++)
                nl_table_cell(table, "%s", heads[k]);
        }
        row(table, layer);
    }
    if (!table)
        return;
    nl_text_section(to, "Clocks", "how fast each runs, to the layer below and to its own TSC");
    nl_table_print(table, to->out, to->dim, to->plain);
}
