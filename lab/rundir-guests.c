/*
 * rundir-guests.c - ending and removing what a run folder holds: see rundir-guests.h.
 */
#include "rundir-guests.h"
#include "deadline.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>

#define TERM_SECONDS 3.0
#define KILL_SECONDS 5.0
#define COMMAND_LINE_MAX (1024 * 1024)

/* libvirt gives this option to every QEMU it starts, also to those it only asks for capabilities.
   Requiring it keeps an editor or a `tail -f` on a file of the folder alive. */
#define QEMU_MARK "-no-user-config"

struct guests {
    int *pidfds;
    size_t n;
};

static void free_guests(struct guests *guests)
{
    for (size_t i = 0; i < guests->n; i++)
        close(guests->pidfds[i]);
    free(guests->pidfds);
}

/* The words of a command line, each zero-terminated, and their total length; NULL: none to be had.
 */
static char *read_command_line(pid_t pid, size_t *length)
{
    cleanup_free char *text = malloc(COMMAND_LINE_MAX + 1);
    cleanup_close int fd = -1;
    char path[64];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !text)
        return NULL;
    *length = 0;
    while (*length < COMMAND_LINE_MAX &&
           (n = read(fd, text + *length, COMMAND_LINE_MAX - *length)) > 0)
        *length += (size_t)n;
    text[*length] = '\0';
    return *length > 0 ? nl_steal(&text) : NULL;
}

static bool is_guest_of(pid_t pid, const char *prefix)
{
    size_t length = 0;
    cleanup_free char *text = read_command_line(pid, &length);
    bool marked = false, named = false;

    if (!text)
        return false;
    for (const char *word = text; word < text + length; word += strlen(word) + 1) {
        marked = marked || strcmp(word, QEMU_MARK) == 0;
        named = named || strstr(word, prefix);
    }
    return marked && named;
}

/* Add the process if it belongs to the folder. The descriptor comes first: from then on the number
   cannot mean another process. */
static int consider(pid_t pid, const char *prefix, struct guests *guests, struct nl_error **err)
{
    cleanup_close int pidfd = -1;
    struct stat st;
    char path[64];
    int *more;

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    if (stat(path, &st) < 0 || st.st_uid != geteuid())
        return 0;
    pidfd = pidfd_open(pid, 0);
    if (pidfd < 0)
        return errno == ESRCH || errno == EINVAL
                   ? 0
                   : nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot watch process %d", (int)pid);
    if (!is_guest_of(pid, prefix))
        return 0;
    more = realloc(guests->pidfds, (guests->n + 1) * sizeof(*more));
    if (!more)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    guests->pidfds = more;
    guests->pidfds[guests->n++] = nl_steal_fd(&pidfd);
    return 0;
}

static int find_guests(const char *path, struct guests *guests, struct nl_error **err)
{
    cleanup_closedir DIR *proc = opendir("/proc");
    cleanup_free char *prefix = NULL;
    struct dirent *entry;

    if (!proc)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read /proc");
    if (asprintf(&prefix, "%s/", path) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    while ((entry = readdir(proc)) != NULL) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);

        if (*end == '\0' && pid > 1 && pid != getpid() &&
            consider((pid_t)pid, prefix, guests, err) < 0)
            return -1;
    }
    return 0;
}

/* Signal all that live and wait until none does. How many are left. */
static size_t signal_and_wait(const struct guests *guests, int signal_number, double seconds)
{
    nl_deadline deadline = nl_deadline_in(seconds);
    size_t left = 0;

    for (size_t i = 0; i < guests->n; i++)
        pidfd_send_signal(guests->pidfds[i], signal_number, NULL, 0);
    for (size_t i = 0; i < guests->n; i++) {
        struct pollfd fd = {.fd = guests->pidfds[i], .events = POLLIN};
        int n;

        do
            n = poll(&fd, 1, nl_deadline_left_ms(deadline));
        while (n < 0 && errno == EINTR);
        left += n != 1;
    }
    return left;
}

int nl_rundir_guests(const char *path, bool end, struct nl_error **err)
{
    __attribute__((cleanup(free_guests))) struct guests guests = {NULL, 0};

    if (find_guests(path, &guests, err) < 0)
        return -1;
    if (end && guests.n > 0 && signal_and_wait(&guests, SIGTERM, TERM_SECONDS) > 0 &&
        signal_and_wait(&guests, SIGKILL, KILL_SECONDS) > 0)
        return nl_fail(err, NL_EXIT_LAB, "a QEMU process of %s does not end, even when killed",
                       path);
    return (int)guests.n;
}

int nl_rundir_kill_guests(const char *path, struct nl_error **err)
{
    __attribute__((cleanup(free_guests))) struct guests guests = {NULL, 0};

    if (find_guests(path, &guests, err) < 0)
        return -1;
    if (signal_and_wait(&guests, SIGKILL, KILL_SECONDS) > 0)
        return nl_fail(err, NL_EXIT_LAB, "a QEMU process of %s does not end, even when killed",
                       path);
    return (int)guests.n;
}

static void close_ftsp(FTS **fts)
{
    if (*fts)
        fts_close(*fts);
}

/* Remove what FTS is at, if it is time. 0, or an errno value. */
static int remove_entry(const FTSENT *entry)
{
    int rc;

    switch (entry->fts_info) {
    case FTS_D:
        return 0;
    case FTS_DP:
    case FTS_DNR:
        rc = rmdir(entry->fts_accpath);
        break;
    default:
        rc = unlink(entry->fts_accpath);
    }
    return rc < 0 && errno != ENOENT ? errno : 0;
}

long long nl_rundir_tree(const char *path, bool remove, struct nl_error **err)
{
    char *const roots[] = {(char *)path, NULL};
    __attribute__((cleanup(close_ftsp))) FTS *fts =
        fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    long long bytes = 0;
    bool failed = false;
    FTSENT *entry;

    if (!fts)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read %s", path);
    while ((entry = fts_read(fts)) != NULL) {
        int errnum = remove ? remove_entry(entry) : 0;

        if (entry->fts_info == FTS_F)
            bytes += (long long)entry->fts_statp->st_blocks * 512;
        if (errnum && !failed) {
            nl_fail_errno(err, NL_EXIT_LAB, errnum, "cannot remove %s", entry->fts_path);
            failed = true;
        }
    }
    return failed ? -1 : bytes;
}
