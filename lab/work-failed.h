/*
 * work-failed.h - benchmarks that were asked for and have no result, because the layer's agent says
 * that one went wrong or took too long, while the layer is well: the run goes on, and fails.
 */
#ifndef NL_WORK_FAILED_H
#define NL_WORK_FAILED_H

#include "stack.h"

struct nl_failed_benchmarks {
    size_t n;
    const char *layer;      /* of the first of them */
    struct nl_error *first; /* why that has none */
};

/* The benchmark NAME at LAYER has no result for ERR, which is consumed, after SECONDS: into the
   document in place of the result, and onto the progress. RESULT (consumed; may be NULL) is its
   result where that only lacks exits by reason: then it is what goes into the document. */
void nl_failed_benchmark(struct nl_failed_benchmarks *failed, struct nl_layer *layer,
                         const char *name, double seconds, json_t *result, struct nl_error **err);

/* After all of them: the document's failure, if there were any. */
void nl_failed_benchmarks_tell(struct nl_stack *stack, struct nl_failed_benchmarks *failed);

void nl_failed_benchmarks_clear(struct nl_failed_benchmarks *failed);
#define cleanup_failed_benchmarks NL_CLEANUP(nl_failed_benchmarks_clear)

#endif
