/*
 * progress.h - says on standard error what is being done: one live line on a terminal, plain lines
 * elsewhere, so that a CI log stays readable. Safe from one thread at a time.
 */
#ifndef NL_PROGRESS_H
#define NL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

/* --quiet: only errors. */
void nl_progress_quiet(bool quiet);
bool nl_progress_is_quiet(void);

/* Begin a step. Prints "WHAT ..." (live on a terminal). Ends a step that was still open. */
void nl_progress_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What the open step is busy with; on a terminal replaces the tail of the live line, elsewhere at
   most one line every 10 s. Also call it regularly to keep the seconds on the live line moving. */
void nl_progress_update(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The open step is at item NUMBER (from 1) of OF, until the next one or its end: updates say so. */
void nl_progress_item(size_t number, size_t of);

/* End the open step: "WHAT  RESULT (N.N s)". Does nothing when no step is open. */
void nl_progress_end(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line of its own, beside the steps. */
void nl_progress_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
