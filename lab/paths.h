/*
 * paths.h - where the program's data files are: in the source tree when run from a build folder,
 * under NL_PREFIX/share/nestlab when installed.
 */
#ifndef NL_PATHS_H
#define NL_PATHS_H

#include "error.h"

/* The absolute path of the data file or folder RELATIVE ("scenarios/nested-boot.json"), the
   caller's to free. The first that exists of $NESTLAB_DATA/RELATIVE; the folder above the one that
   holds the running binary (the source tree of build/nestlab, or one further up for
   build/tests/unit/...); BINARY/../share/nestlab (an installation that was moved);
   NL_PREFIX/share/nestlab. */
int nl_data_path(const char *relative, char **path, struct nl_error **err);

#endif
