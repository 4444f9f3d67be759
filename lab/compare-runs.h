/*
 * compare-runs.h - the runs that are compared: which of them failed, where, and whether that is
 * new.
 */
#ifndef NL_COMPARE_RUNS_H
#define NL_COMPARE_RUNS_H

#include "document-set.h"

#include <stdbool.h>

/* The runs of SET, for "base" and "new" (docs/document.md#compare). BASE (may be NULL) is what SET
   is compared with: then each says whether its failure is a new one. New reference. */
json_t *nl_compare_runs(const struct nl_document_set *set, const struct nl_document_set *base);

/* Is there something to say about how RUN, an element of the above, went? It did not pass, or
   something failed in it as its scenario expects. */
bool nl_compare_run_failed(const json_t *run);

/* How many those are in COMPARISON, on both sides. */
size_t nl_compare_runs_failed(const json_t *comparison);

#endif
