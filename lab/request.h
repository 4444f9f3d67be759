/*
 * request.h - what a user asks for: a scenario's file with the options that change it, checked so
 * far that nothing of it can turn out to be misspelt once a stack runs.
 */
#ifndef NL_REQUEST_H
#define NL_REQUEST_H

#include "scenario.h"

/* Load the scenario at PATH, apply OVERRIDES (may be NULL), and see that all it names is there:
   images, benchmarks, checks to leave out, the diagnosis to expect; and that its checks' programs
   compile. Errors (NL_EXIT_REQUEST) name file and line or JSON path. The result is the caller's:
   nl_scenario_free(). */
int nl_request_load(const char *path, const struct nl_overrides *overrides,
                    struct nl_scenario **scenario, struct nl_error **err);

#endif
