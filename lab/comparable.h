/*
 * comparable.h - may the figures of two runs be compared, and what else differs between the runs?
 */
#ifndef NL_COMPARABLE_H
#define NL_COMPARABLE_H

#include <jansson.h>

/* Compare DOCUMENT with REFERENCE and append what differs to OBSTACLES (figures of the two mean
   different things: another kind of L0, processor, number of vCPUs, clock, version or unit of a
   benchmark) or to DIFFERENCES (what may be the subject of the comparison: kernels, images, module
   parameters, QEMU). Elements (docs/document.md#compare): "what", "layer" (or null), "reference",
   "other" (texts; null: not known), "run". What is there already, but for the run, is not appended
   again. */
void nl_comparable(const json_t *reference, const json_t *document, json_t *obstacles,
                   json_t *differences);

#endif
