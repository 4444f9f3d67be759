/*
 * args-overrides.h - the options that change a scenario, for every subcommand that takes one.
 *
 * Use it as a child of the subcommand's own argp, and hand it its structure as the child's input:
 *
 *     static const struct argp_child children[] = {{.argp = &nl_overrides_argp}, {0}};
 *     case ARGP_KEY_INIT: state->child_inputs[0] = &args->overrides; break;
 */
#ifndef NL_ARGS_OVERRIDES_H
#define NL_ARGS_OVERRIDES_H

#include "scenario.h"

#include <argp.h>

/* Start from NL_OVERRIDE_ARGS_INIT. */
struct nl_override_args {
    struct nl_overrides overrides; /* borrows from argv; its assignments are owned */
    size_t n_assignments;
};

#define NL_OVERRIDE_ARGS_INIT                                                                      \
    {                                                                                              \
        .overrides = {.depth = -1 }                                                                \
    }

/* All of them; those of a stack that is booted and not measured; those of a stack whose L0 is not
   for the user to choose. */
extern const struct argp nl_overrides_argp;
extern const struct argp nl_boot_overrides_argp;
extern const struct argp nl_stack_overrides_argp;

/* The rest, for who does not take them: such an option is an error that says why. Their input is
   that reason, a sentence without a full stop (const char *). */
extern const struct argp nl_refuse_measure_argp;
extern const struct argp nl_refuse_l0_argp;

void nl_override_args_free(struct nl_override_args *args);
#define cleanup_override_args NL_CLEANUP(nl_override_args_free)

#endif
