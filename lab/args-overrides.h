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

extern const struct argp nl_overrides_argp;

void nl_override_args_free(struct nl_override_args *args);
#define cleanup_override_args NL_CLEANUP(nl_override_args_free)

#endif
