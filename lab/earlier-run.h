/*
 * earlier-run.h - an output folder that holds the results of an earlier run.
 */
#ifndef NL_EARLIER_RUN_H
#define NL_EARLIER_RUN_H

#include "error.h"

/* If FOLDER holds a run's document, remove the files that runs write there, so that it does not end
   up with results of two; *ID, the caller's, is that run's id (not printable as it is), else NULL.
   Other files stay, and so do links and folders, whatever their names. NL_EXIT_REQUEST if one
   cannot be removed. */
int nl_earlier_run_remove(const char *folder, char **id, struct nl_error **err);

#endif
