/*
 * report-reasons.c - VM exits by reason, as words: see report-reasons.h.
 */
#include "report-reasons.h"
#include "cleanup.h"
#include "dig.h"
#include "figure.h"
#include "report-words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is rarer than one in a hundred operations is told as a sum, if that is not 0.00. */
#define WORTH_NAMING 0.01
#define WORTH_TELLING 0.005

struct walk {
    const json_t *document;
    nl_exit_visit *visit;
    void *data;
};

/* DBL_MAX and its like cannot be counted, and would be long to print. */
static double per_operation(const json_t *reason, double operations)
{
    double n = nl_dig_number(reason, "times", 0) / operations;

    return isfinite(n) && n > 0 && n < 1e15 ? n : 0;
}

/* The caller's. */
static char *words_of(const json_t *count, double operations, double *total)
{
    double rest = 0;
    size_t size, i;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);
    json_t *reason;
    const char *comma = "";

    *total = 0;
    if (!out)
        return NULL;
    json_array_foreach(json_object_get(count, "reasons"), i, reason)
    {
        double n = per_operation(reason, operations);

        *total += n;
        if (n < WORTH_NAMING) {
            rest += n;
            continue;
        }
        fprintf(out, "%s%.64s %s", comma, nl_dig_string(reason, "reason", "?"),
                nl_figure_per_operation(n).text);
        comma = ", ";
    }
    if (rest >= WORTH_TELLING)
        fprintf(out, "%sothers %.2f", comma, rest);
    fclose(out);
    return text;
}

/* Did the layer below LAYER tell those from inside it apart? An old kernel cannot. */
static bool is_told_apart(const json_t *counts, const char *layer)
{
    size_t i;
    json_t *count;

    json_array_foreach(counts, i, count)
    {
        if (json_is_true(json_object_get(count, "inside")) && nl_dig_is(count, "layer", layer))
            return true;
    }
    return false;
}

/* Which layer's exits, of those COUNTS has, and to whom they were; the caller's. */
static char *way_of(const json_t *document, const json_t *counts, const json_t *count, size_t at)
{
    const json_t *layers = json_object_get(document, "layers");
    const char *vcpu = nl_dig_string(count, "layer", "");
    bool inside = json_is_true(json_object_get(count, "inside"));
    bool mixed = inside || !is_told_apart(counts, vcpu);
    char *text = NULL;

    for (size_t k = 1; k < json_array_size(layers); k++) {
        size_t of = inside ? k + 1 : k;

        if (!nl_dig_is(json_array_get(layers, k), "name", vcpu))
            continue;
        if (asprintf(&text, "L%zu%s>L%zu", of, mixed && at > of ? "+" : "", k - 1) < 0)
            text = NULL;
        break;
    }
    return text;
}

static void visit_counts(const struct walk *walk, const json_t *reasons, size_t at,
                         struct nl_exit_line *line)
{
    const json_t *counts = json_object_get(reasons, "counts");
    size_t i;
    json_t *count;

    json_array_foreach(counts, i, count)
    {
        cleanup_free char *way = way_of(walk->document, counts, count, at);
        cleanup_free char *words = words_of(count, line->operations, &line->total);

        line->way = way;
        line->reasons = words;
        if (!way || !words || line->total < WORTH_TELLING)
            continue;
        walk->visit(line, walk->data);
        line->first = false;
    }
}

static void visit_benchmark(const json_t *document, size_t at, const json_t *benchmark, void *data)
{
    const struct walk *walk = data;
    const json_t *reasons = json_object_get(benchmark, "exit_reasons");
    struct nl_exit_line line = {
        .benchmark = nl_dig_string(benchmark, "name", "?"),
        .at = nl_dig_string(json_array_get(json_object_get(document, "layers"), at), "name", "?"),
        .operations = nl_dig_number(reasons, "operations", 0),
        .first = true,
        .skipped = nl_dig_string(reasons, "skipped", NULL),
    };

    if (line.skipped) {
        walk->visit(&line, walk->data);
        line.skipped = NULL;
        line.first = false;
    }
    if (line.operations > 0)
        visit_counts(walk, reasons, at, &line);
}

void nl_exit_lines(const json_t *document, nl_exit_visit *visit, void *data)
{
    struct walk walk = {document, visit, data};

    nl_each_benchmark(document, "benchmarks", NULL, visit_benchmark, &walk);
}

static void found(const struct nl_exit_line *line, void *data)
{
    (void)line;
    *(bool *)data = true;
}

bool nl_exit_reasons_counted(const json_t *document)
{
    bool any = false;

    nl_exit_lines(document, found, &any);
    return any;
}
