/*
 * work.h - what is done on a stack that is up: benchmarks, commands, and collecting the evidence.
 */
#ifndef NL_WORK_H
#define NL_WORK_H

#include "stack.h"

/* The scenario's benchmarks, each at every layer before the next one, so that drift of this machine
   hits all layers alike. One without a result, of a layer that is well, is told in the document,
   whose failure it becomes, and is no error here: the others are worth having. */
int nl_work_benchmarks(struct nl_stack *stack, struct nl_error **err);

/* The scenario's commands, in order. A command that fails is a result; only a layer that no longer
   answers is an error. */
int nl_work_commands(struct nl_stack *stack, struct nl_error **err);

/* Kernel logs and exit counters of every layer that is up, into the document; what libvirt learned,
   into the store. Goes on past a layer that does not answer and then fails with the first error. */
int nl_work_collect(struct nl_stack *stack, struct nl_error **err);

/* For those and for the meter (work-meter.h): */

/* Have LAYER do the benchmark NAME, and put the result into the document. */
typedef int nl_work_row(struct nl_layer *layer, const char *name, void *data,
                        struct nl_error **err);

/* ROW, with DATA, for the benchmarks that are LISTED (for "all" those that the agent of L0 knows),
   each at all of LAYERS, names that may be NULL for all, before the next one. */
int nl_work_rows(struct nl_stack *stack, char *const *listed, char *const *layers, nl_work_row *row,
                 void *data, struct nl_error **err);

/* Ask the layer's agent for the benchmark NAME, with ARGUMENTS (consumed). A layer that does not
   answer is blamed for it in PHASE. Where the layer is well and it is its agent that says that
   there is no figure, REFUSED is set and the document is not told; without REFUSED (NULL) that is
   the failure of PHASE. */
int nl_work_bench(struct nl_layer *layer, const char *phase, const char *name, json_t *arguments,
                  json_t **result, bool *refused, struct nl_error **err);

#endif
