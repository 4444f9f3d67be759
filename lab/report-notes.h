/*
 * report-notes.h - lines below a report's table about its rows: what they have in common, and which
 * rows they are. The same in text and in HTML.
 */
#ifndef NL_REPORT_NOTES_H
#define NL_REPORT_NOTES_H

#include <jansson.h>
#include <stddef.h>

/* In NOTES (an object, {} at first): REASON is true of BENCHMARK at LAYER. DETAIL (NULL: none) is
   what else there is to say of that row. */
void nl_notes_add(json_t *notes, const char *reason, const char *benchmark, const char *layer,
                  const char *detail);

/* "hash, exec at L1, L2; memory-copy at L2 (5 %)": the rows of REASON; NULL: none. The caller's. */
char *nl_notes_rows(const json_t *notes, const char *reason);

/* Append to LINES (array of strings) what marks rows with "~": "~ REASON: ROWS", if there are any.
 */
void nl_notes_append(const json_t *notes, const char *reason, json_t *lines);

/* Append to LINES "BEFORE ROWS: REASON" for each of NOTES. */
void nl_notes_reasons(const json_t *notes, const char *before, json_t *lines);

/* Of benchmarks in the layers' LIST ("benchmarks", "metered"): which were skipped where, and why.
   Array of strings, new reference. */
json_t *nl_notes_skipped(const json_t *document, const char *list);

/* Why medians of DOCUMENT's slowdown are unstable ("~"), with their rows. Array of strings, new
   reference. */
json_t *nl_notes_unstable(const json_t *document);

/* What the table of exits that KVM counted says, and how the other tables of exits that DOCUMENT
   has differ: in what was counted when. NULL: it has no such table. The caller's. */
char *nl_notes_exits(const json_t *document);

#endif
