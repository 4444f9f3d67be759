/*
 * compare-only.h - what only one side of a comparison measured, and why the other did not.
 */
#ifndef NL_COMPARE_ONLY_H
#define NL_COMPARE_ONLY_H

#include "document-set.h"

#include <stdbool.h>

/* Two empty lists, "only_in_base" and "only_in_new" (docs/document.md#compare). New reference. */
json_t *nl_compare_only_new(void);

/* Only SIDE, "base" or "new", has FIGURES (consumed) of BENCHMARK at layer INDEX: KIND is "time" or
   "metered". */
void nl_compare_only_add(json_t *only, const char *side, const char *kind, const char *benchmark,
                         const char *unit, size_t index, json_t *figures);

/* Say of all that only the base has why NEW lacks it, and whether that is a loss: a run of NEW was
   to measure it. */
void nl_compare_only_explain(json_t *only, const struct nl_document_set *new);

/* The elements of LIST that have kind, layer and reason in common, as one, by layer: "layer",
   "what" ("times of cpuid, syscall"), "why" and "lost" (both absent in what is only in new). New
   reference. */
json_t *nl_compare_only_groups(const json_t *list);

#endif
