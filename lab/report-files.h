/*
 * report-files.h - the files of a run: document.json, report.html, junit.xml, every layer's kernel
 * log.
 */
#ifndef NL_REPORT_FILES_H
#define NL_REPORT_FILES_H

#include "document.h"

/* Write the kernel logs that DOCUMENT holds into the folder OUT, and note them in it. To be called
   before the document is written. */
int nl_report_logs(struct nl_document *document, const char *out, struct nl_error **err);

/* Write OUT/document.json and OUT/junit.xml; the second also when the first cannot be written. */
int nl_report_files(const struct nl_document *document, const char *out, struct nl_error **err);

/* Write OUT/report.html. */
int nl_report_page(const struct nl_document *document, const char *out, struct nl_error **err);

#endif
