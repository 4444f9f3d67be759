/*
 * report-html-exits.c - VM exits per operation in the report's page: KVM's counters around each
 * benchmark, the witness where there is no meter.
 */
#include "cleanup.h"
#include "dig.h"
#include "report-html.h"
#include "report-words.h"

#include <math.h>

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
        nl_html_cell(html, "number", "%.*f", n < 100 ? 2 : 0, n);
}

static void write_row(const struct nl_page *page, size_t at, const json_t *benchmark, bool first)
{
    struct nl_html *html = page->html;
    size_t n = shown_layers(page->document);

    nl_html_open(html, "tr", first ? "first" : NULL);
    nl_html_row_heading(html, nl_dig_string(benchmark, "name", "?"));
    nl_html_cell(html, NULL, "%s", nl_page_layer_name(page->document, at));
    nl_html_cell(html, "number", "%.0f", nl_dig_number(benchmark, "operations", 0));
    for (size_t k = 1; k < n; k++) {
        const char *layer = nl_page_layer_name(page->document, k);

        per_operation(html, benchmark, layer, "exits");
        per_operation(html, benchmark, layer, "irq_exits");
        if (k + 1 < n)
            per_operation(html, benchmark, layer, "nested_run");
    }
    nl_html_close(html);
}

/* The benchmark NAME at every layer from FROM on. */
static size_t write_rows(const struct nl_page *page, size_t from, const char *name)
{
    const json_t *layers = json_object_get(page->document, "layers");
    size_t n = nl_page_layers(page->document), rows = 0;

    for (size_t l = from; l < n; l++) {
        const json_t *list = json_object_get(json_array_get(layers, l), "benchmarks");
        size_t i;
        json_t *benchmark;

        json_array_foreach(list, i, benchmark)
        {
            if (!nl_dig_is(benchmark, "name", name) || !nl_exits_counted(benchmark))
                continue;
            write_row(page, l, benchmark, rows++ == 0);
            break;
        }
    }
    return rows;
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

void nl_page_exits(const struct nl_page *page)
{
    const json_t *layers = json_object_get(page->document, "layers");
    cleanup_json json_t *seen = json_object();
    size_t n = nl_page_layers(page->document), rows = 0;

    nl_html_leaf(
        page->html, "p", "note",
        "Per operation of a benchmark, as KVM in the layer below counts them. Exits of ticks "
        "and of asking for the figures are among them: an upper bound, near where there "
        "were many operations.");
    write_heading(page);
    for (size_t l = 0; l < n; l++) {
        const json_t *list = json_object_get(json_array_get(layers, l), "benchmarks");
        size_t i;
        json_t *benchmark;

        json_array_foreach(list, i, benchmark)
        {
            const char *name = nl_dig_string(benchmark, "name", NULL);

            if (!name || !nl_exits_counted(benchmark) || json_object_get(seen, name) ||
                rows >= ROWS_MAX)
                continue;
            json_object_set_new(seen, name, json_true());
            rows += write_rows(page, l, name);
        }
    }
    nl_html_table_end(page->html);
}
