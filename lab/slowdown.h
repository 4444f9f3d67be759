/*
 * slowdown.h - what each layer costs: the benchmark samples of a document as medians and ratios.
 */
#ifndef NL_SLOWDOWN_H
#define NL_SLOWDOWN_H

#include <jansson.h>

/* The document's "slowdown" (docs/document.md): one entry per benchmark, in the order of its first
   appearance, one element per layer that has samples. A ratio above 1 always means slower, also
   where a larger number is better (MB/s): then it is L0's median over the layer's. New reference.
 */
json_t *nl_slowdown(const json_t *document);

#endif
