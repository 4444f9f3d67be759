/*
 * compare-hints.h - what makes a comparison say less than its user may think.
 */
#ifndef NL_COMPARE_HINTS_H
#define NL_COMPARE_HINTS_H

#include "document-set.h"

/* One sentence each: a run that is on both sides, or times on one and counts on the other. New
   reference. */
json_t *nl_compare_hints(const struct nl_document_set *base, const struct nl_document_set *new);

/* The last of those where nothing was measured in common, since one side measured times and the
   other counted instructions; the caller's, NULL where that is not so. */
char *nl_compare_other_kind(const struct nl_document_set *base, const struct nl_document_set *new);

#endif
