/*
 * files.h - the operations "put" and "get": files in and out of a layer, in pieces.
 */
#ifndef AGENT_FILES_H
#define AGENT_FILES_H

#include "util.h"

/* The most that one "get" returns: base64 makes it a third longer and a line has a limit. */
#define AGENT_GET_MAX (8 * 1024 * 1024)

/* Without "append" the file appears by rename, complete or not at all, and folders above it are
   made; with it the piece is added to what is there. "size" is the file's size afterwards. */
int agent_put(const json_t *request, json_t **result, struct agent_error *error);

/* Regular files only (those of /proc and /sys are), so that nothing blocks. */
int agent_get(const json_t *request, json_t **result, struct agent_error *error);

#endif
