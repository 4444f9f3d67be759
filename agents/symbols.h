/*
 * symbols.h - which functions of this kernel addresses are in: by /proc/kallsyms.
 */
#ifndef AGENT_SYMBOLS_H
#define AGENT_SYMBOLS_H

#include "util.h"

#define AGENT_SYMBOLS_MAX 64

/* The operation "symbols" of protocol.h, with the file PATH for /proc/kallsyms. */
int agent_symbols(const char *path, const json_t *request, json_t **result,
                  struct agent_error *error);

#endif
