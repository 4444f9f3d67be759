/*
 * folders.c - folders and the files in them: see folders.h.
 */
#include "folders.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

static int make_folder(const char *path, enum nl_exit status, struct nl_error **err)
{
    struct stat st;

    if (mkdir(path, 0755) == 0)
        return 0;
    if (errno != EEXIST)
        return nl_fail_errno(err, status, errno, "cannot make the folder %s", path);
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return nl_fail(err, status, "%s is no folder", path);
    return 0;
}

int nl_make_folders(const char *path, enum nl_exit status, struct nl_error **err)
{
    cleanup_free char *copy = strdup(path);

    if (!copy || !copy[0])
        return nl_fail(err, status, "a folder needs a name");
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (make_folder(copy, status, err) < 0)
            return -1;
        *slash = '/';
    }
    return make_folder(copy, status, err);
}

/* Cut off the last part of PATH, which is not there: what it would be made in. */
static void go_up(char *path)
{
    char *slash;

    for (size_t length = strlen(path); length > 1 && path[length - 1] == '/'; length--)
        path[length - 1] = '\0';
    slash = strrchr(path, '/');
    if (!slash)
        strcpy(path, ".");
    else
        slash[slash == path] = '\0';
}

int nl_check_folders(const char *path, enum nl_exit status, struct nl_error **err)
{
    cleanup_free char *place = path[0] ? strdup(path) : NULL;
    struct stat st;

    if (!place)
        return nl_fail(err, status, "a folder needs a name");
    /* A link that leads nowhere is there, too. */
    while (lstat(place, &st) < 0) {
        if (errno != ENOENT || strcmp(place, ".") == 0)
            return nl_fail_errno(err, status, errno, "cannot make the folder %s", path);
        go_up(place);
    }
    if (stat(place, &st) < 0 || !S_ISDIR(st.st_mode))
        return nl_fail(err, status, "%s is no folder", place);
    return access(place, W_OK | X_OK) == 0
               ? 0
               : nl_fail_errno(err, status, errno, "cannot use the folder %s", place);
}

static int copy_file(const char *source, const char *target, struct nl_error **err)
{
    cleanup_close int in = open(source, O_RDONLY | O_CLOEXEC);
    cleanup_close int out = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t n;

    if (in < 0 || out < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot copy %s to %s", source, target);
    do {
        n = copy_file_range(in, NULL, out, NULL, 1 << 30, 0);
        if (n < 0 && (errno == EXDEV || errno == EOPNOTSUPP || errno == EINVAL))
            n = sendfile(out, in, NULL, 1 << 30);
    } while (n > 0);
    return n < 0 ? nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write %s", target) : 0;
}

int nl_place_file(const char *source, const char *target, struct nl_error **err)
{
    if (linkat(AT_FDCWD, source, AT_FDCWD, target, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    return copy_file(source, target, err);
}

int nl_place_files(const char *from, const char *to, struct nl_error **err)
{
    cleanup_closedir DIR *dir = opendir(from);
    struct dirent *entry;

    if (!dir)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read the folder %s", from);
    while ((entry = readdir(dir))) {
        cleanup_free char *source = NULL;
        cleanup_free char *target = NULL;

        if (entry->d_name[0] == '.')
            continue;
        if (asprintf(&source, "%s/%s", from, entry->d_name) < 0 ||
            asprintf(&target, "%s/%s", to, entry->d_name) < 0)
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
        if (nl_place_file(source, target, err) < 0)
            return -1;
    }
    return 0;
}

void nl_remove_folder(const char *folder)
{
    cleanup_closedir DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        unlinkat(dirfd(dir), entry->d_name, 0);
    rmdir(folder);
}
