/*
 * csv.h - comma-separated values as RFC 4180 has them: lines end with CR LF, texts are quoted.
 */
#ifndef NL_CSV_H
#define NL_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct nl_csv {
    FILE *out;
    char *text;
    size_t length;
    bool started; /* the line has a field already */
};

/* Start with a line of N names; CSV must stay where it is. What cannot be written is remembered and
   makes nl_csv_finish() return NULL. */
void nl_csv_start(struct nl_csv *csv, const char *const *names, size_t n);

/* The next field of the line. TEXT NULL is an empty one; a leading = + - @ gets an apostrophe
   before it, since a spreadsheet would take it for a formula, and texts are whatever a document
   holds. */
void nl_csv_text(struct nl_csv *csv, const char *text);
void nl_csv_word(struct nl_csv *csv, const char *word); /* one of the program's own: not quoted */
void nl_csv_number(struct nl_csv *csv, double value);   /* to the last digit; empty if not finite */
void nl_csv_line(struct nl_csv *csv);                   /* ends it */

/* All of it, the caller's; frees the rest. NULL when out of memory. */
char *nl_csv_finish(struct nl_csv *csv);

#endif
