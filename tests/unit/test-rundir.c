/*
 * test-rundir.c - run folders: owned, listed, left behind, collected.
 *
 * A process that stands for QEMU is this very program with libvirt's mark among its words.
 */
#include "rundir.h"
#include "deadline.h"
#include "rundir-guests.h"
#include "runs.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static char base[64]; /* a folder of the test's own */
static char runs[80]; /* base/runs */

static int set_up(void **state)
{
    (void)state;
    strcpy(base, "/tmp/nlt-XXXXXX");
    if (!mkdtemp(base))
        return -1;
    snprintf(runs, sizeof(runs), "%s/runs", base);
    setenv("NESTLAB_RUNS", runs, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    chmod(runs, 0700);
    return nl_rundir_tree(base, true, NULL) < 0 ? -1 : 0;
}

static void write_file(const char *folder, const char *name, const char *text)
{
    cleanup_free char *path = NULL;
    FILE *file;

    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static struct nl_rundir *create(const char *name)
{
    cleanup_error struct nl_error *err = NULL;
    struct nl_rundir *rundir = NULL;

    if (nl_rundir_create(name, &rundir, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    return rundir;
}

/* A process with the words of ARGV but argv[0], which is this program; it waits to be killed.
   IGNORE_TERM: and not by SIGTERM. */
static pid_t start_fake(const char *mark, const char *path, bool ignore_term)
{
    char *words[] = {(char *)"/proc/self/exe", (char *)mark, (char *)path, NULL};
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        if (ignore_term)
            signal(SIGTERM, SIG_IGN);
        dup2(ready[1], 0);
        close(ready[0]);
        close(ready[1]);
        execv(words[0], words);
        _exit(127);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static bool is_running(pid_t pid)
{
    int status;

    return waitpid(pid, &status, WNOHANG) == 0;
}

static void end_fake(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* A run folder whose owner is killed by SIGKILL; its path. */
static char *abandoned(const char *name)
{
    char path[200] = "";
    int channel[2];
    pid_t pid;

    assert_int_equal(pipe(channel), 0);
    pid = fork();
    if (pid == 0) {
        struct nl_rundir *rundir = NULL;

        if (nl_rundir_create(name, &rundir, NULL) < 0)
            _exit(1);
        nl_rundir_save_state(rundir, json_pack("{s:s}", "status", "running"), NULL);
        dprintf(channel[1], "%s", nl_rundir_path(rundir));
        close(channel[1]);
        pause();
        _exit(0);
    }
    close(channel[1]);
    for (size_t n = 0; n < sizeof(path) - 1;) {
        ssize_t got = read(channel[0], path + n, sizeof(path) - 1 - n);

        if (got <= 0)
            break;
        n += (size_t)got;
    }
    close(channel[0]);
    assert_true(path[0] == '/');
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return strdup(path);
}

static json_t *list(void)
{
    json_t *runs_list = NULL;

    assert_int_equal(nl_rundir_list(&runs_list, NULL), 0);
    return runs_list;
}

static void test_nothing_there(void **state)
{
    cleanup_json json_t *all = list();
    cleanup_json json_t *removed = NULL;

    (void)state;
    assert_int_equal(json_array_size(all), 0);
    assert_int_equal(nl_rundir_collect(false, &removed, NULL), 0);
    assert_int_equal(json_array_size(removed), 0);
    assert_false(exists(runs));
}

static void test_life(void **state)
{
    struct nl_rundir *rundir = create("nested-boot");
    cleanup_free char *path = strdup(nl_rundir_path(rundir));
    cleanup_free char *file = nl_rundir_file(rundir, "L%d.qcow2", 1);
    cleanup_json json_t *all = NULL;
    cleanup_json json_t *removed = NULL;
    json_t *run;
    struct stat st;

    (void)state;
    assert_int_equal(strncmp(nl_rundir_id(rundir), "nested-boot-", 12), 0);
    assert_int_equal(strlen(nl_rundir_id(rundir)), 16);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat(runs, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_true(strlen(file) > 9 && strcmp(file + strlen(file) - 9, "/L1.qcow2") == 0);

    assert_int_equal(nl_rundir_save_state(rundir, json_pack("{s:i}", "a", 1), NULL), 0);
    assert_int_equal(nl_rundir_save_state(rundir, json_pack("{s:i}", "a", 2), NULL), 0);
    all = list();
    assert_int_equal(json_array_size(all), 1);
    run = json_array_get(all, 0);
    assert_string_equal(json_string_value(json_object_get(run, "id")), nl_rundir_id(rundir));
    assert_string_equal(json_string_value(json_object_get(run, "path")), path);
    assert_true(json_is_true(json_object_get(run, "alive")));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(run, "state"), "a")), 2);
    assert_true(nl_rundir_alive(nl_rundir_id(rundir)));

    /* Nobody else may take it. */
    assert_int_equal(nl_rundir_collect(false, &removed, NULL), 0);
    assert_int_equal(json_array_size(removed), 0);
    assert_int_equal(nl_rundir_collect_one(nl_rundir_id(rundir), NULL), -1);
    assert_true(exists(path));

    assert_int_equal(nl_rundir_remove(&rundir, NULL), 0);
    assert_null(rundir);
    assert_false(exists(path));
}

static void test_state_that_is_no_json(void **state)
{
    struct nl_rundir *rundir = create("x");

    (void)state;
    assert_int_equal(nl_rundir_save_state(rundir, NULL, NULL), -1);
    assert_int_equal(nl_rundir_remove(&rundir, NULL), 0);
}

static void test_names(void **state)
{
    static const struct {
        const char *name, *expected;
    } cases[] = {
        {"../../etc/passwd", "etc-passwd-"},
        {"", "r-"},
        {"...", "r-"},
        {".hidden", "hidden-"},
        {"a b\nc\x1b[31m", "a-b-c-31m-"},
        {"-", "r-"},
        {"0123456789abcdefghijkl", "0123456789abcdef-"},
        {"gr\xc3\xbc\xc3\x9f", "gr-"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct nl_rundir *rundir = create(cases[i].name);
        size_t n = strlen(cases[i].expected);

        assert_int_equal(strlen(nl_rundir_id(rundir)), n + 4);
        assert_int_equal(strncmp(nl_rundir_id(rundir), cases[i].expected, n), 0);
        assert_true(nl_runs_is_id(nl_rundir_id(rundir)));
        assert_int_equal(nl_rundir_remove(&rundir, NULL), 0);
    }
}

static void test_sockets_fit(void **state)
{
    struct nl_rundir *rundir = create("0123456789abcdefghijklmnopqrstuvwxyz");
    cleanup_free char *socket = NULL;
    cleanup_error struct nl_error *err = NULL;
    char deep[128];

    (void)state;
    socket =
        nl_rundir_file(rundir, "embed/lib/qemu/channel/target/domain-1-L0/%s", "org.nestlab.agent");
    assert_true(strlen(socket) <= 107);
    assert_int_equal(nl_rundir_remove(&rundir, NULL), 0);

    snprintf(deep, sizeof(deep), "%s/%030d", base, 1);
    setenv("NESTLAB_RUNS", deep, 1);
    assert_int_equal(nl_rundir_create("x", &rundir, &err), -1);
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
    assert_non_null(nl_error_hint(err));
}

static void test_left_behind(void **state)
{
    cleanup_free char *path = abandoned("left");
    cleanup_json json_t *would = NULL;
    cleanup_json json_t *removed = NULL;
    cleanup_json json_t *all = NULL;
    struct nl_rundir *mine = create("mine");
    char folder[256];
    json_t *one;

    (void)state;
    snprintf(folder, sizeof(folder), "%s/embed", path);
    assert_int_equal(mkdir(folder, 0700), 0);
    write_file(folder, "big", "0123456789");
    all = list();
    assert_int_equal(json_array_size(all), 2);
    assert_true(json_is_false(json_object_get(json_array_get(all, 0), "alive")));
    assert_true(json_is_true(json_object_get(json_array_get(all, 1), "alive")));

    assert_int_equal(nl_rundir_collect(true, &would, NULL), 0);
    assert_int_equal(json_array_size(would), 1);
    assert_true(exists(folder));
    assert_int_equal(nl_rundir_collect(false, &removed, NULL), 0);
    assert_int_equal(json_array_size(removed), 1);
    one = json_array_get(removed, 0);
    assert_true(json_integer_value(json_object_get(one, "bytes")) > 0);
    assert_int_equal(json_integer_value(json_object_get(one, "processes")), 0);
    assert_true(json_equal(would, removed));
    assert_false(exists(path));
    assert_true(exists(nl_rundir_path(mine)));
    assert_int_equal(nl_rundir_remove(&mine, NULL), 0);
}

static void test_processes(void **state)
{
    cleanup_free char *path = abandoned("guests");
    cleanup_free char *other = abandoned("guests"); /* the ids differ in the last digits only */
    struct nl_rundir *mine = create("guests");
    cleanup_json json_t *would = NULL;
    char word[300], longer[300], elsewhere[300], owned[300];
    pid_t guest, stubborn, bystander, neighbour, reader, kept;

    (void)state;
    snprintf(word, sizeof(word), "socket,path=%s/embed/monitor.sock,server=on", path);
    snprintf(longer, sizeof(longer), "%s0/x", path);
    snprintf(elsewhere, sizeof(elsewhere), "%s/x", other);
    snprintf(owned, sizeof(owned), "%s/x", nl_rundir_path(mine));
    guest = start_fake("-no-user-config", word, false);
    stubborn = start_fake("-no-user-config", word, true);
    kill(stubborn, SIGSTOP);
    bystander = start_fake("-no-user-config", longer, false);
    neighbour = start_fake("-no-user-config", elsewhere, false);
    reader = start_fake("-follow", word, false);
    kept = start_fake("-no-user-config", owned, false);

    assert_int_equal(nl_rundir_collect(true, &would, NULL), 0);
    assert_int_equal(json_array_size(would), 2);
    assert_true(is_running(guest));

    assert_int_equal(nl_rundir_collect_one(strrchr(path, '/') + 1, NULL), 0);
    assert_false(is_running(guest));
    assert_false(is_running(stubborn));
    assert_true(is_running(bystander));
    assert_true(is_running(neighbour));
    assert_true(is_running(reader));
    assert_false(exists(path));
    assert_true(exists(other));

    assert_int_equal(nl_rundir_collect(false, NULL, NULL), 0);
    assert_false(is_running(neighbour));
    assert_true(is_running(bystander));
    assert_true(is_running(reader));
    assert_true(is_running(kept));

    /* The owner's own removal ends them too. */
    assert_int_equal(nl_rundir_remove(&mine, NULL), 0);
    assert_false(is_running(kept));
    end_fake(bystander);
    end_fake(reader);
}

static void test_nothing_else_is_removed(void **state)
{
    cleanup_free char *path = abandoned("links");
    char link[300], precious[100];

    (void)state;
    snprintf(precious, sizeof(precious), "%s/precious", base);
    assert_int_equal(mkdir(precious, 0700), 0);
    write_file(precious, "file", "kept");
    snprintf(link, sizeof(link), "%s/link", path);
    assert_int_equal(symlink(precious, link), 0);
    /* In RUNS itself: no run folders, whatever they look like. */
    write_file(runs, "note-beef", "a file");
    snprintf(link, sizeof(link), "%s/trap-0000", runs);
    assert_int_equal(symlink(precious, link), 0);
    snprintf(link, sizeof(link), "%s/no-run", runs);
    assert_int_equal(mkdir(link, 0700), 0);

    assert_int_equal(nl_rundir_collect(false, NULL, NULL), 0);
    assert_false(exists(path));
    assert_true(exists(link));
    snprintf(link, sizeof(link), "%s/file", precious);
    assert_true(exists(link));
    snprintf(link, sizeof(link), "%s/trap-0000", runs);
    assert_true(exists(link));
    snprintf(link, sizeof(link), "%s/note-beef", runs);
    assert_true(exists(link));
}

static void refused(const char *why)
{
    cleanup_error struct nl_error *err = NULL;
    struct nl_rundir *rundir = NULL;
    json_t *nothing = NULL;

    if (nl_rundir_create("x", &rundir, &err) == 0)
        fail_msg("taken although %s", why);
    assert_non_null(nl_error_hint(err));
    nl_error_free(&err);
    assert_int_equal(nl_rundir_list(&nothing, &err), -1);
    nl_error_free(&err);
    assert_int_equal(nl_rundir_collect(false, NULL, &err), -1);
}

static void test_runs_must_be_ours(void **state)
{
    char path[200];

    (void)state;
    snprintf(path, sizeof(path), "%s/real", base);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(symlink(path, runs), 0);
    refused("it is a link");
    snprintf(path, sizeof(path), "%s/", runs);
    setenv("NESTLAB_RUNS", path, 1);
    refused("it is a link, with a slash");
    setenv("NESTLAB_RUNS", runs, 1);
    unlink(runs);

    write_file(base, "runs", "");
    refused("it is a file");
    unlink(runs);

    assert_int_equal(mkdir(runs, 0700), 0);
    assert_int_equal(chmod(runs, 0770), 0);
    refused("others may write it");
    chmod(runs, 0700);
    if (geteuid() == 0) {
        assert_int_equal(chown(runs, 12345, 12345), 0);
        refused("it is somebody else's");
        assert_int_equal(chown(runs, 0, 0), 0);
    }
    write_file(runs, "thesis.tex", "");
    refused("it holds something else");
    assert_true(exists(runs));
    setenv("NESTLAB_RUNS", "relative/path", 1);
    refused("it is relative");
    setenv("NESTLAB_RUNS", "/tmp/with,comma", 1);
    refused("it has a comma");
}

static void test_other_spelling(void **state)
{
    cleanup_free char *path = abandoned("spelling");
    char link[100], other[120], word[300];
    pid_t guest;

    (void)state;
    snprintf(word, sizeof(word), "%s/x", path);
    guest = start_fake("-no-user-config", word, false);
    snprintf(link, sizeof(link), "%s/link", base);
    assert_int_equal(symlink(base, link), 0);
    snprintf(other, sizeof(other), "%s/./runs//", link);
    setenv("NESTLAB_RUNS", other, 1);
    assert_int_equal(nl_rundir_collect(false, NULL, NULL), 0);
    assert_false(is_running(guest));
    assert_false(exists(path));
}

static void test_garbage_in_state(void **state)
{
    static const char *const garbage[] = {"",     "[1]", "{\"a\":", "\"x\"", "{\"a\":1,\"a\":2}",
                                          "\xff", "null"};
    struct nl_rundir *rundir = create("g");
    char path[200];

    (void)state;
    for (size_t i = 0; i <= sizeof(garbage) / sizeof(garbage[0]); i++) {
        cleanup_json json_t *all = NULL;

        if (i < sizeof(garbage) / sizeof(garbage[0])) {
            write_file(nl_rundir_path(rundir), "state.json", garbage[i]);
        } else {
            /* Must not wait for a writer. */
            snprintf(path, sizeof(path), "%s/state.json", nl_rundir_path(rundir));
            unlink(path);
            assert_int_equal(mkfifo(path, 0600), 0);
        }
        all = list();
        assert_int_equal(json_array_size(all), 1);
        assert_true(json_is_null(json_object_get(json_array_get(all, 0), "state")));
    }
    assert_int_equal(nl_rundir_remove(&rundir, NULL), 0);
}

static void test_lock_is_not_inherited(void **state)
{
    struct nl_rundir *rundir = create("fd");
    cleanup_free char *path = strdup(nl_rundir_path(rundir));
    pid_t child = start_fake("-follow", "x", false);

    (void)state;
    assert_int_equal(nl_rundir_remove(&rundir, NULL), 0);
    assert_false(exists(path));
    end_fake(child);

    /* A daemon that outlives its starter, which is killed: the folder counts as left behind. */
    {
        int channel[2];
        char text[300] = "";
        pid_t owner;

        assert_int_equal(pipe(channel), 0);
        owner = fork();
        if (owner == 0) {
            struct nl_rundir *owned = create("daemon");
            cleanup_free char *word = nl_rundir_file(owned, "x");

            child = start_fake("-no-user-config", word, false);
            dprintf(channel[1], "%d %s", (int)child, nl_rundir_id(owned));
            close(channel[1]);
            pause();
        }
        close(channel[1]);
        assert_true(read(channel[0], text, sizeof(text) - 1) > 0);
        close(channel[0]);
        kill(owner, SIGKILL);
        waitpid(owner, NULL, 0);
        assert_false(nl_rundir_alive(strchr(text, ' ') + 1));
        assert_int_equal(kill(atoi(text), 0), 0);
        assert_int_equal(nl_rundir_collect(false, NULL, NULL), 0);
        assert_false(nl_rundir_alive(strchr(text, ' ') + 1));
        snprintf(text, sizeof(text), "%s", runs);
    }
}

#define CREATORS 20

static void test_creating_while_collecting(void **state)
{
    pid_t creators[CREATORS], collectors[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        collectors[i] = fork();
        if (collectors[i] == 0) {
            int rc = 0;

            for (int n = 0; n < 200 && rc == 0; n++)
                rc = nl_rundir_collect(false, NULL, NULL);
            _exit(rc < 0);
        }
    }
    for (int i = 0; i < CREATORS; i++) {
        creators[i] = fork();
        if (creators[i] == 0) {
            struct nl_rundir *rundir = NULL;
            cleanup_free char *file = NULL;

            if (nl_rundir_create("race", &rundir, NULL) < 0)
                _exit(1);
            file = nl_rundir_file(rundir, "file");
            write_file(nl_rundir_path(rundir), "file", "x");
            usleep(100000);
            if (!exists(file) || nl_rundir_save_state(rundir, json_object(), NULL) < 0)
                _exit(2);
            /* Half of them are killed, half go in order. */
            if (i % 2)
                kill(getpid(), SIGKILL);
            _exit(nl_rundir_remove(&rundir, NULL) < 0 ? 3 : 0);
        }
    }
    for (int i = 0; i < CREATORS; i++) {
        int status;

        waitpid(creators[i], &status, 0);
        if (i % 2)
            assert_true(WIFSIGNALED(status));
        else
            assert_int_equal(status, 0);
    }
    for (int i = 0; i < 2; i++) {
        int status;

        waitpid(collectors[i], &status, 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(nl_rundir_collect(false, NULL, NULL), 0);
    {
        cleanup_json json_t *all = list();

        assert_int_equal(json_array_size(all), 0);
    }
}

static void test_ids(void **state)
{
    static const char *const bad[] = {
        "",      ".",        "..",        "-beef",   ".a-beef", "a-BEEF",   "a-bee",
        "abeef", "a/b-beef", "../a-beef", "a-bee g", "a-beefx", "a\n-beef", "a-\xff\xff\xff\xff"};

    (void)state;
    assert_true(nl_runs_is_id("a-beef"));
    assert_true(nl_runs_is_id("nested-boot.x_1-0123"));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(nl_runs_is_id(bad[i]));
        assert_int_equal(nl_rundir_collect_one(bad[i], NULL), -1);
        assert_false(nl_rundir_alive(bad[i]));
    }
    assert_int_equal(nl_rundir_collect_one("a-beef", NULL), 0);
}

int main(int argc, char **argv)
{
#define WITH_RUNS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_RUNS(test_nothing_there),
        WITH_RUNS(test_life),
        WITH_RUNS(test_state_that_is_no_json),
        WITH_RUNS(test_names),
        WITH_RUNS(test_sockets_fit),
        WITH_RUNS(test_left_behind),
        WITH_RUNS(test_processes),
        WITH_RUNS(test_nothing_else_is_removed),
        WITH_RUNS(test_runs_must_be_ours),
        WITH_RUNS(test_other_spelling),
        WITH_RUNS(test_garbage_in_state),
        WITH_RUNS(test_lock_is_not_inherited),
        WITH_RUNS(test_creating_while_collecting),
        WITH_RUNS(test_ids),
    };

    if (argc == 3 && argv[1][0] == '-') {
        /* A fake: says that it runs, and waits. */
        if (write(0, "!", 1) != 1)
            return 1;
        close(0);
        alarm(60);
        pause();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
