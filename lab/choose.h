/*
 * choose.h - which stack and which layer a command is about.
 */
#ifndef NL_CHOOSE_H
#define NL_CHOOSE_H

#include "error.h"

/* The run that somebody owns whose id is ID or, uniquely, starts with it; with ID NULL, the only
   one there is. RUN gets a new reference to its element of nl_rundir_list(). */
int nl_choose_run(const char *id, json_t **run, struct nl_error **err);

/* The layer called NAME of that run: borrowed, an object of its state's "layers". */
int nl_choose_layer(const json_t *run, const char *name, const json_t **layer,
                    struct nl_error **err);

/* A string of the run's state at PATH ("state.scenario") as printable text, the caller's; FALLBACK
   where there is none. */
char *nl_choose_text(const json_t *value, const char *path, const char *fallback);

#endif
