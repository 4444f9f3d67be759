/*
 * report-html.h - what the files that write the report's page share.
 *
 * Each writes one or two sections from a document that nobody vouches for. nl_page_has_*() says
 * whether there is anything to write: what was not measured has no section.
 */
#ifndef NL_REPORT_HTML_H
#define NL_REPORT_HTML_H

#include "html.h"
#include "plot.h"

#include <jansson.h>
#include <stdbool.h>

/* More than these are left to the document: a scenario has at most 16 layers. */
#define NL_PAGE_LAYERS_MAX 16

struct nl_page {
    struct nl_html *html;
    const json_t *document;
    struct nl_error **missing; /* why there are no plots: gnuplot is not tried again */
};

void nl_page_diagnosis(const struct nl_page *page);
bool nl_page_has_diagnosis(const json_t *document);
void nl_page_failure(const struct nl_page *page);
void nl_page_findings(const struct nl_page *page);

void nl_page_stack(const struct nl_page *page);

void nl_page_checks(const struct nl_page *page);

void nl_page_time(const struct nl_page *page);

void nl_page_slowdown(const struct nl_page *page);

void nl_page_clocks(const struct nl_page *page);
bool nl_page_has_clocks(const json_t *document);

void nl_page_exits(const struct nl_page *page);
bool nl_page_has_exits(const json_t *document);
void nl_page_exit_reasons(const struct nl_page *page);
void nl_page_ratios(const struct nl_page *page);  /* within it: the picture */
void nl_page_samples(const struct nl_page *page); /* within it: how the samples are distributed */

void nl_page_meter(const struct nl_page *page);
bool nl_page_has_meter(const json_t *document);
void nl_page_meter_shares(const struct nl_page *page); /* within it: pictures */
void nl_page_meter_entries(const struct nl_page *page);

/* What a benchmark of that layer was metered as; FIRST: no other layer of it came before. MARK: why
   its count is not that of the operation alone (metered-marks.h), or 0. */
typedef void nl_page_visit(const struct nl_page *page, const json_t *metered, size_t layer,
                           bool first, unsigned mark, void *data);

/* For every metered benchmark that has a result, all layers of one together, in the order in which
   they first come. */
void nl_page_each_metered(const struct nl_page *page, nl_page_visit *visit, void *data);

/* How many instructions of one operation the layer executed. */
double nl_page_instructions(const json_t *metered, size_t layer);

void nl_page_profiles(const struct nl_page *page);
bool nl_page_has_profiles(const json_t *document);

void nl_page_evidence(const struct nl_page *page); /* within the failure */

void nl_page_commands(const struct nl_page *page);
void nl_page_logs(const struct nl_page *page);
bool nl_page_has_logs(const json_t *document);

void nl_page_repeat(const struct nl_page *page);

/* A section that is left out where there is nothing for it. */
struct nl_page_section {
    const char *id;
    const char *title;
    const char *key; /* NULL, or: there is something if the document has that, and not empty */
    bool (*present)(const json_t *document); /* the same, where that is not all; NULL: always */
    void (*write)(const struct nl_page *page);
};

/* Links to the sections that are there, and these sections. */
void nl_page_sections(const struct nl_page *page, const struct nl_page_section *sections, size_t n);

/* End the page with what made it, and MORE; see nl_html_finish(). */
char *nl_page_finish(const struct nl_page *page, const char *more);

/* "L1" or what the layer at INDEX calls itself. */
const char *nl_page_layer_name(const json_t *document, size_t index);

/* How many layers the page shows. */
size_t nl_page_layers(const json_t *document);

/* And with the tiny guests that the meter saw its innermost layer run. */
size_t nl_page_metered_layers(const json_t *document);

/* LINES (array of strings) below a table; nothing where there are none. */
void nl_page_lines(const struct nl_page *page, const json_t *lines);

/* In a legend (ul of class legend): a square of the colour (enum nl_colour), and what it means. */
void nl_page_legend_entry(struct nl_html *html, unsigned colour, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A legend of the layers FROM to TO - 1, each with BEFORE and AFTER its name. To be closed: more
   may follow. */
void nl_page_legend(const struct nl_page *page, size_t from, size_t to, const char *before,
                    const char *after);

/* Draw PLOTS, or write that they are missing and return NULL. */
struct nl_plot_pictures *nl_page_draw(const struct nl_page *page, const struct nl_plot *plots,
                                      size_t n);

/* A plot of ROWS rows, each HEIGHT pixels high, in as many columns side by side as make them short.
   In PLOT, row I is from I to I + 1 on the y axis. */
void nl_page_rows(const struct nl_page *page, const struct nl_plot *plot, size_t rows,
                  double height);

/* Fill and stroke of a shape in colour COLOUR (enum nl_colour): the attribute for servers that
   forbid style sheets, the class for all others. To be called right after nl_html_open(). */
void nl_page_colour(struct nl_html *html, unsigned colour);

#endif
