/*
 * report-html-exits.c - VM exits per operation in the report's page: KVM's counters around each
 * benchmark and its tracepoints, the witness where there is no meter.
 */
#include "cleanup.h"
#include "dig.h"
#include "figure.h"
#include "report-html.h"
#include "report-notes.h"
#include "report-reasons.h"
#include "report-words.h"

#include <math.h>
#include <string.h>

#define ROWS_MAX 200

/* Of inner layers there is more in the document than a table takes. */
#define LAYERS_MAX 4

bool nl_page_has_exits(const json_t *document)
{
    size_t l, i;
    json_t *layer, *benchmark;

    if (nl_page_layers(document) < 2)
        return false;
    json_array_foreach(json_object_get(document, "layers"), l, layer)
    {
        json_array_foreach(json_object_get(layer, "benchmarks"), i, benchmark)
        {
            if (nl_exits_counted(benchmark))
                return true;
        }
    }
    return false;
}

static size_t shown_layers(const json_t *document)
{
    size_t n = nl_page_layers(document);

    return n < LAYERS_MAX ? n : LAYERS_MAX;
}

static void per_operation(struct nl_html *html, const json_t *benchmark, const char *layer,
                          const char *key)
{
    double n = nl_exits_per_operation(benchmark, layer, key);

    if (isnan(n))
        nl_html_cell(html, NULL, "%s", "");
    else
        nl_html_cell(html, "number", "%s", nl_figure_per_operation(n).text);
}

static void write_row(const struct nl_page *page, size_t at, const json_t *benchmark, bool first)
{
    struct nl_html *html = page->html;
    size_t n = shown_layers(page->document);

    nl_html_open(html, "tr", first ? "first" : NULL);
    nl_html_row_heading(html, nl_dig_string(benchmark, "name", "?"));
    nl_html_cell(html, NULL, "%s", nl_page_layer_name(page->document, at));
    nl_html_cell(html, "number", "%s",
                 nl_figure_fixed(nl_dig_number(benchmark, "operations", 0), 0).text);
    for (size_t k = 1; k < n; k++) {
        const char *layer = nl_page_layer_name(page->document, k);

        per_operation(html, benchmark, layer, "exits");
        per_operation(html, benchmark, layer, "irq_exits");
        if (k + 1 < n)
            per_operation(html, benchmark, layer, "nested_run");
    }
    nl_html_close(html);
}

static void write_heading(const struct nl_page *page)
{
    const char *headings[3 + 3 * LAYERS_MAX + 1] = {"Benchmark", "At", ">Operations"};
    char texts[3 * LAYERS_MAX][64];
    size_t n = shown_layers(page->document), used = 0;

    for (size_t k = 1; k < n; k++) {
        const char *layer = nl_page_layer_name(page->document, k);

        snprintf(texts[used++], sizeof(texts[0]), ">Exits of %.20s", layer);
        snprintf(texts[used++], sizeof(texts[0]), ">%.20s, interrupts", layer);
        if (k + 1 < n)
            snprintf(texts[used++], sizeof(texts[0]), ">%.20s runs %.20s", layer,
                     nl_page_layer_name(page->document, k + 1));
    }
    for (size_t i = 0; i < used; i++)
        headings[3 + i] = texts[i];
    nl_html_table(page->html, "VM exits per operation", headings);
}

struct rows {
    const struct nl_page *page;
    const char *before; /* the benchmark of the last row */
    size_t n;
};

static void add_row(const json_t *document, size_t at, const json_t *benchmark, void *data)
{
    struct rows *rows = data;
    const char *name = nl_dig_string(benchmark, "name", "?");

    (void)document;
    if (!nl_exits_counted(benchmark) || rows->n >= ROWS_MAX)
        return;
    write_row(rows->page, at, benchmark, !rows->before || strcmp(rows->before, name) != 0);
    rows->before = name;
    rows->n++;
}

void nl_page_exits(const struct nl_page *page)
{
    struct rows rows = {.page = page};
    cleanup_free char *note = nl_notes_exits(page->document);

    nl_html_open(page->html, "p", "note");
    nl_html_format(page->html,
                   "Per operation of a benchmark, as KVM in the layer below counts "
                   "them. %s",
                   note ? note : "");
    nl_html_close(page->html);
    write_heading(page);
    nl_each_benchmark(page->document, "benchmarks", NULL, add_row, &rows);
    nl_html_table_end(page->html);
}

static void write_line(const struct nl_exit_line *line, void *data)
{
    struct rows *rows = data;
    struct nl_html *html = rows->page->html;

    if (rows->n++ >= ROWS_MAX)
        return;
    nl_html_open(html, "tr", line->first ? "first" : NULL);
    nl_html_row_heading(html, line->benchmark);
    nl_html_cell(html, NULL, "%s", line->at);
    nl_html_cell(html, "number", "%s", nl_figure_fixed(line->operations, 0).text);
    if (line->skipped) {
        nl_html_cell(html, NULL, "%s", "");
        nl_html_cell(html, "number", "%s", "");
        nl_html_cell(html, NULL, "not counted: %s", line->skipped);
    } else {
        nl_html_cell(html, NULL, "%s", line->way);
        nl_html_cell(html, "number", "%s", nl_figure_per_operation(line->total).text);
        nl_html_cell(html, NULL, "%s", line->reasons);
    }
    nl_html_close(html);
}

void nl_page_exit_reasons(const struct nl_page *page)
{
    static const char *const headings[] = {"Benchmark", "At",      ">Operations", "Exits",
                                           ">In all",   "Reasons", NULL};
    struct rows rows = {.page = page};

    nl_html_leaf(
        page->html, "p", "note",
        "Per operation of a benchmark, by the reason that the kernel of the layer below "
        "gives; counted in a round of its own, in which nothing was timed. L2>L0 are exits "
        "of L2, all of which L0 gets first, and L2>L1 those that it passes on to L1; L2+>L0 are "
        "of L2 and of what is inside it. " NL_EXIT_REASONS_NOTE);
    nl_html_table(page->html, "VM exits by reason", headings);
    nl_exit_lines(page->document, write_line, &rows);
    nl_html_table_end(page->html);
    if (rows.n > ROWS_MAX) {
        nl_html_open(page->html, "p", "note");
        nl_html_format(page->html, "%zu more are in the text report.", rows.n - ROWS_MAX);
        nl_html_close(page->html);
    }
}
