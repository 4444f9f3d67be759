/*
 * test-rundir-locks.c - a dead run's lock files are removed; nobody else's are.
 */
#include "rundir-locks.h"
#include "rundirs.h"

/* The number of a process that has ended. */
static pid_t ended(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    return pid;
}

static char *lock_path(const char *name)
{
    char *path = NULL;

    assert_true(asprintf(&path, "%s/%s", base, name) > 0);
    return path;
}

/* As libvirt writes it. */
static void lock(const char *name, pid_t owner)
{
    char text[32];

    snprintf(text, sizeof(text), "%10d\n", (int)owner);
    write_file(base, name, text);
}

static bool is_there(const char *name)
{
    cleanup_free char *path = lock_path(name);

    return exists(path);
}

static void test_of_the_dead(void **state)
{
    pid_t dead = ended();

    (void)state;
    lock("LCK.._pts_3", dead);
    lock("LCK.._tmp_runs_x-261130-beef_v_channel", dead);
    assert_int_equal(nl_rundir_locks(base, dead, false), 2);
    assert_true(is_there("LCK.._pts_3"));
    assert_int_equal(nl_rundir_locks(base, dead, true), 2);
    assert_false(is_there("LCK.._pts_3"));
    assert_false(is_there("LCK.._tmp_runs_x-261130-beef_v_channel"));
    assert_int_equal(nl_rundir_locks(base, dead, true), 0);
}

static void test_of_the_living(void **state)
{
    (void)state;
    lock("LCK.._pts_3", getpid());
    lock("LCK.._pts_4", 1);
    assert_int_equal(nl_rundir_locks(base, getpid(), true), 0);
    assert_int_equal(nl_rundir_locks(base, 1, true), 0);
    assert_int_equal(nl_rundir_locks(base, 0, true), 0);
    assert_int_equal(nl_rundir_locks(base, -1, true), 0);
    assert_true(is_there("LCK.._pts_3"));
    assert_true(is_there("LCK.._pts_4"));
}

static void test_of_others(void **state)
{
    pid_t dead = ended(), other = ended();
    cleanup_free char *real = lock_path("real");
    cleanup_free char *link = lock_path("LCK..link");
    cleanup_free char *fifo = lock_path("LCK..fifo");
    cleanup_free char *folder = lock_path("LCK..folder");
    char text[64];

    (void)state;
    assert_int_not_equal(dead, other);
    lock("LCK.._pts_5", other);
    lock("ttyS0.lock", dead);
    lock("real", dead);
    assert_int_equal(symlink(real, link), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    write_file(base, "LCK..empty", "");
    write_file(base, "LCK..word", "pid\n");
    snprintf(text, sizeof(text), "%10d x\n", (int)dead);
    write_file(base, "LCK..more", text);
    snprintf(text, sizeof(text), "%40d\n", (int)dead);
    write_file(base, "LCK..long", text);
    snprintf(text, sizeof(text), "%lld\n", (1LL << 32) + dead);
    write_file(base, "LCK..wide", text);
    assert_int_equal(nl_rundir_locks(base, dead, true), 0);
    assert_true(is_there("LCK.._pts_5") && is_there("ttyS0.lock") && is_there("LCK..link") &&
                is_there("LCK..more") && is_there("LCK..long") && is_there("LCK..wide"));
}

static void test_of_another_user(void **state)
{
    pid_t dead = ended();

    (void)state;
    /* skip() does not come back, so nothing may be owned before. */
    if (geteuid() != 0) {
        print_message("skipped: only root can give a lock file to another user\n");
        skip();
    }
    cleanup_free char *path = lock_path("LCK.._pts_6");
    lock("LCK.._pts_6", dead);
    assert_int_equal(chown(path, 12345, 12345), 0);
    assert_int_equal(nl_rundir_locks(base, dead, true), 0);
    assert_true(exists(path));
}

static void test_no_folder(void **state)
{
    cleanup_free char *nowhere = lock_path("nowhere");

    (void)state;
    assert_int_equal(nl_rundir_locks(nowhere, ended(), true), 0);
}

/* A run that saves its state, locks NAME as libvirt would, and is killed. */
static void die_with_lock(const char *name)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        struct nl_rundir *rundir = create("dead");
        char text[32];

        snprintf(text, sizeof(text), "%10d\n", (int)getpid());
        write_file(NL_RUNDIR_LOCKS, name, text);
        nl_rundir_save_state(rundir, json_pack("{s:i}", "pid", (int)getpid()), NULL);
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status));
}

/* In the very folder, under a name that no device has. */
static void test_collected_with_the_run(void **state)
{
    cleanup_json json_t *would = NULL;
    cleanup_json json_t *removed = NULL;
    char name[64], path[96];

    (void)state;
    if (access(NL_RUNDIR_LOCKS, W_OK) < 0) {
        print_message("skipped: there is no " NL_RUNDIR_LOCKS " to write into\n");
        skip();
    }
    snprintf(name, sizeof(name), "LCK..nestlab-test-%d", (int)getpid());
    snprintf(path, sizeof(path), NL_RUNDIR_LOCKS "/%s", name);
    die_with_lock(name);
    assert_true(exists(path));
    assert_int_equal(nl_rundir_collect(true, &would, NULL), 0);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(would, 0), "locks")), 1);
    assert_true(exists(path));
    assert_int_equal(nl_rundir_collect(false, &removed, NULL), 0);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(removed, 0), "locks")), 1);
    assert_false(exists(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_of_the_dead), IN_FOLDER(test_of_the_living),
        IN_FOLDER(test_of_others),   IN_FOLDER(test_of_another_user),
        IN_FOLDER(test_no_folder),   IN_FOLDER(test_collected_with_the_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
