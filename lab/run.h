/*
 * run.h - one run: a scenario from its file to its document and reports.
 */
#ifndef NL_RUN_H
#define NL_RUN_H

#include "scenario.h"

struct nl_run_options {
    const char *scenario; /* path */
    const struct nl_overrides *overrides;
    const char *store;   /* NULL: the default */
    const char *out;     /* folder for the document and reports; NULL: nestlab-out/ID */
    char *const *argv;   /* the command line, for the document */
    bool demo;           /* `up`: no benchmarks, no commands */
    bool enable_nesting; /* may reload this machine's KVM module with nested=1, and put it back */
    bool kept;           /* called in a keeper: serve the stack after the run */
};

/* Do it. Prints progress, the report and its own errors; returns the exit status. */
enum nl_exit nl_run(const struct nl_run_options *options);

#endif
