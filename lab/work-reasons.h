/*
 * work-reasons.h - VM exits of benchmarks by reason, as the kernels of the layers below count them.
 */
#ifndef NL_WORK_REASONS_H
#define NL_WORK_REASONS_H

#include "stack.h"

/* Benchmark NAME once more at LAYER, while every layer below counts exits: RESULT, the benchmark's
   in the document, gets "exit_reasons". Counting slows exits down, so it is not done while times
   are taken. A layer that cannot count is a result; one that no longer answers is an error, and so
   is a benchmark that the agent of LAYER, which is well, refuses: then REFUSED is set, and RESULT
   says why there are no counts. */
int nl_work_reasons(struct nl_layer *layer, const char *name, json_t *result, bool *refused,
                    struct nl_error **err);

#endif
