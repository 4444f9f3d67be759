/*
 * rundir.c - run folders: see rundir.h.
 */
#include "rundir.h"
#include "deadline.h"
#include "dig.h"
#include "rundir-guests.h"
#include "rundir-locks.h"
#include "runs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

/* The longest socket in a run folder; an AF_UNIX address holds 107 bytes. */
#define LONGEST_SOCKET                                                                             \
    "/" NL_RUNDIR_LIBVIRT "/lib/qemu/channel/target/domain-1-nl-L0/org.nestlab.agent"
#define PATH_LIMIT (107 - (int)strlen(LONGEST_SOCKET))
#define NAME_LIMIT 16
#define STATE_LIMIT (1024 * 1024)

struct nl_rundir {
    int fd; /* of the folder; carries the lock */
    char *id;
    char *path;
    pthread_mutex_t saving;
};

/* At most LIMIT bytes of NAME with only what is_id allows in it. */
static void plain_name(const char *name, size_t limit, char *plain)
{
    size_t n = 0;

    for (; *name && n < limit; name++) {
        bool fits = isalnum((unsigned char)*name) || (strchr("._", *name) && n > 0);

        if (fits || (n > 0 && plain[n - 1] != '-'))
            plain[n++] = fits ? *name : '-';
    }
    while (n > 0 && plain[n - 1] == '-')
        n--;
    if (n == 0)
        plain[n++] = 'r';
    plain[n] = '\0';
}

/* Make a folder of a new id and lock it, all under the lock of RUNS. */
static int make_folder(struct nl_runs *runs, const char *name, struct nl_rundir *rundir,
                       struct nl_error **err)
{
    time_t now = time(NULL);
    struct tm utc;
    char day[8];

    gmtime_r(&now, &utc);
    strftime(day, sizeof(day), "%y%m%d", &utc);
    for (int i = 0; i < 100; i++) {
        uint16_t random = 0;
        bool alive;

        if (getrandom(&random, sizeof(random), 0) != sizeof(random))
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "no random numbers");
        free(rundir->id);
        if (asprintf(&rundir->id, "%s-%s-%04x", name, day, random) < 0) {
            rundir->id = NULL;
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
        }
        if (mkdirat(runs->fd, rundir->id, 0700) == 0) {
            rundir->fd = nl_runs_take(runs, rundir->id, &alive);
            return rundir->fd < 0
                       ? nl_fail(err, NL_EXIT_LAB, "cannot lock the new run folder %s/%s",
                                 runs->path, rundir->id)
                       : 0;
        }
        if (errno != EEXIST)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make a run folder in %s",
                                 runs->path);
    }
    return nl_fail(err, NL_EXIT_LAB, "too many run folders of that name in %s", runs->path);
}

static void free_rundir(struct nl_rundir **rundir)
{
    if (!*rundir)
        return;
    nl_cleanup_closep(&(*rundir)->fd);
    pthread_mutex_destroy(&(*rundir)->saving);
    free((*rundir)->id);
    free((*rundir)->path);
    free(*rundir);
    *rundir = NULL;
}

int nl_rundir_create(const char *name, struct nl_rundir **rundir, struct nl_error **err)
{
    NL_CLEANUP(free_rundir) struct nl_rundir *made = calloc(1, sizeof(*made));
    cleanup_runs struct nl_runs runs = NL_RUNS_NONE;
    char plain[NAME_LIMIT + 1];
    int room, rc;

    if (!made)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    made->fd = -1;
    pthread_mutex_init(&made->saving, NULL);
    if (nl_runs_open(true, &runs, err) < 0)
        return -1;
    room = PATH_LIMIT - (int)strlen(runs.path) - (int)strlen("/-YYMMDD-XXXX");
    if (room < 1) {
        nl_fail(err, NL_EXIT_REQUEST, "the path %s is too long for sockets in its run folders",
                runs.path);
        return nl_hint(err, "set NESTLAB_RUNS to a path of at most %d characters",
                       PATH_LIMIT - (int)strlen("/r-YYMMDD-XXXX"));
    }
    plain_name(name, room < NAME_LIMIT ? (size_t)room : NAME_LIMIT, plain);
    if (nl_runs_lock(&runs, err) < 0)
        return -1;
    rc = make_folder(&runs, plain, made, err);
    nl_runs_unlock(&runs);
    if (rc < 0)
        return -1;
    if (asprintf(&made->path, "%s/%s", runs.path, made->id) < 0) {
        made->path = NULL;
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    *rundir = nl_steal(&made);
    return 0;
}

const char *nl_rundir_id(const struct nl_rundir *rundir)
{
    return rundir->id;
}

const char *nl_rundir_path(const struct nl_rundir *rundir)
{
    return rundir->path;
}

char *nl_rundir_file(const struct nl_rundir *rundir, const char *format, ...)
{
    cleanup_free char *name = NULL;
    char *path = NULL;
    va_list args;
    int n;

    va_start(args, format);
    n = vasprintf(&name, format, args);
    va_end(args);
    if (n < 0 || asprintf(&path, "%s/%s", rundir->path, name) < 0)
        abort();
    return path;
}

static int write_state(struct nl_rundir *rundir, const json_t *state, struct nl_error **err)
{
    cleanup_close int fd = openat(rundir->fd, "state.json.new",
                                  O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write state.json in %s",
                             rundir->path);
    if (!state || json_dumpfd(state, fd, JSON_INDENT(2)) < 0)
        return nl_fail(err, NL_EXIT_LAB,
                       "cannot write state.json in %s: no space left, or a value "
                       "that is not JSON",
                       rundir->path);
    if (renameat(rundir->fd, "state.json.new", rundir->fd, "state.json") < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot replace state.json in %s",
                             rundir->path);
    return 0;
}

int nl_rundir_save_state(struct nl_rundir *rundir, json_t *state, struct nl_error **err)
{
    cleanup_json json_t *owned = state;
    int rc;

    pthread_mutex_lock(&rundir->saving);
    rc = write_state(rundir, owned, err);
    pthread_mutex_unlock(&rundir->saving);
    return rc;
}

/* End and remove what is in the folder at PATH, which the caller has locked. */
static int empty_folder(const char *path, int *processes, long long *bytes, struct nl_error **err)
{
    *processes = nl_rundir_guests(path, true, err);
    if (*processes < 0)
        return -1;
    *bytes = nl_rundir_tree(path, true, err);
    return *bytes < 0 ? -1 : 0;
}

int nl_rundir_remove(struct nl_rundir **rundir, struct nl_error **err)
{
    long long bytes;
    int processes, rc;

    if (!*rundir)
        return 0;
    rc = empty_folder((*rundir)->path, &processes, &bytes, err);
    free_rundir(rundir);
    return rc;
}

/* The state.json in the folder FD; whatever is wrong with it, NULL is returned. */
static json_t *read_state(int folder)
{
    cleanup_close int fd =
        openat(folder, "state.json", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    cleanup_json json_t *state = NULL;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > STATE_LIMIT)
        return NULL;
    state = json_loadfd(fd, JSON_REJECT_DUPLICATES, NULL);
    return json_is_object(state) ? nl_steal(&state) : NULL;
}

static json_t *describe(struct nl_runs *runs, const char *id)
{
    cleanup_close int folder =
        openat(runs->fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_close int taken = -1;
    json_t *state;
    bool alive;

    if (folder < 0)
        return NULL;
    taken = nl_runs_take(runs, id, &alive);
    (void)taken;
    state = read_state(folder);
    return json_pack("{s:s, s:o, s:b, s:o}", "id", id, "path",
                     json_sprintf("%s/%s", runs->path, id), "alive", (int)alive, "state",
                     state ? state : json_null());
}

int nl_rundir_list(json_t **runs, struct nl_error **err)
{
    cleanup_runs struct nl_runs folder = NL_RUNS_NONE;
    cleanup_json json_t *list = json_array();
    cleanup_strv char **ids = NULL;

    if (nl_runs_open(false, &folder, err) < 0)
        return -1;
    if (folder.fd >= 0) {
        if (nl_runs_lock(&folder, err) < 0)
            return -1;
        if (nl_runs_ids(&folder, &ids, err) < 0)
            return -1;
        for (char **id = ids; *id; id++) {
            json_t *run = describe(&folder, *id);

            if (run)
                json_array_append_new(list, run);
        }
        nl_runs_unlock(&folder);
    }
    *runs = nl_steal(&list);
    return 0;
}

bool nl_rundir_alive(const char *id)
{
    cleanup_runs struct nl_runs runs = NL_RUNS_NONE;
    cleanup_error struct nl_error *ignored = NULL;
    cleanup_close int taken = -1; /* closed before RUNS is, which unlocks it */
    bool alive = false;

    if (!nl_runs_is_id(id) || nl_runs_open(false, &runs, &ignored) < 0 || runs.fd < 0 ||
        nl_runs_lock(&runs, &ignored) < 0)
        return false;
    taken = nl_runs_take(&runs, id, &alive);
    (void)taken;
    return alive;
}

/* Take a folder that was left behind; -1 when it is not one. */
static int take_abandoned(struct nl_runs *runs, const char *id, bool *alive)
{
    int fd;

    if (nl_runs_lock(runs, NULL) < 0)
        return -1;
    fd = nl_runs_take(runs, id, alive);
    nl_runs_unlock(runs);
    return fd;
}

/* The owner of the folder FD is dead; its number is in the folder. */
static int collect_locks(int fd, bool dry_run)
{
    cleanup_json json_t *state = read_state(fd);
    json_int_t owner = nl_dig_integer(state, "pid", 0);

    return owner > 0 && owner <= INT32_MAX
               ? nl_rundir_locks(NL_RUNDIR_LOCKS, (pid_t)owner, !dry_run)
               : 0;
}

/* One folder. OUTCOME (may be NULL) is appended to. */
static int collect_folder(struct nl_runs *runs, const char *id, bool dry_run, json_t *outcome,
                          bool *alive, struct nl_error **err)
{
    cleanup_close int fd = take_abandoned(runs, id, alive);
    cleanup_free char *path = NULL;
    long long bytes = 0;
    int processes = 0, locks;
    int rc = 0;

    if (fd < 0)
        return 0;
    locks = collect_locks(fd, dry_run);
    if (asprintf(&path, "%s/%s", runs->path, id) < 0) {
        path = NULL;
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    if (dry_run) {
        processes = nl_rundir_guests(path, false, err);
        bytes = processes < 0 ? -1 : nl_rundir_tree(path, false, err);
        rc = bytes < 0 ? -1 : 0;
    } else {
        rc = empty_folder(path, &processes, &bytes, err);
    }
    if (rc == 0)
        json_array_append_new(outcome,
                              json_pack("{s:s, s:i, s:i, s:I}", "id", id, "processes", processes,
                                        "locks", locks, "bytes", (json_int_t)bytes));
    return rc;
}

int nl_rundir_collect(bool dry_run, json_t **removed, struct nl_error **err)
{
    cleanup_runs struct nl_runs runs = NL_RUNS_NONE;
    cleanup_json json_t *outcome = json_array();
    cleanup_strv char **ids = NULL;
    int rc = 0;

    if (nl_runs_open(false, &runs, err) < 0 || nl_runs_ids(&runs, &ids, err) < 0)
        return -1;
    for (char **id = ids; *id; id++) {
        cleanup_error struct nl_error *problem = NULL;
        bool alive;

        if (collect_folder(&runs, *id, dry_run, outcome, &alive, rc == 0 ? err : &problem) < 0)
            rc = -1;
    }
    if (removed)
        *removed = nl_steal(&outcome);
    return rc;
}

int nl_rundir_collect_one(const char *id, struct nl_error **err)
{
    cleanup_runs struct nl_runs runs = NL_RUNS_NONE;
    cleanup_json json_t *outcome = json_array();
    bool alive = false;

    if (!nl_runs_is_id(id))
        return nl_fail(err, NL_EXIT_REQUEST, "%s is not the id of a run", id);
    if (nl_runs_open(false, &runs, err) < 0)
        return -1;
    if (runs.fd < 0)
        return 0;
    if (collect_folder(&runs, id, false, outcome, &alive, err) < 0)
        return -1;
    return alive ? nl_fail(err, NL_EXIT_LAB, "%s is still owned by a running nestlab", id) : 0;
}
