/*
 * report.h - reports: pure functions of a document, whoever wrote it.
 */
#ifndef NL_REPORT_H
#define NL_REPORT_H

#include "error.h"

#include <stdbool.h>

/* The report that a person reads on a terminal, at most 100 columns wide where words allow. */
void nl_report_text(const json_t *document, FILE *out, bool colour);

/* Should OUT get colours? Only a terminal that understands them, and only if NO_COLOR is not set
   (https://no-color.org). */
bool nl_report_wants_colour(FILE *out);

/* A JUnit XML file: one testsuite per layer and one for the run, one testcase per check. The
   dialect is what Jenkins' junit plug-in and GitLab read. */
int nl_report_junit(const json_t *document, const char *path, struct nl_error **err);

/* The same as text, the caller's; NULL when out of memory. */
char *nl_report_junit_text(const json_t *document);

/* An HTML page to look at: one file, without scripts and links to elsewhere. */
int nl_report_html(const json_t *document, const char *path, struct nl_error **err);

/* The same as text, the caller's; NULL when out of memory. */
char *nl_report_html_text(const json_t *document);

/* Every figure of a run as a row of comma-separated values (docs/report.md), the caller's; NULL
   when out of memory. */
char *nl_report_csv_text(const json_t *document);

#endif
