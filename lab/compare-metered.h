/*
 * compare-metered.h - what changed in counted instructions: exact differences, by layer.
 */
#ifndef NL_COMPARE_METERED_H
#define NL_COMPARE_METERED_H

#include "compare.h"

/* The rows of "metered" (docs/document.md#compare), judged; what one side only counted goes to ONLY
   (compare-only.h). New reference. */
json_t *nl_compare_metered(const struct nl_document_set *base, const struct nl_document_set *new,
                           const struct nl_compare_options *options, json_t *only);

/* Names of benchmarks in arrays KEY of all layers of all documents of both sides, each once, in the
   order of their first appearance. New reference. */
json_t *nl_compare_names(const struct nl_document_set *base, const struct nl_document_set *new,
                         const char *key);

/* How many layers the document with the most of them has. */
size_t nl_compare_depth(const struct nl_document_set *base, const struct nl_document_set *new);

/* What nl_compare_find() looks in: the benchmarks in arrays KEY of all layers of each document of
   SET, by name, as many elements as there are documents. New reference. */
json_t *nl_compare_index(const struct nl_document_set *set, const char *key);

/* The benchmark NAME at layer LAYER of document RUN, unless it was skipped; NULL if there is none.
 */
const json_t *nl_compare_find(const json_t *index, size_t run, size_t layer, const char *name);

/* Did nearly all undisturbed operations of METERED cost the same? Else any of them may come out on
   top. */
bool nl_compare_agrees(const json_t *metered);

#endif
