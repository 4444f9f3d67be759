/*
 * slowdown.h - what each layer costs: the benchmark samples of a document as medians and ratios.
 */
#ifndef NL_SLOWDOWN_H
#define NL_SLOWDOWN_H

#include <jansson.h>
#include <stdbool.h>

/* The document's "slowdown" (docs/document.md): one entry per benchmark, in the order of its first
   appearance, one element per layer that has samples. A ratio above 1 always means slower, also
   where a larger number is better (MB/s): then it is L0's median over the layer's. New reference.
 */
json_t *nl_slowdown(const json_t *document);

/* Is more better? As the benchmark says, else by its unit. */
bool nl_benchmark_is_rate(const json_t *benchmark);

/* Its numbers, at most 100000 (a document may hold anything); the caller's, who frees them also if
   there is none. */
size_t nl_benchmark_samples(const json_t *benchmark, double **samples);

#endif
