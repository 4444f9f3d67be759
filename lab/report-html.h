/*
 * report-html.h - what the files that write the report's page share.
 *
 * Each writes one or two sections from a document that nobody vouches for. nl_page_has_*() says
 * whether there is anything to write: what was not measured has no section.
 */
#ifndef NL_REPORT_HTML_H
#define NL_REPORT_HTML_H

#include "html.h"

#include <jansson.h>
#include <stdbool.h>

/* More than these are left to the document: a scenario has at most 16 layers. */
#define NL_PAGE_LAYERS_MAX 16

struct nl_page {
    struct nl_html *html;
    const json_t *document;
};

void nl_page_diagnosis(const struct nl_page *page);
bool nl_page_has_diagnosis(const json_t *document);
void nl_page_failure(const struct nl_page *page);
bool nl_page_has_failure(const json_t *document);
void nl_page_findings(const struct nl_page *page);
bool nl_page_has_findings(const json_t *document);

void nl_page_stack(const struct nl_page *page);
bool nl_page_has_stack(const json_t *document);

void nl_page_checks(const struct nl_page *page);
bool nl_page_has_checks(const json_t *document);

void nl_page_time(const struct nl_page *page);
bool nl_page_has_time(const json_t *document);

void nl_page_slowdown(const struct nl_page *page);
bool nl_page_has_slowdown(const json_t *document);
void nl_page_ratios(const struct nl_page *page); /* within it: the picture */

void nl_page_meter(const struct nl_page *page);
bool nl_page_has_meter(const json_t *document);

void nl_page_commands(const struct nl_page *page);
bool nl_page_has_commands(const json_t *document);
void nl_page_logs(const struct nl_page *page);
bool nl_page_has_logs(const json_t *document);

void nl_page_repeat(const struct nl_page *page);

/* "L1" or what the layer at INDEX calls itself. */
const char *nl_page_layer_name(const json_t *document, size_t index);

/* How many layers the page shows. */
size_t nl_page_layers(const json_t *document);

/* A number with four significant digits, without an exponent where people would write none. */
void nl_page_number(char text[32], double value);

/* A square of a series' colour, for legends. */
void nl_page_swatch(struct nl_html *html, size_t series);

/* Fill and stroke of a shape in colour COLOUR (enum nl_colour): the attribute for servers that
   forbid style sheets, the class for all others. To be called right after nl_html_open(). */
void nl_page_colour(struct nl_html *html, unsigned colour);

/* A text in a picture, SIZE pixels high, whose base line is at Y; X is "12%" or a length. */
void nl_page_label(struct nl_html *html, const char *x, double y, const char *anchor,
                   const char *size, unsigned colour, const char *text);

#endif
