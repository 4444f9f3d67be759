/*
 * compare-words.h - what a comparison says in its text and on its page alike.
 */
#ifndef NL_COMPARE_WORDS_H
#define NL_COMPARE_WORDS_H

#include <jansson.h>

/* How RUN, an element of "base" or "new", ended: "failed in phase kernel of L2: kernel-panic at L2,
   as no run of the base did"; the caller's, NULL when out of memory. */
char *nl_compare_run_title(const json_t *run);

/* What a user should read of it first, borrowed: the diagnosis, else the message of the failure,
   else the verdict; "" where there is none. */
const char *nl_compare_run_message(const json_t *run);

/* How many rows got which verdict; the caller's, NULL when out of memory. */
char *nl_compare_counts(const json_t *comparison);

/* Below the table of times: what its factor is. */
#define NL_COMPARE_FACTOR_NOTE                                                                     \
    "The factor is the median of all ratios of a new to a base observation, turned over where "    \
    "more "                                                                                        \
    "is better; it need not be the quotient of the two medians."

/* Below the counts: what a row without a change may differ by, and why rows are not judged; NULL
   when out of memory, the caller's, "" where there is no such row. UNCHANGED: how such a row is
   called where this is shown. */
char *nl_compare_counted_note(const json_t *comparison, const char *unchanged);

/* Why COMPARISON, with fail_above, leads to the exit status that it does; the caller's, NULL when
   out of memory. */
char *nl_compare_reasons(const json_t *comparison);

#endif
