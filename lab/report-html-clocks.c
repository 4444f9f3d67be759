/*
 * report-html-clocks.c - the clocks by which times were measured, in the report's page.
 */
#include "cleanup.h"
#include "report-clocks.h"
#include "report-html.h"

#include <ctype.h>

bool nl_page_has_clocks(const json_t *document)
{
    return nl_clock_rows(document, NULL, NULL) > 0;
}

struct rows {
    struct nl_html *html;
    size_t n;
};

static void write_row(const struct nl_clock_row *row, void *data)
{
    struct rows *rows = data;

    if (rows->n++ >= NL_PAGE_LAYERS_MAX)
        return;
    nl_html_open(rows->html, "tr", NULL);
    nl_html_row_heading(rows->html, row->layer);
    nl_html_cell(rows->html, NULL, "%s", row->source);
    for (size_t i = 0; i < NL_CLOCK_COLUMNS - NL_CLOCK_FIGURES; i++)
        nl_html_cell(rows->html, "number", "%s", row->figures[i]);
    nl_html_close(rows->html);
}

void nl_page_clocks(const struct nl_page *page)
{
    cleanup_json json_t *notes = nl_clock_notes();
    struct rows rows = {.html = page->html};
    char texts[NL_CLOCK_COLUMNS][32];
    const char *headings[NL_CLOCK_COLUMNS + 1] = {"Layer"};

    for (size_t i = 1; i < NL_CLOCK_COLUMNS; i++) {
        snprintf(texts[i], sizeof(texts[i]), "%s%c%s", i < NL_CLOCK_FIGURES ? "" : ">",
                 toupper(nl_clock_headings[i][0]), nl_clock_headings[i] + 1);
        headings[i] = texts[i];
    }
    nl_html_leaf(page->html, "p", "note",
                 "How fast each clock ran while times were measured, to the layer below and to its "
                 "own TSC.");
    nl_html_table(page->html, "Clocks of the layers", headings);
    nl_clock_rows(page->document, write_row, &rows);
    nl_html_table_end(page->html);
    nl_page_lines(page, notes);
}
