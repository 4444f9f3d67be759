/*
 * tree.c - see tree.h.
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static int copy_file(const char *from, const char *to)
{
    cleanup_close int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n;

    /* A new file, not the old one truncated: it may be in use. */
    unlink(to);
    cleanup_close int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (in < 0 || out < 0)
        return -1;
    while ((n = sendfile(out, in, NULL, 1 << 20)) > 0)
        ;
    return (int)n;
}

static int copy_link(const char *from, const char *to)
{
    char target[PATH_MAX];
    ssize_t n = readlink(from, target, sizeof(target) - 1);

    if (n < 0)
        return -1;
    target[n] = '\0';
    unlink(to);
    return symlink(target, to);
}

/* Owner before mode: changing the owner clears set-id bits. */
static int copy_attributes(const struct stat *about, const char *to)
{
    struct timespec times[] = {about->st_atim, about->st_mtim};

    if (lchown(to, about->st_uid, about->st_gid) < 0)
        return -1;
    if (!S_ISLNK(about->st_mode) && chmod(to, about->st_mode & 07777) < 0)
        return -1;
    return utimensat(AT_FDCWD, to, times, AT_SYMLINK_NOFOLLOW);
}

static int copy_entry(FTSENT *entry, const char *to)
{
    switch (entry->fts_info) {
    case FTS_D:
        if (mkdir(to, 0700) < 0)
            return errno == EEXIST ? 0 : -1;
        entry->fts_number = 1; /* ours to change when its contents are there */
        return 0;
    case FTS_DP:
        return entry->fts_number ? copy_attributes(entry->fts_statp, to) : 0;
    case FTS_F:
        return copy_file(entry->fts_path, to) < 0 ? -1 : copy_attributes(entry->fts_statp, to);
    case FTS_SL:
    case FTS_SLNONE:
        return copy_link(entry->fts_path, to) < 0 ? -1 : copy_attributes(entry->fts_statp, to);
    default:
        errno = entry->fts_errno ? entry->fts_errno : EINVAL;
        return -1;
    }
}

int agent_tree_copy(const char *from, const char *to, struct agent_error *error)
{
    char *paths[] = {(char *)from, NULL};
    size_t prefix = strlen(from);
    int result = 0;

    if (access(from, F_OK) < 0)
        return 0;
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!walk)
        return agent_fail(error, NULL, "cannot read %s: %s", from, strerror(errno));
    for (FTSENT *entry; (entry = fts_read(walk));) {
        char target[PATH_MAX];
        if (entry->fts_level == 0)
            continue; /* TO itself stays as it is */
        int n = snprintf(target, sizeof(target), "%s%s", to, entry->fts_path + prefix);
        if (n < (int)sizeof(target) && copy_entry(entry, target) == 0)
            continue;
        if (result == 0)
            result =
                agent_fail(error, NULL, "cannot copy %s: %s", entry->fts_path, strerror(errno));
    }
    fts_close(walk);
    return result;
}
