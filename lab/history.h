/*
 * history.h - the trend of every figure over many runs, and where it changed: pure functions of
 * what the store holds.
 */
#ifndef NL_HISTORY_H
#define NL_HISTORY_H

#include "error.h"

#include <stdbool.h>

/* The latest so many changes of one series are listed: more are noise that somebody tests at a
   silly level. */
#define NL_HISTORY_CHANGES_MAX 16

struct nl_history_options {
    double alpha;             /* chance that any series without a change is marked */
    const char *const *names; /* benchmarks and phases to look at, NULL-terminated; NULL: all */
    const char *at;           /* layer to look at, "L1"; NULL: all */
};

/* The history (docs/history.md#json) of what nl_history_load() gave. Fails with NL_EXIT_REQUEST
   where nothing is left to show. New reference. */
int nl_history(const json_t *loaded, const struct nl_history_options *options, json_t **history,
               struct nl_error **err);

/* For a terminal. */
void nl_history_text(const json_t *history, FILE *out, bool colour);

/* A row for each figure of each run; the caller's, NULL when out of memory. */
char *nl_history_csv(const json_t *history);

/* A page to look at; the caller's, NULL when out of memory. */
char *nl_history_html(const json_t *history);

#endif
