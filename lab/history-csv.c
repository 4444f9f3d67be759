/*
 * history-csv.c - a history as comma-separated values: see history.h. The columns are in
 * docs/history.md.
 */
#include "history.h"
#include "csv.h"
#include "dig.h"
#include "history-words.h"

#include <math.h>

static const char *const columns[] = {
    "lane", "scenario", "layers", "metered", "kind", "name", "layer", "unit",  "terms",
    "run",  "started",  "status", "value",   "low",  "high", "n",     "level", "change"};

/* What the change that begins with POINT is, or NULL. */
static const json_t *change_at(const json_t *series, size_t point)
{
    size_t i;
    json_t *change;

    json_array_foreach(json_object_get(series, "changes"), i, change)
    {
        if ((size_t)nl_dig_integer(change, "point", -1) == point)
            return change;
    }
    return NULL;
}

static void write_series(struct nl_csv *csv, const json_t *history, const json_t *series)
{
    static const char *const texts[] = {"kind", "name", "layer", "unit", "terms"};
    static const char *const numbers[] = {"value", "low", "high", "n"};
    json_int_t index = nl_dig_integer(series, "lane", 0);
    const json_t *lane = json_array_get(json_object_get(history, "lanes"), (size_t)index);
    size_t i, level = 0;
    json_t *point;

    json_array_foreach(json_object_get(series, "points"), i, point)
    {
        json_int_t number = nl_dig_integer(point, "run", 0);
        const json_t *run = json_array_get(json_object_get(history, "runs"), (size_t)number);
        const json_t *change = change_at(series, i);

        level += change != NULL;
        nl_csv_number(csv, (double)index);
        nl_csv_text(csv, nl_dig_string(lane, "scenario", NULL));
        nl_csv_number(csv, nl_dig_number(lane, "layers", NAN));
        nl_csv_word(csv, nl_dig_true(lane, "metered") ? "yes" : "no");
        for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
            nl_csv_text(csv, nl_dig_string(series, texts[k], NULL));
        nl_csv_text(csv, nl_history_run(history, number));
        nl_csv_text(csv, nl_dig_string(run, "started", NULL));
        nl_csv_text(csv, nl_dig_string(run, "status", NULL));
        for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
            nl_csv_number(csv, nl_dig_number(point, numbers[k], NAN));
        nl_csv_number(csv, (double)level);
        nl_csv_word(csv, nl_dig_string(change, "verdict", ""));
        nl_csv_line(csv);
    }
}

char *nl_history_csv(const json_t *history)
{
    struct nl_csv csv;
    size_t i;
    json_t *series;

    nl_csv_start(&csv, columns, sizeof(columns) / sizeof(columns[0]));
    json_array_foreach(json_object_get(history, "series"), i, series)
        write_series(&csv, history, series);
    return nl_csv_finish(&csv);
}
