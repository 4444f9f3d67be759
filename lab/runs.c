/*
 * runs.c - the folder of all run folders: see runs.h.
 */
#include "runs.h"
#include "deadline.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define MARK ".nestlab-runs"
#define LOCK_SECONDS 10.0

/* The path goes into a libvirt URI and, with commas doubled, into QEMU's command line, where it is
   looked for again: so only what no layer rewrites. */
static bool is_plain_path(const char *path)
{
    for (const char *c = path; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("/._-+", *c))
            return false;
    return path[0] == '/';
}

/* NULL on failure; the caller's. */
static char *runs_name(struct nl_error **err)
{
    const char *given = getenv("NESTLAB_RUNS");
    char *name = NULL;

    if (!given || !*given) {
        if (asprintf(&name, "/var/tmp/nestlab-%u", (unsigned)geteuid()) < 0)
            name = NULL;
    } else if (is_plain_path(given)) {
        name = strdup(given);
    } else {
        nl_fail(err, NL_EXIT_REQUEST, "NESTLAB_RUNS is not usable: %s", given);
        nl_hint(err, "an absolute path of letters, digits and / . _ - + is needed");
        return NULL;
    }
    if (!name) {
        nl_fail(err, NL_EXIT_LAB, "out of memory");
        return NULL;
    }
    /* A trailing slash would make open() follow a link. */
    for (size_t length = strlen(name); length > 1 && name[length - 1] == '/'; length--)
        name[length - 1] = '\0';
    return name;
}

static bool is_empty(int fd)
{
    cleanup_closedir DIR *dir = NULL;
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct dirent *entry;

    dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir)
        return false;
    while ((entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return false;
    return true;
}

/* Mark an empty folder as ours; refuse one that holds something and has no mark. */
static int check_mark(struct nl_runs *runs, const char *name, struct nl_error **err)
{
    struct stat st;
    bool ours;
    int fd;

    if (nl_runs_lock(runs, err) < 0)
        return -1;
    ours = fstatat(runs->fd, MARK, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
    if (!ours && is_empty(runs->fd)) {
        fd = openat(runs->fd, MARK, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        ours = fd >= 0;
        nl_cleanup_closep(&fd);
    }
    nl_runs_unlock(runs);
    if (ours)
        return 0;
    nl_fail(err, NL_EXIT_REQUEST, "%s holds something else than nestlab's runs", name);
    return nl_hint(err, "set NESTLAB_RUNS to an empty folder, or to one that does not exist yet");
}

static int check_owner(int fd, const char *name, struct nl_error **err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot look at %s", name);
    if (st.st_uid == geteuid() && (st.st_mode & 077) == 0)
        return 0;
    nl_fail(err, NL_EXIT_LAB, "%s is not private: it belongs to user %u and has mode %04o", name,
            (unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
    return nl_hint(err, st.st_uid == geteuid()
                            ? "give it mode 0700, or set NESTLAB_RUNS to a folder that has it"
                            : "set NESTLAB_RUNS to a folder of your own with mode 0700");
}

/* The path that the kernel knows, so that every spelling of RUNS finds the same command lines. */
static int true_path(struct nl_runs *runs, struct nl_error **err)
{
    char link[64], path[PATH_MAX];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", runs->fd);
    n = readlink(link, path, sizeof(path) - 1);
    if (n < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read %s", link);
    path[n] = '\0';
    if (!is_plain_path(path)) {
        nl_fail(err, NL_EXIT_REQUEST, "the folder of runs is really at %s", path);
        return nl_hint(err, "set NESTLAB_RUNS to a path without special characters or links");
    }
    runs->path = strdup(path);
    return runs->path ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
}

int nl_runs_open(bool create, struct nl_runs *runs, struct nl_error **err)
{
    cleanup_free char *name = runs_name(err);

    *runs = NL_RUNS_NONE;
    if (!name)
        return -1;
    if (create && mkdir(name, 0700) < 0 && errno != EEXIST)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make %s", name);
    runs->fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (runs->fd < 0 && errno == ENOENT && !create)
        return 0;
    if (runs->fd < 0) {
        nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot open the folder of runs, %s", name);
        return nl_hint(err,
                       "it must be a folder of your own, not a link: set NESTLAB_RUNS to another");
    }
    if (check_owner(runs->fd, name, err) < 0 || check_mark(runs, name, err) < 0 ||
        true_path(runs, err) < 0) {
        nl_runs_close(runs);
        return -1;
    }
    return 0;
}

int nl_runs_lock(struct nl_runs *runs, struct nl_error **err)
{
    nl_deadline deadline = nl_deadline_in(LOCK_SECONDS);

    while (flock(runs->fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot lock the folder of runs");
        if (nl_deadline_left_ms(deadline) == 0)
            return nl_fail(err, NL_EXIT_LAB, "another nestlab keeps the folder of runs locked");
        usleep(2000);
    }
    return 0;
}

void nl_runs_unlock(struct nl_runs *runs)
{
    flock(runs->fd, LOCK_UN);
}

void nl_runs_close(struct nl_runs *runs)
{
    nl_cleanup_closep(&runs->fd);
    free(runs->path);
    *runs = NL_RUNS_NONE;
}

bool nl_runs_is_id(const char *id)
{
    size_t length = strlen(id);

    if (length < 6 || id[length - 5] != '-' || id[0] == '.')
        return false;
    for (const char *c = id; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
            return false;
    return strspn(id + length - 4, "0123456789abcdef") == 4;
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int nl_runs_ids(const struct nl_runs *runs, char ***ids, struct nl_error **err)
{
    cleanup_strv char **list = calloc(1, sizeof(*list));
    cleanup_closedir DIR *dir = NULL;
    struct dirent *entry;
    size_t n = 0;
    int fd;

    fd = runs->fd < 0 ? -1 : openat(runs->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dir = fd < 0 ? NULL : fdopendir(fd);
    if (runs->fd >= 0 && !dir)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read the folder of runs");
    while (list && dir && (entry = readdir(dir)) != NULL) {
        char **more;

        if (!nl_runs_is_id(entry->d_name))
            continue;
        more = realloc(list, (n + 2) * sizeof(*list));
        if (!more)
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
        list = more;
        list[n + 1] = NULL;
        list[n] = strdup(entry->d_name);
        if (!list[n++])
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    if (!list)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    qsort(list, n, sizeof(*list), compare_ids);
    *ids = nl_steal(&list);
    return 0;
}

int nl_runs_take(const struct nl_runs *runs, const char *id, bool *alive)
{
    cleanup_close int fd = openat(runs->fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    *alive = false;
    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        *alive = true;
        return -1;
    }
    /* Its owner may have removed it between opening and locking. */
    if (fstat(fd, &st) < 0 || st.st_nlink == 0)
        return -1;
    return nl_steal_fd(&fd);
}
