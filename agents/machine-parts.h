/*
 * machine-parts.h - what the files of machine.h share: reading below a root folder.
 */
#ifndef AGENT_MACHINE_PARTS_H
#define AGENT_MACHINE_PARTS_H

#include "util.h"

/* ROOT followed by the formatted path, the caller's; aborts when out of memory. */
char *agent_below(const char *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first line of a file there; the caller's, NULL with errno. */
char *agent_line_below(const char *root, const char *path);

/* {"error": "PATH: why"} */
json_t *agent_unknown(const char *path, int why);

/* The first of CANDIDATES (NULL-terminated) that exists below ROOT, without ROOT; or NULL. */
const char *agent_first_below(const char *root, const char *const *candidates);

/* NAME in PATH, or where PATH of an ordinary user often does not lead; the caller's, or NULL. */
char *agent_find_program(const char *name);

#endif
