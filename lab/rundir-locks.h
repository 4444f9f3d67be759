/*
 * rundir-locks.h - the lock files that libvirt's streams of a dead run left on this machine.
 *
 * A libvirt that opens a console or a channel of a domain makes /var/lock/LCK..NAME with its pid in
 * it, where NAME is the device's path: _pts_3, for one. A run that is killed leaves them. The next
 * run whose console gets that number removes it as stale, but cannot if it is another user's: the
 * folder is sticky, and that run fails.
 */
#ifndef NL_RUNDIR_LOCKS_H
#define NL_RUNDIR_LOCKS_H

#include <stdbool.h>
#include <sys/types.h>

#define NL_RUNDIR_LOCKS "/var/lock"

/* Remove (or, without REMOVE, count) the lock files in FOLDER that are this user's and OWNER's, if
   no process has that number any more. How many there were; a folder or a file that cannot be read
   or removed counts as none. */
int nl_rundir_locks(const char *folder, pid_t owner, bool remove);

#endif
