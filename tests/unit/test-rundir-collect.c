/*
 * test-rundir-collect.c - what killed owners leave behind is ended and removed, and nothing else.
 *
 * A process that stands for QEMU is this very program with libvirt's mark among its words.
 */
#include "rundirs.h"

#include <sys/prctl.h>

enum fake {
    PLAIN,  /* ends with this program */
    DEAF,   /* so does this, but not by SIGTERM */
    DAEMON, /* outlives it */
};

/* A process with the words of ARGV but argv[0], which is this program; it waits to be killed. */
static pid_t start_fake(const char *mark, const char *path, enum fake kind)
{
    char *words[] = {(char *)"/proc/self/exe", (char *)mark, (char *)path, NULL};
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        if (kind != DAEMON)
            prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (kind == DEAF)
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
    snprintf(folder, sizeof(folder), "%s/v", path);
    assert_int_equal(mkdir(folder, 0700), 0);
    write_file(folder, "big", "0123456789");
    all = list_runs();
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
    snprintf(word, sizeof(word), "socket,path=%s/v/monitor.sock,server=on", path);
    snprintf(longer, sizeof(longer), "%s0/x", path);
    snprintf(elsewhere, sizeof(elsewhere), "%s/x", other);
    snprintf(owned, sizeof(owned), "%s/x", nl_rundir_path(mine));
    guest = start_fake("-no-user-config", word, PLAIN);
    stubborn = start_fake("-no-user-config", word, DEAF);
    kill(stubborn, SIGSTOP);
    bystander = start_fake("-no-user-config", longer, PLAIN);
    neighbour = start_fake("-no-user-config", elsewhere, PLAIN);
    reader = start_fake("-follow", word, PLAIN);
    kept = start_fake("-no-user-config", owned, PLAIN);

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

static void test_other_spelling(void **state)
{
    cleanup_free char *path = abandoned("spelling");
    char link[100], other[120], word[300];
    pid_t guest;

    (void)state;
    snprintf(word, sizeof(word), "%s/x", path);
    guest = start_fake("-no-user-config", word, PLAIN);
    snprintf(link, sizeof(link), "%s/link", base);
    assert_int_equal(symlink(base, link), 0);
    snprintf(other, sizeof(other), "%s/./runs//", link);
    setenv("NESTLAB_RUNS", other, 1);
    assert_int_equal(nl_rundir_collect(false, NULL, NULL), 0);
    assert_false(is_running(guest));
    assert_false(exists(path));
}

static void test_lock_is_not_inherited(void **state)
{
    struct nl_rundir *rundir = create("fd");
    cleanup_free char *path = strdup(nl_rundir_path(rundir));
    pid_t child = start_fake("-follow", "x", PLAIN);

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

            child = start_fake("-no-user-config", word, DAEMON);
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
        cleanup_json json_t *all = list_runs();

        assert_int_equal(json_array_size(all), 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_left_behind),
        IN_FOLDER(test_processes),
        IN_FOLDER(test_nothing_else_is_removed),
        IN_FOLDER(test_other_spelling),
        IN_FOLDER(test_lock_is_not_inherited),
        IN_FOLDER(test_creating_while_collecting),
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
