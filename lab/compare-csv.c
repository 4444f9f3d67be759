/*
 * compare-csv.c - a comparison as comma-separated values: see compare.h.
 */
#include "compare.h"
#include "csv.h"
#include "dig.h"

#include <math.h>

/* Columns of so many layers at least, so that the headings of usual stacks are all the same. */
#define LAYERS_MIN 4
#define LAYERS_MAX 64

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

static const char *const first[] = {"kind",  "benchmark", "layer", "unit", "base",  "new",
                                    "ratio", "low",       "high",  "p",    "p_holm"};
static const char *const by_layer[] = {"instructions", "vmruns"};
static const char *const last[] = {"verdict", "failed"};

/* As many layers as the row that counts the most of them. */
static size_t count_layers(const json_t *rows)
{
    size_t most = LAYERS_MIN, i;
    json_t *row;

    json_array_foreach(rows, i, row)
    {
        for (size_t k = 0; k < N_OF(by_layer); k++) {
            size_t n = json_array_size(nl_dig(row, by_layer[k]));

            most = n > most ? n : most;
        }
    }
    return most < LAYERS_MAX ? most : LAYERS_MAX;
}

static void write_heading(struct nl_csv *csv, size_t layers)
{
    const char *names[N_OF(first) + N_OF(by_layer) * LAYERS_MAX + N_OF(last)];
    char texts[N_OF(by_layer) * LAYERS_MAX][24];
    size_t n = 0, used = 0, i;

    for (i = 0; i < N_OF(first); i++)
        names[n++] = first[i];
    for (i = 0; i < N_OF(by_layer); i++) {
        for (size_t k = 0; k < layers; k++) {
            snprintf(texts[used], sizeof(texts[used]), "%s_L%zu", by_layer[i], k);
            names[n++] = texts[used++];
        }
    }
    for (i = 0; i < N_OF(last); i++)
        names[n++] = last[i];
    nl_csv_start(csv, names, n);
}

static void write_array(struct nl_csv *csv, const json_t *array, size_t layers)
{
    for (size_t k = 0; k < layers; k++)
        nl_csv_number(csv, k < json_array_size(array) ? json_number_value(json_array_get(array, k))
                                                      : NAN);
}

/* BASE and NEW are the paths of the numbers that are compared. */
static void write_row(struct nl_csv *csv, const json_t *row, const char *kind, const char *base,
                      const char *new, size_t layers)
{
    const char *const numbers[] = {base, new, "ratio", "low", "high", "p", "p_holm"};
    static const char *const texts[] = {"benchmark", "layer", "unit"};

    nl_csv_word(csv, kind);
    for (size_t i = 0; i < N_OF(texts); i++)
        nl_csv_text(csv, nl_dig_string(row, texts[i], "instructions"));
    for (size_t i = 0; i < N_OF(numbers); i++)
        nl_csv_number(csv, nl_dig_number(row, numbers[i], NAN));
    for (size_t i = 0; i < N_OF(by_layer); i++)
        write_array(csv, nl_dig(row, by_layer[i]), layers);
    nl_csv_word(csv, nl_dig_string(row, "verdict", ""));
    nl_csv_word(csv, nl_dig_true(row, "failed") ? "yes" : "no");
    nl_csv_line(csv);
}

/* What only one side measured: its verdict says so, and it failed where it was lost and that
 * counts.
 */
static void write_only(struct nl_csv *csv, const json_t *comparison, const char *list,
                       const char *verdict, size_t layers)
{
    bool judged = nl_dig(comparison, "fail_above");
    size_t i;
    json_t *element;

    json_array_foreach(json_object_get(comparison, list), i, element)
    {
        bool timed = nl_dig_is(element, "kind", "time");
        cleanup_json json_t *row = json_copy(element);

        json_object_set_new(row, "verdict", json_string(verdict));
        json_object_set_new(row, "failed", json_boolean(judged && nl_dig_true(element, "lost")));
        write_row(csv, row, nl_dig_string(element, "kind", ""),
                  timed ? "base.median" : "base.total", timed ? "new.median" : "new.total", layers);
    }
}

char *nl_compare_csv(const json_t *comparison)
{
    const json_t *metered = json_object_get(comparison, "metered");
    size_t layers = count_layers(metered), i;
    struct nl_csv csv;
    json_t *row;

    write_heading(&csv, layers);
    json_array_foreach(json_object_get(comparison, "times"), i, row)
        write_row(&csv, row, "time", "base.median", "new.median", layers);
    json_array_foreach(metered, i, row)
        write_row(&csv, row, "metered", "base.total", "new.total", layers);
    write_only(&csv, comparison, "only_in_base", "only in base", layers);
    write_only(&csv, comparison, "only_in_new", "only in new", layers);
    return nl_csv_finish(&csv);
}
