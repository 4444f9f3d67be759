/*
 * rundir.h - the run folder: what a running stack needs on this machine, who owns it, and how to
 * find and remove what a killed runner left.
 *
 * RUNS/ID/ (RUNS: $NESTLAB_RUNS, or /var/tmp/nestlab-UID; short, since libvirt makes sockets in it)
 *   state.json   what list, shell, console and down need to know, replaced atomically
 *   v/           root of the embedded libvirt driver; short, for the sockets deep within
 *   keeper.sock  the keeper's socket, when there is one
 *   *.qcow2, boot.img, known_hosts ... disks and small files of this run
 *
 * The owner holds a flock() on the folder itself for as long as it lives, on a descriptor that
 * programs it starts do not inherit. The folder, not a file in it: so there is no moment at which
 * it exists and cannot be locked. A folder that nobody has locked was left behind: its QEMU
 * processes (those that libvirt started and whose command line names this very folder) are ended,
 * lock files that its owner's libvirt left are removed (rundir-locks.h), and so is the folder.
 * Nothing else in RUNS is touched, and RUNS itself is only used when it is ours: a mark in it says
 * so, since $NESTLAB_RUNS may name anything.
 */
#ifndef NL_RUNDIR_H
#define NL_RUNDIR_H

#include "error.h"

#include <stdbool.h>

struct nl_rundir;

/* The embedded libvirt's root, as a name in a run folder. */
#define NL_RUNDIR_LIBVIRT "v"

/* Make a run folder for a run of scenario NAME. Its id, which is the run's everywhere, is
   NAME-YYMMDD-XXXX, where NAME is shortened to what fits, YYMMDD is the day (UTC) and XXXX are 4
   random hexadecimal digits. */
int nl_rundir_create(const char *name, struct nl_rundir **rundir, struct nl_error **err);
const char *nl_rundir_id(const struct nl_rundir *rundir);
const char *nl_rundir_path(const struct nl_rundir *rundir);
/* PATH/NAME, formatted; the text is the caller's. Aborts when out of memory. */
char *nl_rundir_file(const struct nl_rundir *rundir, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Replace state.json. The reference is consumed. Safe from several threads. */
int nl_rundir_save_state(struct nl_rundir *rundir, json_t *state, struct nl_error **err);

/* End what still runs in it, remove it, give up the lock. *RUNDIR becomes NULL, always. Does not
   stop at an interrupt; takes at most 8 s for processes that do not end. */
int nl_rundir_remove(struct nl_rundir **rundir, struct nl_error **err);

/* All run folders: [{"id", "path", "alive": bool, "state": {...} | null}], sorted by id. Whatever
   is in a state.json, "state" is an object or null. */
int nl_rundir_list(json_t **runs, struct nl_error **err);

/* Does somebody own the run folder of that id? False when there is none. */
bool nl_rundir_alive(const char *id);

/* Remove every folder that was left behind. REMOVED (may be NULL): [{"id", "processes": N,
   "locks": N, "bytes": N}]. DRY_RUN only reports. Goes on after a folder that cannot be removed,
   and then fails with the first error. */
int nl_rundir_collect(bool dry_run, json_t **removed, struct nl_error **err);

/* As nl_rundir_collect(false, ...), for one id: after its owner died. Not finding it is success;
   finding it owned is an error. */
int nl_rundir_collect_one(const char *id, struct nl_error **err);

#endif
