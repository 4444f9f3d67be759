/*
 * save.c - files that are there whole or not at all: see save.h.
 */
#include "save.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>

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

int nl_save(const char *path, const char *text, size_t length, struct nl_error **err)
{
    cleanup_free char *temporary = NULL;
    cleanup_fclose FILE *file = NULL;
    int fd;

    if (asprintf(&temporary, "%s.%d.tmp", path, (int)getpid()) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make %s", temporary);
    file = fdopen(fd, "w");
    if (!file || write_and_sync(file, text, length) < 0 || rename(temporary, path) < 0) {
        nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write %s", path);
        unlink(temporary);
        return -1;
    }
    sync_folder(path);
    return 0;
}

int nl_save_text(char *text, const char *path, struct nl_error **err)
{
    cleanup_free char *owned = text;

    if (!owned)
        return nl_fail(err, NL_EXIT_LAB, "cannot write %s: out of memory", path);
    if (strcmp(path, "-") != 0)
        return nl_save(path, owned, strlen(owned), err);
    if (fputs(owned, stdout) < 0 || fflush(stdout) != 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write to standard output");
    return 0;
}
