/*
 * profile.h - which functions of which layer execute the instructions of an operation: from places
 * in code to a list of functions, and to the text that flame graph programs read. Pure functions.
 */
#ifndef NL_PROFILE_H
#define NL_PROFILE_H

#include "meter.h"

#include <jansson.h>
#include <stdio.h>

/* A metered benchmark's "profile" (docs/document.md). NAMES: for each of the N places the agent's
   word for it, "NAME" or "NAME [MODULE]", null where it knows none. New reference; NULL when out of
   memory. */
json_t *nl_profile(const struct nl_meter_place *places, const json_t *names, size_t n,
                   uint64_t operations);

/* Why DOCUMENT, of a run that was to make a profile, has none, of undisturbed operations, such as
   "ipi was left out at L0: needs 2 vCPUs"; the caller's. NULL: it has one. */
char *nl_profile_missing(const json_t *document);

/* A line a function, "cpuid at L2;L0;kvm_amd;svm_vcpu_run 1234": frames, and the instructions of
   all operations. What it prints of PROFILE is made safe for the format. */
void nl_profile_folded(const json_t *profile, const char *benchmark, const char *layer, FILE *out);

#endif
