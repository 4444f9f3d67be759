/*
 * functions.h - which function of this layer's kernel an address belongs to.
 */
#ifndef AGENT_FUNCTIONS_H
#define AGENT_FUNCTIONS_H

#include "dispatch.h"

/* ADDRESSES: an array of "0x..." strings. RESULT: {"functions": ["NAME", "NAME [MODULE]", null,
   ...]} in their order, by the table FILE in the format of /proc/kallsyms. */
int agent_functions(const char *file, const json_t *addresses, json_t **result,
                    struct agent_error *error);

#endif
