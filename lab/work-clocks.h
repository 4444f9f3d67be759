/*
 * work-clocks.h - the clocks by which times are measured, looked at before and after.
 */
#ifndef NL_WORK_CLOCKS_H
#define NL_WORK_CLOCKS_H

#include "clocks.h"
#include "stack.h"

/* Room for looks at every layer; the caller's to free. NULL: out of memory. */
struct nl_clock_look *nl_work_clocks_new(const struct nl_stack *stack);

/* Look at the clocks of every layer: LOOKS gets the closest of a few, or zeros where an agent does
   not answer: what is asked next finds out why. */
void nl_work_clocks_look(struct nl_stack *stack, struct nl_clock_look *looks);

/* Look again, and say in the document how the clocks went since FIRST; nothing of a layer that did
   not answer. */
void nl_work_clocks_end(struct nl_stack *stack, const struct nl_clock_look *first);

#endif
