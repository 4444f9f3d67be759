/*
 * report-clocks.h - the clocks by which times were measured, in the words that text and page share.
 */
#ifndef NL_REPORT_CLOCKS_H
#define NL_REPORT_CLOCKS_H

#include <jansson.h>

#define NL_CLOCK_COLUMNS 6
#define NL_CLOCK_FIGURES 2 /* the first column that has numbers */

/* Of a table whose first column names the layer. */
extern const char *const nl_clock_headings[NL_CLOCK_COLUMNS];

struct nl_clock_row {
    const char *layer;
    const char *source;
    char figures[NL_CLOCK_COLUMNS - NL_CLOCK_FIGURES][72];
};

typedef void nl_clock_visit(const struct nl_clock_row *row, void *data);

/* Every layer of DOCUMENT whose clocks were looked at; their number. VISIT may be NULL. */
size_t nl_clock_rows(const json_t *document, nl_clock_visit *visit, void *data);

/* What the columns mean: array of strings, new reference. */
json_t *nl_clock_notes(void);

#endif
