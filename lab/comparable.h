/*
 * comparable.h - may the figures of two runs be compared, and what else differs between the runs?
 */
#ifndef NL_COMPARABLE_H
#define NL_COMPARABLE_H

#include <jansson.h>
#include <stdbool.h>

/* Compare DOCUMENT with REFERENCE and append what differs to OBSTACLES (figures of the two mean
   different things: another kind of L0, processor, number of vCPUs, clock, version or unit of a
   benchmark) or to DIFFERENCES (what may be the subject of the comparison: kernels, images, module
   parameters, QEMU, faults). Elements (docs/document.md#compare): "what", "layer" (or null),
   "reference", "other" (texts; null: not known), "run". What is there already, but for the run, is
   not appended again. What is not known since a run or a layer did not get that far is no
   difference. */
void nl_comparable(const json_t *reference, const json_t *document, json_t *obstacles,
                   json_t *differences);

/* What nl_comparable() looks at in DOCUMENT, but for benchmarks: a small document, to be kept in
   its place. New reference. */
json_t *nl_comparable_excerpt(const json_t *document);

/* What must be equal for figures of two runs to mean the same, benchmarks aside: elements "what",
   "layer" (or null), "value" (a text, or null: not known). TIMES: of times; else of counts, which
   do not depend on this machine, but on the layers' clock sources: a kernel that reads another
   clock executes other instructions. Runs of equally many layers with equal terms have no obstacles
   between them. New reference. */
json_t *nl_comparable_terms(const json_t *document, bool times);

/* The same of a benchmark, an element of "benchmarks" or "metered", and as one text; its unit is
   left out. The caller's; NULL when out of memory. */
char *nl_comparable_benchmark(const json_t *benchmark);

#endif
