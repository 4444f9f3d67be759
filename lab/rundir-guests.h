/*
 * rundir-guests.h - the QEMU processes of a run folder, found and ended without libvirt.
 */
#ifndef NL_RUNDIR_GUESTS_H
#define NL_RUNDIR_GUESTS_H

#include "error.h"

#include <stdbool.h>

/* End every QEMU process of the run folder PATH (absolute), politely and then not: SIGTERM, 3 s,
   SIGKILL, 5 s. END false only counts. Returns how many there were, or -1. */
int nl_rundir_guests(const char *path, bool end, struct nl_error **err);

/* The same, by SIGKILL at once: as an accident would. */
int nl_rundir_kill_guests(const char *path, struct nl_error **err);

/* The folder's size in bytes on disk; with REMOVE, and the folder is gone. Never follows a link or
   leaves the file system. Returns -1 when something could not be removed. */
long long nl_rundir_tree(const char *path, bool remove, struct nl_error **err);

#endif
