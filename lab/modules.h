/*
 * modules.h - which kernel module files have to be loaded, in which order, to get given modules.
 */
#ifndef NL_MODULES_H
#define NL_MODULES_H

#include "error.h"

/* FOLDER is lib/modules/VERSION, after depmod. PATHS gets the files (relative to FOLDER) that load
   the modules NAMES (NULL-terminated) and what they depend on, in load order, each once;
   NULL-terminated, the caller's. Modules that are built into the kernel need no file. A name that
   is neither is an error; where there is no modules.builtin at all, it counts as built in. */
int nl_modules_resolve(const char *folder, char *const *names, char ***paths,
                       struct nl_error **err);

#endif
