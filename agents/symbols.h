/*
 * symbols.h - which function of this layer's kernel an address belongs to.
 */
#ifndef AGENT_SYMBOLS_H
#define AGENT_SYMBOLS_H

#include "dispatch.h"

/* ADDRESSES: an array of "0x..." strings. RESULT: {"symbols": [["NAME", OFFSET], ["NAME [MODULE]",
   OFFSET], null, ...]} in their order, by the table FILE in the format of /proc/kallsyms. */
int agent_symbols(const char *file, const json_t *addresses, json_t **result,
                  struct agent_error *error);

#endif
