/*
 * report-notes.c - lines below a report's table about its rows: see report-notes.h.
 */
#include "report-notes.h"
#include "cleanup.h"
#include "dig.h"
#include "figure.h"
#include "printable.h"
#include "report-reasons.h"
#include "report-words.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* More are left to the document, which may hold any number of them. */
#define NAMES_MAX 40
#define LINES_MAX 40
#define NAME_COLUMNS 40

/* The member KEY of OBJECT, made where it is missing. */
static json_t *member(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    if (value)
        return value;
    json_object_set_new(object, key, json_object());
    return json_object_get(object, key);
}

void nl_notes_add(json_t *notes, const char *reason, const char *benchmark, const char *layer,
                  const char *detail)
{
    json_object_set_new(member(member(notes, reason), benchmark), layer,
                        json_string(detail ? detail : ""));
}

/* "L1, L2 (5 %)"; the caller's. */
static char *layers_text(json_t *layers)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const char *comma = "";
    const char *layer;
    json_t *detail;

    if (!out)
        return NULL;
    json_object_foreach(layers, layer, detail)
    {
        const char *more = json_is_string(detail) ? json_string_value(detail) : "";
        cleanup_free char *shown = nl_printable(layer, NAME_COLUMNS);

        fprintf(out, "%s%s%s%s%s", comma, shown ? shown : "", *more ? " (" : "", more,
                *more ? ")" : "");
        comma = ", ";
    }
    fclose(out);
    return text;
}

/* What layers_text() says -> the names of benchmarks that it is said of, of at most NAMES_MAX. */
static json_t *names_by_layers(json_t *benchmarks)
{
    json_t *groups = json_object();
    const char *name;
    json_t *layers;
    size_t n = 0;

    json_object_foreach(benchmarks, name, layers)
    {
        cleanup_free char *where = n++ < NAMES_MAX ? layers_text(layers) : NULL;
        cleanup_free char *shown = nl_printable(name, NAME_COLUMNS);

        if (where && shown)
            json_object_set_new(member(groups, where), shown, json_true());
    }
    return groups;
}

char *nl_notes_rows(const json_t *notes, const char *reason)
{
    json_t *benchmarks = json_object_get(notes, reason);
    cleanup_json json_t *groups = names_by_layers(benchmarks);
    char *text = NULL;
    size_t size;
    FILE *out = benchmarks ? open_memstream(&text, &size) : NULL;
    const char *where, *name, *before = "";
    json_t *names, *any;

    if (!out)
        return NULL;
    json_object_foreach(groups, where, names)
    {
        json_object_foreach(names, name, any)
        {
            fprintf(out, "%s%s", before, name);
            before = ", ";
        }
        fprintf(out, " at %s", where);
        before = "; ";
    }
    if (json_object_size(benchmarks) > NAMES_MAX)
        fprintf(out, "; and %zu more", json_object_size(benchmarks) - NAMES_MAX);
    fclose(out);
    return text;
}

void nl_notes_append(const json_t *notes, const char *reason, json_t *lines)
{
    cleanup_free char *rows = nl_notes_rows(notes, reason);

    if (rows)
        json_array_append_new(lines, json_sprintf("~ %s: %s", reason, rows));
}

void nl_notes_reasons(const json_t *notes, const char *before, json_t *lines)
{
    const char *reason;
    json_t *benchmarks;
    size_t n = 0;

    json_object_foreach((json_t *)notes, reason, benchmarks)
    {
        cleanup_free char *rows = nl_notes_rows(notes, reason);

        if (n++ < LINES_MAX)
            json_array_append_new(lines,
                                  json_sprintf("%s%s: %s", before, rows ? rows : "", reason));
    }
    if (n > LINES_MAX)
        json_array_append_new(lines,
                              json_sprintf("%zu more reasons are in the document", n - LINES_MAX));
}

static void add_skipped(const json_t *document, size_t at, const json_t *benchmark, void *notes)
{
    const json_t *layer = json_array_get(json_object_get(document, "layers"), at);
    const char *skipped = nl_dig_string(benchmark, "skipped", NULL);

    if (skipped)
        nl_notes_add(notes, skipped, nl_dig_string(benchmark, "name", "?"),
                     nl_dig_string(layer, "name", "?"), NULL);
}

json_t *nl_notes_skipped(const json_t *document, const char *list)
{
    cleanup_json json_t *notes = json_object();
    json_t *lines = json_array();

    nl_each_benchmark(document, list, NULL, add_skipped, notes);
    nl_notes_reasons(notes, "left out: ", lines);
    return lines;
}

/* Why a median may be unstable: as the document says it, and in the words of reports. */
static const struct {
    const char *name;
    const char *words;
} reasons[] = {
    {"wide", "an interval wider than 10 % of the median, or none"},
    {"drifts", "drifts from the first to the last sample"},
    {"autocorrelated", "neighbours are alike"},
    {"short batch", "batches too short for the clock"},
};

static const char not_said[] = "the document does not say why";

/* How much; NULL where the words say all. The caller's. */
static char *how_much(const char *name, const json_t *layer)
{
    char *text = NULL;
    int rc = 0;

    if (strcmp(name, "drifts") == 0)
        rc = asprintf(&text, "%s %%",
                      nl_figure_change(100 * nl_dig_number(layer, "drift", NAN), 0).text);
    else if (strcmp(name, "autocorrelated") == 0)
        rc = asprintf(&text, "r = %s", nl_figure_fixed(nl_dig_number(layer, "lag1", NAN), 2).text);
    else if (strcmp(name, "short batch") == 0)
        rc = asprintf(&text, "%s us", nl_figure(nl_dig_number(layer, "batch_ns", NAN) / 1e3).text);
    return rc > 0 ? text : NULL;
}

static void add_unstable(json_t *notes, const char *benchmark, const json_t *layer)
{
    const json_t *all = json_object_get(layer, "why_unstable");
    size_t k;
    json_t *why;

    if (nl_dig_true(layer, "unstable") && json_array_size(all) == 0)
        nl_notes_add(notes, not_said, benchmark, nl_dig_string(layer, "layer", "?"), NULL);
    json_array_foreach(all, k, why)
    {
        for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
            const char *name = json_is_string(why) ? json_string_value(why) : "";
            cleanup_free char *detail = how_much(reasons[i].name, layer);

            if (strcmp(name, reasons[i].name) == 0)
                nl_notes_add(notes, reasons[i].words, benchmark, nl_dig_string(layer, "layer", "?"),
                             detail);
        }
    }
}

json_t *nl_notes_unstable(const json_t *document)
{
    cleanup_json json_t *notes = json_object();
    json_t *lines = json_array();
    size_t i, k;
    json_t *entry, *layer;

    json_array_foreach(json_object_get(document, "slowdown"), i, entry)
    {
        json_array_foreach(json_object_get(entry, "layers"), k, layer)
        {
            add_unstable(notes, nl_dig_string(entry, "benchmark", "?"), layer);
        }
    }
    for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        nl_notes_append(notes, reasons[i].words, lines);
    nl_notes_append(notes, not_said, lines);
    return lines;
}

char *nl_notes_exits(const json_t *document)
{
    bool metered = nl_any_benchmark(document, "metered", nl_metered_counted);
    bool by_reason = nl_exit_reasons_counted(document);
    char *text = NULL;

    if (!nl_any_benchmark(document, "benchmarks", nl_exits_counted))
        return NULL;
    if (asprintf(&text,
                 "These are the exits of all that a benchmark does, from its start and warm-up to "
                 "the last sample, ticks and asking for figures included: an upper bound for one "
                 "operation, near where there were many.%s%s",
                 by_reason ? " Those by reason are of a round of their own, of at most 1000 "
                             "operations, with ticks and asking as well: an upper bound, too, and "
                             "not the same numbers."
                           : "",
                 metered ? " The meter's are of one operation of yet another round, without "
                           "ticks where they have no ~."
                         : "") < 0)
        return NULL;
    return text;
}
