/*
 * runs.h - RUNS, the folder of all run folders of this user: found or made, checked, locked, read.
 */
#ifndef NL_RUNS_H
#define NL_RUNS_H

#include "error.h"

#include <stdbool.h>

struct nl_runs {
    int fd;     /* -1: there is no RUNS yet, so no runs */
    char *path; /* absolute, without links; NULL when there is none */
};

#define NL_RUNS_NONE ((struct nl_runs){.fd = -1, .path = NULL})

/* $NESTLAB_RUNS or /var/tmp/nestlab-UID. A folder of everybody's may hold a trap of somebody
   else's: anything but a folder that is ours alone, and marked or empty, is refused. CREATE makes
   it. */
int nl_runs_open(bool create, struct nl_runs *runs, struct nl_error **err);

/* While this is held, no run folder is made or taken into possession by others, so that looking at
   a folder's lock for a moment disturbs nobody. Short: only system calls go on under it. */
int nl_runs_lock(struct nl_runs *runs, struct nl_error **err);
void nl_runs_unlock(struct nl_runs *runs);

void nl_runs_close(struct nl_runs *runs);
#define cleanup_runs NL_CLEANUP(nl_runs_close)

/* The ids of all run folders, sorted; whatever does not look like one is left out. The caller's. */
int nl_runs_ids(const struct nl_runs *runs, char ***ids, struct nl_error **err);

/* Does ID look like the id of a run: NAME-YYMMDD-XXXX? Any name that ends in -XXXX does. */
bool nl_runs_is_id(const char *id);

/* Open run folder ID and take its lock. The descriptor, or -1 with *ALIVE set: true when somebody
   owns it, false when there is no such folder. Hold nl_runs_lock() around it. */
int nl_runs_take(const struct nl_runs *runs, const char *id, bool *alive);

#endif
