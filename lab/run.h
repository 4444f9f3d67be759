/*
 * run.h - one run: from a scenario to its document and reports.
 */
#ifndef NL_RUN_H
#define NL_RUN_H

#include "scenario.h"

struct nl_run_options {
    struct nl_scenario *scenario; /* as nl_request_load() gives it; borrowed, and changed */
    const char *store;            /* NULL: the default */
    const char *out;              /* folder for the document and reports; NULL: nestlab-out/ID */
    char *const *argv;            /* the command line, for the document */
    bool demo;                    /* `up`: no benchmarks, no commands */
    bool profile;                 /* that is what the run is for: NL_EXIT_LAB if it has made none */
    bool enable_nesting; /* may reload this machine's KVM module with nested=1, and put it back */
    bool kept;           /* called in a keeper: serve the stack after the run */
};

/* Could a run put its document into OUT (NULL: the default)? Only looks. NL_EXIT_REQUEST if not. */
int nl_run_check_out(const char *out, struct nl_error **err);

/* Do it. Prints progress, the report and its own errors; returns the exit status. */
enum nl_exit nl_run(const struct nl_run_options *options);

#endif
