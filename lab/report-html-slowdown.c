/*
 * report-html-slowdown.c - the slowdown in the report's page: medians and ratios, layer by layer.
 */
#include "cleanup.h"
#include "dig.h"
#include "figure.h"
#include "report-html.h"
#include "report-notes.h"

#include <math.h>
#include <string.h>

#define ROWS_MAX 200

static const json_t *of_layer(const json_t *entry, const char *layer)
{
    size_t i;
    json_t *element;

    json_array_foreach(json_object_get(entry, "layers"), i, element)
    {
        if (nl_dig_is(element, "layer", layer))
            return element;
    }
    return NULL;
}

static void median_cell(struct nl_html *html, const json_t *layer)
{
    if (!nl_dig(layer, "median")) {
        nl_html_cell(html, "number", "%s", "");
        return;
    }
    nl_html_cell(html, "number", "%s%s", nl_figure(nl_dig_number(layer, "median", 0)).text,
                 nl_dig_true(layer, "unstable") ? "~" : "");
}

/* Three digits that count, or what it takes to tell the ends of the interval apart. */
static int ratio_digits(const json_t *ratio)
{
    double value = nl_dig_number(ratio, "ratio", 0);
    double width = nl_dig_number(ratio, "high", NAN) - nl_dig_number(ratio, "low", NAN);
    int digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;

    while (digits < 3 && width > 0 && width * pow(10, digits) < 2)
        digits++;
    return digits;
}

/* "13.6 (13.2 to 14.1)" */
static void ratio_cell(struct nl_html *html, const json_t *ratio)
{
    double value = nl_dig_number(ratio, "ratio", 0);
    int digits = ratio_digits(ratio);
    const char *mark = nl_dig_true(ratio, "unstable") ? "~" : "";

    if (!ratio)
        nl_html_cell(html, "number", "%s", "");
    else if (nl_dig(ratio, "low") && nl_dig(ratio, "high"))
        nl_html_cell(html, "number", "%s%s (%s to %s)", nl_figure_fixed(value, digits).text, mark,
                     nl_figure_fixed(nl_dig_number(ratio, "low", 0), digits).text,
                     nl_figure_fixed(nl_dig_number(ratio, "high", 0), digits).text);
    else
        nl_html_cell(html, "number", "%s%s", nl_figure_fixed(value, digits).text, mark);
}

static void write_row(struct nl_html *html, const json_t *document, const json_t *entry)
{
    size_t n = nl_page_layers(document);

    nl_html_open(html, "tr", NULL);
    nl_html_row_heading(html, nl_dig_string(entry, "benchmark", "?"));
    nl_html_cell(html, NULL, "%s", nl_dig_string(entry, "unit", "?"));
    for (size_t k = 0; k < n; k++) {
        const json_t *layer = of_layer(entry, nl_page_layer_name(document, k));

        median_cell(html, layer);
        if (k > 0)
            ratio_cell(html, nl_dig(layer, "to_below"));
        if (k >= 2 && k == n - 1)
            ratio_cell(html, nl_dig(layer, "to_l0"));
    }
    nl_html_close(html);
}

/* Columns: name, unit, and for each layer its median, its ratio to the layer below, and for the
   innermost of three or more its ratio to L0. */
static void write_table(const struct nl_page *page)
{
    const char *headings[4 + 2 * NL_PAGE_LAYERS_MAX] = {"Benchmark", "Unit"};
    char names[NL_PAGE_LAYERS_MAX][32];
    char times[NL_PAGE_LAYERS_MAX][32];
    const json_t *document = page->document;
    size_t n = nl_page_layers(document);
    size_t used = 2;
    size_t i;
    json_t *entry;

    for (size_t k = 0; k < n; k++) {
        snprintf(names[k], sizeof(names[k]), ">%.20s", nl_page_layer_name(document, k));
        headings[used++] = names[k];
        snprintf(times[k], sizeof(times[k]), ">\u00d7 %.20s",
                 nl_page_layer_name(document, k > 0 ? k - 1 : 0));
        if (k > 0)
            headings[used++] = times[k];
        if (k >= 2 && k == n - 1)
            headings[used++] = times[0];
    }
    nl_html_table(page->html, "Medians, and times slower than another layer with 95 % interval",
                  headings);
    json_array_foreach(json_object_get(document, "slowdown"), i, entry)
    {
        if (i < ROWS_MAX)
            write_row(page->html, document, entry);
    }
    nl_html_table_end(page->html);
}

/* What is measured, in the words of the benchmark itself. */
static void write_about(const struct nl_page *page)
{
    size_t n = nl_page_layers(page->document);
    const json_t *layers = json_object_get(page->document, "layers");
    cleanup_json json_t *seen = json_object();
    size_t k;
    json_t *benchmark;

    nl_html_details(page->html, "What each benchmark does");
    nl_html_open(page->html, "dl", NULL);
    for (size_t i = 0; i < n; i++) {
        json_array_foreach(json_object_get(json_array_get(layers, i), "benchmarks"), k, benchmark)
        {
            const char *name = nl_dig_string(benchmark, "name", "?");

            if (k >= ROWS_MAX || json_object_get(seen, name))
                continue;
            json_object_set_new(seen, name, json_true());
            nl_html_term(page->html, name, nl_dig_string(benchmark, "about", NULL));
        }
    }
    nl_html_close(page->html);
    nl_html_close(page->html);
}

void nl_page_slowdown(const struct nl_page *page)
{
    cleanup_json json_t *unstable = nl_notes_unstable(page->document);
    cleanup_json json_t *skipped = nl_notes_skipped(page->document, "benchmarks");

    nl_html_leaf(page->html, "p", "note",
                 "Medians of samples; a ratio above 1 is always slower. ~ is unstable; why is "
                 "below the table.");
    nl_page_ratios(page);
    write_table(page);
    nl_page_lines(page, unstable);
    nl_page_lines(page, skipped);
    write_about(page);
    nl_page_samples(page);
}
