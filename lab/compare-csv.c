/*
 * compare-csv.c - a comparison as comma-separated values: see compare.h.
 */
#include "compare.h"
#include "csv.h"
#include "dig.h"

#include <math.h>

/* Columns of so many layers; the inner ones are in the JSON. */
#define LAYERS_MAX 4

static const char *const names[] = {"kind",
                                    "benchmark",
                                    "layer",
                                    "unit",
                                    "base",
                                    "new",
                                    "ratio",
                                    "low",
                                    "high",
                                    "p",
                                    "p_holm",
                                    "instructions_L0",
                                    "instructions_L1",
                                    "instructions_L2",
                                    "instructions_L3",
                                    "vmruns_L0",
                                    "vmruns_L1",
                                    "vmruns_L2",
                                    "vmruns_L3",
                                    "verdict",
                                    "failed"};

static void write_array(struct nl_csv *csv, const json_t *array)
{
    for (size_t k = 0; k < LAYERS_MAX; k++)
        nl_csv_number(csv, k < json_array_size(array) ? json_number_value(json_array_get(array, k))
                                                      : NAN);
}

/* BASE and NEW are the paths of the numbers that are compared. */
static void write_row(struct nl_csv *csv, const json_t *row, const char *kind, const char *base,
                      const char *new)
{
    const char *const numbers[] = {base, new, "ratio", "low", "high", "p", "p_holm"};
    static const char *const texts[] = {"benchmark", "layer", "unit"};

    nl_csv_word(csv, kind);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        nl_csv_text(csv, nl_dig_string(row, texts[i], "instructions"));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        nl_csv_number(csv, nl_dig_number(row, numbers[i], NAN));
    write_array(csv, nl_dig(row, "instructions"));
    write_array(csv, nl_dig(row, "vmruns"));
    nl_csv_word(csv, nl_dig_string(row, "verdict", ""));
    nl_csv_word(csv, nl_dig_true(row, "failed") ? "yes" : "no");
    nl_csv_line(csv);
}

char *nl_compare_csv(const json_t *comparison)
{
    struct nl_csv csv;
    size_t i;
    json_t *row;

    nl_csv_start(&csv, names, sizeof(names) / sizeof(names[0]));
    json_array_foreach(json_object_get(comparison, "times"), i, row)
        write_row(&csv, row, "time", "base.median", "new.median");
    json_array_foreach(json_object_get(comparison, "metered"), i, row)
        write_row(&csv, row, "metered", "base.total", "new.total");
    return nl_csv_finish(&csv);
}
