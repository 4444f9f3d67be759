/*
 * store-entry.c - making entries of the store so that only finished ones are seen: see store.h.
 *
 * The lock of an entry is a flock(2) on tmp/DIGEST.lock: it goes with the process that held it, so
 * whoever gets the lock knows that whatever lies in tmp/DIGEST has no owner any more.
 */
#include "store.h"
#include "process.h"
#include "progress.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define LOCK_SUFFIX ".lock"
#define LOCK_POLL_S 0.3

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    /* A folder that its owner may not write cannot be emptied. */
    if (type == FTW_DNR)
        chmod(path, 0700);
    return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

static int open_up(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw;
    if (type == FTW_D && (st->st_mode & 0700) != 0700)
        chmod(path, 0700);
    return 0;
}

int nl_remove_tree(const char *path, struct nl_error **err)
{
    /* FTW_MOUNT: whatever may be mounted there is not ours to remove. */
    nftw(path, open_up, 16, FTW_PHYS | FTW_MOUNT);
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) < 0 && errno != ENOENT)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot remove %s", path);
    return 0;
}

/* Files that mmdebstrap made as another user of the namespace: only it can remove them. */
static void remove_outside(const char *folder)
{
    cleanup_free char *link = NULL;
    char target[PATH_MAX];
    const char *base;
    ssize_t n;

    if (asprintf(&link, "%s/" NL_ENTRY_OUTSIDE, folder) < 0) {
        link = NULL;
        return;
    }
    n = readlink(link, target, sizeof(target) - 1);
    if (n <= 0)
        return;
    target[n] = '\0';
    unlink(link);
    base = strrchr(target, '/');
    if (!base || strncmp(base + 1, NL_ENTRY_OUTSIDE_PREFIX, strlen(NL_ENTRY_OUTSIDE_PREFIX)) != 0)
        return;
    if (nl_remove_tree(target, NULL) < 0) {
        const char *argv[] = {"mmdebstrap", "--unshare-helper", "rm", "-rf", "--", target, NULL};
        struct nl_process process = {.argv = argv, .output_limit = 4096};

        /* Those users may not even list the folder that they left things in. */
        chmod(target, 0777);
        /* This is what has to be done after an interrupt. */
        nl_interrupt_shield(true);
        nl_process_run(&process, NULL, NULL);
        nl_interrupt_shield(false);
        nl_remove_tree(target, NULL);
    }
}

static int remove_build(const char *folder, struct nl_error **err)
{
    remove_outside(folder);
    return nl_remove_tree(folder, err);
}

bool nl_entry_exists(const struct nl_store *store, const char *digest)
{
    cleanup_free char *path = nl_store_name(store, "images/%s/image.json", digest);

    return path && access(path, F_OK) == 0;
}

/* 1: we hold the lock of that file; 0: somebody else does. The file may be removed by the one who
   held it before us: then our lock is on a file that nobody else will find. */
static int try_lock(const char *path, int *lock, struct nl_error **err)
{
    cleanup_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct stat held, named;

    if (fd < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot open %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK || errno == EINTR)
            return 0;
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot lock %s", path);
    }
    if (fstat(fd, &held) < 0 || stat(path, &named) < 0 || held.st_ino != named.st_ino ||
        held.st_dev != named.st_dev)
        return 0;
    /* A duplicate holds the same lock. */
    *lock = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (*lock < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot hold %s", path);
    return 1;
}

static int wait_for_lock(struct nl_entry *entry, const char *what, struct nl_error **err)
{
    bool said = false;

    for (;;) {
        int rc = try_lock(entry->lock_path, &entry->lock, err);

        if (rc < 0)
            return -1;
        if (rc == 1)
            break;
        if (!said)
            nl_progress_begin("%s: another process is making it, waiting", what);
        said = true;
        if (nl_sleep(LOCK_POLL_S, err) < 0)
            return -1;
        nl_progress_update("waiting");
    }
    if (said)
        nl_progress_end("done");
    return 0;
}

int nl_entry_begin(const struct nl_store *store, const char *digest, const char *what,
                   struct nl_entry **result, struct nl_error **err)
{
    cleanup_entry struct nl_entry *entry = calloc(1, sizeof(*entry));

    if (!entry)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    entry->lock = -1;
    entry->digest = strdup(digest);
    entry->folder = nl_store_name(store, "tmp/%s", digest);
    entry->final = nl_store_name(store, "images/%s", digest);
    entry->lock_path = nl_store_name(store, "tmp/%s" LOCK_SUFFIX, digest);
    if (!entry->digest || !entry->folder || !entry->final || !entry->lock_path)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    entry->there = nl_entry_exists(store, digest);
    if (!entry->there) {
        if (wait_for_lock(entry, what, err) < 0)
            return -1;
        entry->there = nl_entry_exists(store, digest);
    }
    if (!entry->there) {
        if (remove_build(entry->folder, err) < 0)
            return -1;
        if (mkdir(entry->folder, 0755) < 0)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make %s", entry->folder);
    }
    *result = nl_steal(&entry);
    return 0;
}

int nl_entry_commit(struct nl_entry *entry, struct nl_error **err)
{
    cleanup_free char *about = NULL;
    cleanup_close int fd = open(entry->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (asprintf(&about, "%s/image.json", entry->folder) < 0) {
        about = NULL;
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    if (access(about, F_OK) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "%s", about);
    if (fd < 0 || syncfs(fd) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot flush %s", entry->folder);
    remove_outside(entry->folder);
    /* A folder there without its image.json is no entry: a file system check may leave one. */
    if (access(entry->final, F_OK) == 0 && nl_remove_tree(entry->final, err) < 0)
        return -1;
    if (rename(entry->folder, entry->final) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot rename %s", entry->folder);
    if (syncfs(fd) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot flush %s", entry->final);
    entry->there = true;
    return 0;
}

void nl_entry_end(struct nl_entry **entry)
{
    struct nl_entry *e = *entry;

    if (!e)
        return;
    if (e->lock >= 0) {
        remove_build(e->folder, NULL);
        /* While the lock is held, or the next holder's file could be removed. */
        unlink(e->lock_path);
        close(e->lock);
    }
    free(e->digest);
    free(e->folder);
    free(e->final);
    free(e->lock_path);
    free(e);
    *entry = NULL;
}

/* Remove tmp/NAME if no live process holds it. */
static int clean_one(const char *tmp, const char *name, struct nl_error **err)
{
    cleanup_free char *folder = NULL, *lock_path = NULL;
    cleanup_close int lock = -1;
    size_t length = strlen(name);
    size_t suffix = strlen(LOCK_SUFFIX);
    int rc;

    if (length > suffix && strcmp(name + length - suffix, LOCK_SUFFIX) == 0)
        length -= suffix;
    if (asprintf(&folder, "%s/%.*s", tmp, (int)length, name) < 0 ||
        asprintf(&lock_path, "%s" LOCK_SUFFIX, folder) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    rc = try_lock(lock_path, &lock, err);
    if (rc <= 0)
        return rc;
    rc = remove_build(folder, err);
    unlink(lock_path);
    return rc;
}

/* warm/KEY.PID of a process that is no more: what it had not finished. */
static int clean_warm(const struct nl_store *store, struct nl_error **err)
{
    cleanup_free char *warm = nl_store_name(store, "warm");
    cleanup_closedir DIR *dir = warm ? opendir(warm) : NULL;
    struct dirent *item;

    while (dir && (item = readdir(dir)) != NULL) {
        const char *dot = strrchr(item->d_name, '.');
        cleanup_free char *folder = NULL;
        char *end = NULL;
        long pid = dot && dot > item->d_name ? strtol(dot + 1, &end, 10) : 0;

        if (pid <= 0 || *end || !nl_process_is_gone((pid_t)pid))
            continue;
        if (asprintf(&folder, "%s/%s", warm, item->d_name) < 0)
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
        if (nl_remove_tree(folder, err) < 0)
            return -1;
    }
    return 0;
}

int nl_store_clean(struct nl_store *store, struct nl_error **err)
{
    cleanup_free char *tmp = nl_store_name(store, "tmp");
    cleanup_closedir DIR *dir = tmp ? opendir(tmp) : NULL;
    struct dirent *item;

    if (!dir)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read %s/tmp", store->path);
    while ((item = readdir(dir)) != NULL) {
        if (item->d_name[0] == '.')
            continue;
        if (clean_one(tmp, item->d_name, err) < 0)
            return -1;
    }
    return clean_warm(store, err);
}
