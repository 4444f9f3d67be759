/*
 * save.c - files that are there whole or not at all: see save.h.
 */
#include "save.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The rename itself is on disk only once the folder is. */
static void sync_folder(const char *path)
{
    cleanup_free char *copy = strdup(path);
    cleanup_close int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0)
        fsync(fd);
}

static int write_and_sync(FILE *file, const char *text, size_t length)
{
    if (fwrite(text, 1, length, file) != length ||
        (length > 0 && text[length - 1] != '\n' && fputc('\n', file) == EOF) || fflush(file) != 0)
        return -1;
    return fsync(fileno(file));
}

/* Written beside PATH, with MODE if that is not 0, and renamed over it. */
static int replace(const char *path, const char *text, size_t length, mode_t mode,
                   struct nl_error **err)
{
    cleanup_free char *temporary = NULL;
    cleanup_fclose FILE *file = NULL;
    int fd;

    if (asprintf(&temporary, "%s.%d.tmp", path, (int)getpid()) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write %s", path);
    file = fdopen(fd, "w");
    if (!file || write_and_sync(file, text, length) < 0 || (mode && fchmod(fd, mode) < 0) ||
        rename(temporary, path) < 0) {
        nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write %s", path);
        unlink(temporary);
        return -1;
    }
    sync_folder(path);
    return 0;
}

int nl_save(const char *path, const char *text, size_t length, struct nl_error **err)
{
    return replace(path, text, length, 0, err);
}

/* A device, a pipe: there is nothing to replace. */
static int write_through(const char *path, const char *text, struct nl_error **err)
{
    cleanup_fclose FILE *file = fopen(path, "we");

    if (!file || fputs(text, file) == EOF || fflush(file) != 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write %s", path);
    return 0;
}

/* Where links lead, so that they stay. */
static int save_for_user(const char *path, const char *text, struct nl_error **err)
{
    cleanup_free char *target = NULL;
    struct stat status;

    if (stat(path, &status) < 0)
        return replace(path, text, strlen(text), 0, err);
    if (S_ISDIR(status.st_mode))
        return nl_fail(err, NL_EXIT_LAB, "cannot write %s: it is a folder", path);
    if (!S_ISREG(status.st_mode))
        return write_through(path, text, err);
    target = realpath(path, NULL);
    return replace(target ? target : path, text, strlen(text), status.st_mode & 07777, err);
}

bool nl_save_is_standard(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

int nl_save_text(char *text, const char *path, struct nl_error **err)
{
    cleanup_free char *owned = text;

    if (!owned)
        return nl_fail(err, NL_EXIT_LAB, "cannot write %s: out of memory", path);
    if (!nl_save_is_standard(path))
        return save_for_user(path, owned, err);
    if (fputs(owned, stdout) == EOF || fflush(stdout) != 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write to standard output");
    return 0;
}
