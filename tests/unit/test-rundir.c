/*
 * test-rundir.c - run folders: made, owned, listed; and the folder they are in.
 */
#include "rundirs.h"
#include "runs.h"

static void test_nothing_there(void **state)
{
    cleanup_json json_t *all = list_runs();
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
    assert_int_equal(strlen(nl_rundir_id(rundir)), strlen("nested-boot-YYMMDD-XXXX"));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat(runs, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_true(strlen(file) > 9 && strcmp(file + strlen(file) - 9, "/L1.qcow2") == 0);

    assert_int_equal(nl_rundir_save_state(rundir, json_pack("{s:i}", "a", 1), NULL), 0);
    assert_int_equal(nl_rundir_save_state(rundir, json_pack("{s:i}", "a", 2), NULL), 0);
    all = list_runs();
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
        /* As much as sockets leave room for here. */
        {"0123456789abcdefghijkl", "0123456789abcde-"},
        {"gr\xc3\xbc\xc3\x9f", "gr-"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct nl_rundir *rundir = create(cases[i].name);
        size_t n = strlen(cases[i].expected);

        assert_int_equal(strlen(nl_rundir_id(rundir)), n + strlen("YYMMDD-XXXX"));
        assert_int_equal(strncmp(nl_rundir_id(rundir), cases[i].expected, n), 0);
        assert_true(nl_runs_is_id(nl_rundir_id(rundir)));
        assert_int_equal(nl_rundir_remove(&rundir, NULL), 0);
    }
}

/* $NESTLAB_RUNS below the test's folder, LENGTH bytes long. */
static void set_long_runs(int length)
{
    char deep[128];

    snprintf(deep, sizeof(deep), "%s/%0*d", base, length - (int)strlen(base) - 1, 1);
    setenv("NESTLAB_RUNS", deep, 1);
}

/* The longest folder of runs that is taken at all must do, too. */
static void test_sockets_fit(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    struct nl_rundir *rundir = NULL;
    size_t longest = 0;
    int length = 60;

    (void)state;
    set_long_runs(length);
    assert_int_equal(nl_rundir_create("x", &rundir, &err), -1);
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
    assert_non_null(nl_error_hint(err));
    for (; length > 20; length--) {
        cleanup_free char *socket = NULL;

        set_long_runs(length);
        if (nl_rundir_create("0123456789abcdefghijklmnopqrstuvwxyz", &rundir, NULL) < 0)
            continue;
        socket =
            nl_rundir_file(rundir, NL_RUNDIR_LIBVIRT "/lib/qemu/channel/target/domain-1-nl-L0/%s",
                           "org.nestlab.agent");
        longest = strlen(socket) > longest ? strlen(socket) : longest;
        assert_int_equal(nl_rundir_remove(&rundir, NULL), 0);
    }
    assert_int_equal(longest, 107);
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
        all = list_runs();
        assert_int_equal(json_array_size(all), 1);
        assert_true(json_is_null(json_object_get(json_array_get(all, 0), "state")));
    }
    assert_int_equal(nl_rundir_remove(&rundir, NULL), 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_nothing_there),         IN_FOLDER(test_life),
        IN_FOLDER(test_state_that_is_no_json), IN_FOLDER(test_names),
        IN_FOLDER(test_sockets_fit),           IN_FOLDER(test_runs_must_be_ours),
        IN_FOLDER(test_garbage_in_state),      IN_FOLDER(test_ids),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
