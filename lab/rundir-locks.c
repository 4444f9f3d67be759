/*
 * rundir-locks.c - lock files of a dead run's streams: see rundir-locks.h.
 */
#include "rundir-locks.h"
#include "process.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#define PREFIX "LCK.."

/* A pid, padded to ten bytes, and a newline. */
#define CONTENT_MAX 16

/* The pid in the open lock file FD; -1: it is none of this user's. */
static pid_t read_owner(int fd, struct stat *st)
{
    char text[CONTENT_MAX + 1] = "", *end;
    ssize_t n;
    long pid;

    if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode) || st->st_uid != geteuid() ||
        st->st_size > CONTENT_MAX)
        return -1;
    n = read(fd, text, CONTENT_MAX);
    pid = n > 0 ? strtol(text, &end, 10) : 0;
    return pid > 0 && pid <= INT32_MAX && (*end == '\n' || !*end) ? (pid_t)pid : -1;
}

static bool is_left_by(int folder, const char *name, pid_t owner)
{
    cleanup_close int fd =
        openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat read, now;

    if (fd < 0 || read_owner(fd, &read) != owner)
        return false;
    /* Another libvirt may just have replaced it. */
    return fstatat(folder, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == read.st_ino;
}

int nl_rundir_locks(const char *folder, pid_t owner, bool remove)
{
    cleanup_closedir DIR *dir = NULL;
    struct dirent *entry;
    int n = 0;

    /* The number may be another process' by now, and that a libvirt with locks of its own. */
    if (owner <= 1 || !nl_process_is_gone(owner))
        return 0;
    dir = opendir(folder);
    while (dir && (entry = readdir(dir)) != NULL)
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 &&
            is_left_by(dirfd(dir), entry->d_name, owner))
            n += !remove || unlinkat(dirfd(dir), entry->d_name, 0) == 0;
    return n;
}
