/*
 * rundir.h - the run folder: what a running stack needs on this machine, who owns it, and how to find
 * and remove what a killed runner left.
 *
 * RUNS/ID/ (RUNS: $NESTLAB_RUNS, or /var/tmp/nestlab-UID; short, since libvirt makes sockets in it)
 *   lock         held with flock() by the owner for as long as it lives
 *   state.json   what list, shell, console and down need to know, replaced atomically
 *   embed/       root of the embedded libvirt driver; QEMU's pid files are in embed/run/qemu/
 *   keeper.sock  the keeper's socket, when there is one
 *   *.qcow2, boot.img, known_hosts ... disks and small files of this run
 *
 * A folder whose lock nobody holds was left behind: its QEMU processes (by pid file, and only when
 * the process's command line names this very folder) are ended and the folder is removed.
 */
#ifndef NL_RUNDIR_H
#define NL_RUNDIR_H

#include "error.h"

#include <stdbool.h>

struct nl_rundir;

/* Make a run folder for a run of scenario NAME; its id is NAME-YYYYMMDD-HHMMSS-XXXX. */
int nl_rundir_create(const char *name, struct nl_rundir **rundir, struct nl_error **err);
const char *nl_rundir_id(const struct nl_rundir *rundir);
const char *nl_rundir_path(const struct nl_rundir *rundir);
/* PATH/NAME, formatted; the text is the caller's. */
char *nl_rundir_file(const struct nl_rundir *rundir, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Replace state.json. The reference is consumed. */
int nl_rundir_save_state(struct nl_rundir *rundir, json_t *state, struct nl_error **err);

/* End what still runs in it, remove it, give up the lock. *RUNDIR becomes NULL, always. */
int nl_rundir_remove(struct nl_rundir **rundir, struct nl_error **err);

/* All run folders: [{"id", "path", "alive": bool, "state": {...} | null}], sorted by id. */
int nl_rundir_list(json_t **runs, struct nl_error **err);

/* Remove every folder that was left behind. REMOVED (may be NULL): [{"id", "processes": N, "bytes": N}].
   DRY_RUN only reports. */
int nl_rundir_collect(bool dry_run, json_t **removed, struct nl_error **err);

#endif
