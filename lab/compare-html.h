/*
 * compare-html.h - parts of a comparison's page; its "document" is the comparison.
 */
#ifndef NL_COMPARE_HTML_H
#define NL_COMPARE_HTML_H

#include "report-html.h"

/* The verdict, above all else. */
void nl_compare_html_head(const struct nl_page *page);

/* Tables: the runs that did not pass, what only one side measured, and all runs. */
void nl_compare_html_failures(const struct nl_page *page);
void nl_compare_html_only(const struct nl_page *page);
void nl_compare_html_runs(const struct nl_page *page);

#endif
