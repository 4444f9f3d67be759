/*
 * compare.h - what changed between two sets of runs: a pure function of their documents.
 */
#ifndef NL_COMPARE_H
#define NL_COMPARE_H

#include "document-set.h"

#include <stdbool.h>

/* So many runs on a side, and a run's median is one observation. With fewer the samples of all runs
   are, and what differs from run to run is not known: then times may differ, but nothing is called
   worse or better by them, and nothing fails. */
#define NL_COMPARE_RUNS_MIN 4

struct nl_compare_options {
    double alpha;      /* of the whole table: chance that any row is called changed for nothing */
    double fail_above; /* percent; NAN: nothing fails */
    bool force;        /* compare what is not comparable */
};

/* The comparison (docs/document.md#compare) of NEW with BASE, both of at least one document. Fails
   with NL_EXIT_REQUEST where they are not comparable, unless forced, or all passed and have
   measured nothing in common. New reference. */
int nl_compare(const struct nl_document_set *base, const struct nl_document_set *new,
               const struct nl_compare_options *options, json_t **comparison,
               struct nl_error **err);

/* Was anything measured in common? */
bool nl_compare_has_rows(const json_t *comparison);

/* The exit status that COMPARISON leads to: NL_EXIT_PASSED; and with fail_above
   NL_EXIT_CHECK_FAILED where a row failed, or a new run did, as no run of the base, or
   what the base measured was lost, and NL_EXIT_REQUEST where none of that is so, but nothing was
   measured in common, or a new run was interrupted: that is no pass. */
int nl_compare_status(const json_t *comparison);

/* What changed, for a terminal. */
void nl_compare_text(const json_t *comparison, FILE *out, bool colour);

/* Its rows as comma-separated values with a heading; the caller's, NULL when out of memory. */
char *nl_compare_csv(const json_t *comparison);

/* A page to look at, as report.html; the caller's, NULL when out of memory. */
char *nl_compare_html(const json_t *comparison);

#endif
