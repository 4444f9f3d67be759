/*
 * save.h - files that are there whole or not at all.
 */
#ifndef NL_SAVE_H
#define NL_SAVE_H

#include "error.h"

#include <stdbool.h>

/* Put LENGTH bytes of TEXT, and a newline if they do not end with one, into PATH: written to a
   temporary file beside it, synced, renamed over it. */
int nl_save(const char *path, const char *text, size_t length, struct nl_error **err);

/* TEXT, which is consumed (NULL: out of memory), into the PATH that a user named: "-" is standard
   output, a device or a pipe is written to, a link is followed, a file keeps its mode. */
int nl_save_text(char *text, const char *path, struct nl_error **err);

/* Does PATH, which may be NULL, name standard output? */
bool nl_save_is_standard(const char *path);

#endif
