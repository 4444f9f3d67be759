/*
 * report-text.h - what the files that print the text report share.
 */
#ifndef NL_REPORT_TEXT_H
#define NL_REPORT_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#define NL_REPORT_WIDTH 100

/* Where it goes, and the escape sequences to use, all "" without colours. */
struct nl_text {
    FILE *out;
    const char *bold;
    const char *red;
    const char *green;
    const char *yellow;
    const char *dim;
    const char *plain;
};

/* TEXT in lines of at most NL_REPORT_WIDTH columns, indented by INDENT but for the first, which
   starts where the caller has already printed USED columns. Ends with a newline. */
void nl_text_wrap(const struct nl_text *to, const char *text, int used, int indent);

/* LINES (array of strings) below a table. */
void nl_text_lines(const struct nl_text *to, const json_t *lines);

/* A blank line and a section's title; NOTE (may be NULL) follows it. */
void nl_text_section(const struct nl_text *to, const char *title, const char *note);

/* That KEY of the document's scenario ("benchmarks" or "meter") adds exits to every operation. */
void nl_text_extra_exits(const struct nl_text *to, const json_t *document, const char *key);

/* What goes where, with or without colours. */
struct nl_text nl_text_to(FILE *out, bool colour);

/* Findings (the array that nl_inquiry_findings() makes), one after the other: at length if they
   are bad, else in a line. */
void nl_text_findings(const struct nl_text *to, const json_t *findings);

/* A document's findings: what is bad, and how many are not. */
void nl_text_document_findings(const struct nl_text *to, const json_t *document);

void nl_text_diagnosis(const struct nl_text *to, const json_t *document);
void nl_text_checks(const struct nl_text *to, const json_t *document);
void nl_text_slowdown(const struct nl_text *to, const json_t *document);
void nl_text_clocks(const struct nl_text *to, const json_t *document);
void nl_text_exits(const struct nl_text *to, const json_t *document);
void nl_text_exit_reasons(const struct nl_text *to, const json_t *document);
void nl_text_meter(const struct nl_text *to, const json_t *document);
void nl_text_profile(const struct nl_text *to, const json_t *document);

#endif
