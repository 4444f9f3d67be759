/*
 * report-html-meter.c - what the meter counted, in the report's page: for one operation, the
 * instructions by layer, and the exit multiplication. The pictures are in report-html-shares.c.
 */
#include "cleanup.h"
#include "dig.h"
#include "figure.h"
#include "metered-marks.h"
#include "report-html.h"
#include "report-words.h"

#include <string.h>

#define ROWS_MAX 200

/* More layers make more pairs than a table takes; bars and instructions are of all. */
#define PAIRS_LAYERS_MAX 4

struct walk {
    const struct nl_page *page;
    nl_page_visit *visit;
    void *data;
    const json_t *marks;
    const char *name; /* of the last one; NULL: there was none */
    size_t names;
};

static void visit_metered(const json_t *document, size_t at, const json_t *metered, void *data)
{
    struct walk *walk = data;
    const char *name = nl_dig_string(metered, "name", "");
    bool first = !walk->name || strcmp(walk->name, name) != 0;

    if (at >= nl_page_layers(document))
        return;
    walk->name = name;
    walk->names += first;
    if (walk->names <= ROWS_MAX)
        walk->visit(walk->page, metered, at, first, nl_metered_mark(walk->marks, at, metered),
                    walk->data);
}

void nl_page_each_metered(const struct nl_page *page, nl_page_visit *visit, void *data)
{
    cleanup_json json_t *marks = nl_metered_marks(page->document);
    struct walk walk = {.page = page, .visit = visit, .data = data, .marks = marks};

    nl_each_benchmark(page->document, "metered", nl_metered_counted, visit_metered, &walk);
}

static bool has_reason(const json_t *metered)
{
    return nl_dig(metered, "skipped");
}

static bool any(const json_t *document, bool (*wanted)(const json_t *metered))
{
    size_t l, i;
    json_t *layer, *metered;

    json_array_foreach(json_object_get(document, "layers"), l, layer)
    {
        json_array_foreach(json_object_get(layer, "metered"), i, metered)
        {
            if (nl_dig_string(metered, "name", NULL) && wanted(metered))
                return true;
        }
    }
    return false;
}

bool nl_page_has_meter(const json_t *document)
{
    return any(document, nl_metered_counted) || any(document, has_reason);
}

double nl_page_instructions(const json_t *metered, size_t layer)
{
    const json_t *value = json_array_get(json_object_get(metered, "instructions"), layer);
    double number = json_is_number(value) ? json_number_value(value) : 0;

    return number > 0 ? number : 0;
}

static void write_share(const struct nl_page *page, const json_t *metered, size_t layer, bool first,
                        unsigned mark, void *data)
{
    struct nl_html *html = page->html;
    double operations = nl_dig_number(metered, "operations", 0);
    double undisturbed = nl_dig_number(metered, "undisturbed", 0);
    const size_t *layers = data;

    nl_html_open(html, "tr", first ? "first" : NULL);
    nl_html_row_heading(html, nl_dig_string(metered, "name", "?"));
    nl_html_cell(html, NULL, "%s", nl_page_layer_name(page->document, layer));
    nl_html_cell(html, "number", "%s%s",
                 nl_figure_fixed(nl_dig_number(metered, "total", 0), 0).text, mark ? "~" : "");
    for (size_t k = 0; k < *layers; k++)
        nl_html_cell(html, "number", "%s",
                     nl_figure_fixed(nl_page_instructions(metered, k), 0).text);
    if (operations > 0)
        nl_html_cell(html, "number", "%.0f %%", 100 * (operations - undisturbed) / operations);
    else
        nl_html_cell(html, "number", "%s", "");
    nl_html_close(html);
}

static void write_shares(const struct nl_page *page, const json_t *marks, const json_t *notes)
{
    const char *headings[5 + NL_PAGE_LAYERS_MAX] = {"Benchmark", "At", ">Sum"};
    char by[NL_PAGE_LAYERS_MAX][32];
    size_t n = nl_page_metered_layers(page->document);

    nl_html_section(
        page->html, 3, NULL, "Instructions by layer",
        json_object_size(marks) > 0
            ? "Of one operation: how many instructions, and which layer executed them. What ~ "
              "means "
              "for a count is below the table."
            : "Of one operation: how many instructions, and which layer executed them.");
    nl_page_meter_shares(page);
    for (size_t k = 0; k < n; k++) {
        snprintf(by[k], sizeof(by[k]), ">by %.20s", nl_page_layer_name(page->document, k));
        headings[3 + k] = by[k];
    }
    headings[3 + n] = ">Disturbed";
    nl_html_details(page->html, "The numbers");
    nl_html_table(page->html, "Instructions of one operation", headings);
    nl_page_each_metered(page, write_share, &n);
    nl_html_table_end(page->html);
    nl_html_close(page->html);
    nl_page_lines(page, notes);
    nl_html_close(page->html);
}

static size_t pair_layers(const json_t *document)
{
    size_t n = nl_page_metered_layers(document);

    return n < PAIRS_LAYERS_MAX ? n : PAIRS_LAYERS_MAX;
}

static void write_exits(const struct nl_page *page, const json_t *metered, size_t layer, bool first,
                        unsigned mark, void *data)
{
    const size_t n = *(const size_t *)data;

    if (json_array_size(json_object_get(metered, "exits")) == 0 || (mark & NL_MARK_INTERRUPTS))
        return;
    nl_html_open(page->html, "tr", first ? "first" : NULL);
    nl_html_row_heading(page->html, nl_dig_string(metered, "name", "?"));
    nl_html_cell(page->html, NULL, "%s", nl_page_layer_name(page->document, layer));
    for (size_t k = 0; k + 1 < n; k++)
        nl_html_cell(
            page->html, "number", "%s",
            nl_figure_fixed(
                json_number_value(json_array_get(json_object_get(metered, "vmruns"), k)), 0)
                .text);
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++)
            nl_html_cell(page->html, "number", "%" JSON_INTEGER_FORMAT,
                         nl_exits_reached(metered, i, k));
    nl_html_close(page->html);
}

static void write_multiplication(const struct nl_page *page, const json_t *marks)
{
    enum { PAIRS_MAX = PAIRS_LAYERS_MAX * (PAIRS_LAYERS_MAX - 1) / 2 };
    const char *headings[2 + PAIRS_MAX + PAIRS_LAYERS_MAX + 1] = {"Benchmark", "At"};
    char texts[PAIRS_MAX + PAIRS_LAYERS_MAX][64];
    size_t n = pair_layers(page->document);
    size_t used = 0;
    cleanup_free char *left_out = nl_metered_left_out(page->document, marks);

    for (size_t k = 0; k + 1 < n; k++)
        snprintf(texts[used++], sizeof(texts[0]), ">VMRUN by %.20s",
                 nl_page_layer_name(page->document, k));
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++)
            snprintf(texts[used++], sizeof(texts[0]), ">%.20s>%.20s",
                     nl_page_layer_name(page->document, i), nl_page_layer_name(page->document, k));
    for (size_t i = 0; i < used; i++)
        headings[2 + i] = texts[i];
    nl_html_section(
        page->html, 3, NULL, "Exit multiplication",
        "To handle an exit of its guest a layer executes instructions that are exits of its own: "
        "where L0 enters guests six times (VMRUN by L0) for one exit of L2, that exit is "
        "multiplied by six. All of one operation; those without an exit are left out.");
    if (n > 2)
        nl_html_leaf(page->html, "p", "note",
                     "L2>L1 counts the exits of L2 that L1 ran to handle.");
    nl_page_meter_entries(page);
    nl_html_table(page->html, "Exits of one operation, and whom they reached", headings);
    nl_page_each_metered(page, write_exits, &n);
    nl_html_table_end(page->html);
    if (left_out) {
        nl_html_open(page->html, "p", "note");
        nl_html_format(page->html, "Left out, as exits by interrupts are among theirs: %s",
                       left_out);
        nl_html_close(page->html);
    }
    nl_html_close(page->html);
}

void nl_page_meter(const struct nl_page *page)
{
    cleanup_json json_t *marks = nl_metered_marks(page->document);
    cleanup_json json_t *notes = nl_metered_notes(page->document, marks);

    if (!any(page->document, nl_metered_counted)) {
        nl_page_lines(page, notes);
        return;
    }
    write_shares(page, marks, notes);
    if (nl_page_metered_layers(page->document) > 1)
        write_multiplication(page, marks);
}
