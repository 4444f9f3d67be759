/*
 * fault-inject.h - inject the faults of a scenario, so that it can be tested whether they are
 * recognised. Only overlays, copies and guests of the run are touched: not this machine, and no
 * image.
 */
#ifndef NL_FAULT_INJECT_H
#define NL_FAULT_INJECT_H

#include "fault-table.h"
#include "stack.h"

/* Inject those faults of the scenario whose MOMENT has come: all of them, or those that the agent
   of LAYER injects. One that cannot be injected is an error, and the document's "failure". */
int nl_fault_inject(struct nl_stack *stack, enum nl_fault_moment moment,
                    const struct nl_layer *layer, struct nl_error **err);

/* "NAME,NAME": those that LAYER's agent injects as init; NULL: none. The caller's. */
char *nl_fault_boot_names(const struct nl_layer *layer);

#endif
