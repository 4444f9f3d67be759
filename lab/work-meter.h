/*
 * work-meter.h - have every layer do marked operations, and take down what the meter counted.
 */
#ifndef NL_WORK_METER_H
#define NL_WORK_METER_H

#include "stack.h"

/* The scenario's metered benchmarks, at every layer; the stack has a meter. */
int nl_work_meter(struct nl_stack *stack, struct nl_error **err);

/* Have LAYER do marked operations of the benchmark NAME; what they cost (meter-result.h). */
int nl_work_metered(struct nl_layer *layer, const char *name, json_t **metered,
                    struct nl_error **err);

#endif
