/*
 * test-cmd-demo.c - list, shell, console, down and gc, with keepers that hold stacks without
 * guests.
 */
#include "cmd.h"
#include "deadline.h"
#include "dig.h"
#include "fake-keeper.h"
#include "rundirs.h"

/* What a command printed and how it ended. */
struct outcome {
    int status;
    char *out;
    char *err;
};

static void free_outcome(struct outcome *outcome)
{
    free(outcome->out);
    free(outcome->err);
}
#define cleanup_outcome NL_CLEANUP(free_outcome)

typedef int command(int argc, char **argv);

static struct outcome run(command *function, const char *words)
{
    cleanup_free char *out = in_base("stdout");
    cleanup_free char *err = in_base("stderr");
    struct outcome outcome;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        cleanup_free char *copy = strdup(words);
        char *argv[20] = {(char *)"nestlab x"};
        int argc = 1;

        for (char *word = strtok(copy, " "); word && argc < 19; word = strtok(NULL, " "))
            argv[argc++] = word;
        if (!freopen(out, "w", stdout) || !freopen(err, "w", stderr) ||
            !freopen("/dev/null", "r", stdin))
            _exit(99);
        outcome.status = function(argc, argv);
        fflush(NULL);
        _exit(outcome.status);
    }
    outcome.status = end_of(pid);
    outcome.out = read_text(out);
    outcome.err = read_text(err);
    return outcome;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in \"%s\"", part, text);
}

static void test_nothing_up(void **state)
{
    cleanup_outcome struct outcome list = run(nl_cmd_list, "");
    cleanup_outcome struct outcome json = run(nl_cmd_list, "--json");
    cleanup_outcome struct outcome down = run(nl_cmd_down, "");
    cleanup_outcome struct outcome all = run(nl_cmd_down, "--all");
    cleanup_outcome struct outcome gc = run(nl_cmd_gc, "--dry-run");

    (void)state;
    assert_int_equal(list.status, 0);
    assert_string_equal(list.out, "no stack is up\n");
    assert_string_equal(json.out, "[]\n");
    assert_int_equal(down.status, NL_EXIT_REQUEST);
    assert_has(down.err, "nestlab up");
    assert_int_equal(all.status, 0);
    assert_string_equal(gc.out, "nothing to remove\n");
}

static void test_list(void **state)
{
    struct served served = serve();
    cleanup_outcome struct outcome list = run(nl_cmd_list, "");
    cleanup_outcome struct outcome json = run(nl_cmd_list, "--json");
    cleanup_outcome struct outcome down = {0};
    cleanup_json json_t *runs_list = json_loads(json.out, 0, NULL);

    (void)state;
    assert_has(list.out, served.id);
    assert_has(list.out, "kept, scenario fake, L0 emulated");
    assert_has(list.out, "ssh on port 60000");
    assert_has(list.out, "document, reports and logs: /the/out\n");
    /* The keeper knows better than the saved state. */
    assert_null(strstr(list.out, "L1   starting"));
    assert_has(list.out, "L1   up");
    assert_int_equal(json_array_size(runs_list), 1);
    assert_string_equal(nl_dig_string(json_array_get(runs_list, 0), "id", ""), served.id);

    down = run(nl_cmd_down, "");
    assert_int_equal(down.status, 0);
    assert_int_equal(end_of(served.pid), 10);
}

static void test_shell(void **state)
{
    struct served served = serve();
    cleanup_outcome struct outcome ran = run(nl_cmd_shell, "l1 uname -a --run x");
    cleanup_outcome struct outcome none = run(nl_cmd_shell, "L7");
    cleanup_outcome struct outcome other = run(nl_cmd_shell, "--run zzz L1 true");
    cleanup_outcome struct outcome print = run(nl_cmd_shell, "--print L0 echo it's");
    cleanup_outcome struct outcome dashes = run(nl_cmd_shell, "--print --run k L0 -- echo -p --");
    cleanup_outcome struct outcome no_sshd = run(nl_cmd_shell, "--print L1");
    cleanup_outcome struct outcome down = {0};

    (void)state;
    assert_int_equal(ran.status, 7);
    assert_string_equal(ran.out, "hello");
    assert_int_equal(none.status, NL_EXIT_REQUEST);
    assert_has(none.err, "its layers are L0, L1");
    assert_int_equal(other.status, NL_EXIT_REQUEST);
    assert_has(other.err, served.id);
    assert_int_equal(print.status, 0);
    assert_has(print.out, "'ssh' '-i' '/the key' ");
    assert_has(print.out, "'-p' '60000' 'root@127.0.0.1' ''\\''echo'\\'' ");
    assert_has(dashes.out, "'root@127.0.0.1' ''\\''echo'\\'' '\\''-p'\\'' '\\''--'\\'''\n");
    assert_int_equal(no_sshd.status, NL_EXIT_REQUEST);
    down = run(nl_cmd_down, served.id);
    assert_int_equal(down.status, 0);
    assert_int_equal(end_of(served.pid), 10);
}

static void test_console(void **state)
{
    struct served served = serve();
    cleanup_outcome struct outcome tail = {0};
    cleanup_outcome struct outcome none = run(nl_cmd_console, "L1");
    cleanup_outcome struct outcome down = {0};

    (void)state;
    write_file(base, "console", "one\ntwo\nthree\n");
    tail = run(nl_cmd_console, "--no-follow --lines 2 L0");
    assert_int_equal(tail.status, 0);
    assert_string_equal(tail.out, "two\nthree\n");
    assert_int_equal(none.status, NL_EXIT_REQUEST);
    down = run(nl_cmd_down, "--all");
    assert_int_equal(down.status, 0);
    assert_int_equal(end_of(served.pid), 10);
}

static void test_several_stacks(void **state)
{
    struct served one = serve();
    struct served two = serve();
    cleanup_outcome struct outcome down = run(nl_cmd_down, "");
    cleanup_outcome struct outcome all = {0};

    (void)state;
    assert_int_equal(down.status, NL_EXIT_REQUEST);
    assert_has(down.err, one.id);
    assert_has(down.err, two.id);
    all = run(nl_cmd_down, "--all");
    assert_int_equal(all.status, 0);
    assert_int_equal(end_of(one.pid), 10);
    assert_int_equal(end_of(two.pid), 10);
}

static void test_killed_keeper(void **state)
{
    struct served served = serve();
    cleanup_outcome struct outcome list = {0};
    cleanup_outcome struct outcome down = {0};
    cleanup_outcome struct outcome gc = {0};

    (void)state;
    kill(served.pid, SIGKILL);
    waitpid(served.pid, NULL, 0);
    list = run(nl_cmd_list, "");
    assert_int_equal(list.status, 0);
    assert_has(list.out, "left behind");
    down = run(nl_cmd_down, "");
    assert_int_equal(down.status, NL_EXIT_REQUEST);
    assert_has(down.err, "nestlab gc");
    gc = run(nl_cmd_gc, "--dry-run --json");
    assert_int_equal(gc.status, 0);
    assert_has(gc.out, served.id);
    assert_int_equal(access(served.path, F_OK), 0);
    assert_int_equal(nl_rundir_collect(false, NULL, NULL), 0);
    assert_int_equal(access(served.path, F_OK), -1);
}

/* A keeper that is stopped answers nothing: down says so in time, and --force ends it. */
static void test_stopped_keeper(void **state)
{
    struct served served = serve();
    cleanup_outcome struct outcome list = {0};
    cleanup_outcome struct outcome down = {0};
    cleanup_outcome struct outcome force = {0};
    int64_t start;
    int status;

    (void)state;
    kill(served.pid, SIGSTOP);
    start = nl_now_ms();
    list = run(nl_cmd_list, "");
    assert_true(nl_now_ms() - start < 6000);
    assert_has(list.out, "does not answer");
    down = run(nl_cmd_down, "");
    assert_int_equal(down.status, NL_EXIT_LAB);
    assert_has(down.err, "--force");
    force = run(nl_cmd_down, "--force");
    assert_int_equal(force.status, 0);
    assert_int_equal(waitpid(served.pid, &status, 0), served.pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(access(served.path, F_OK), -1);
}

/* A run that is not kept is only ended by force. */
static void test_run_in_progress(void **state)
{
    cleanup_outcome struct outcome list = {0};
    cleanup_outcome struct outcome down = {0};
    cleanup_outcome struct outcome force = {0};
    pid_t pid;
    int status;

    (void)state;
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        struct nl_rundir *rundir = NULL;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (nl_rundir_create("progress", &rundir, NULL) < 0)
            _exit(1);
        nl_rundir_save_state(rundir,
                             json_pack("{s:s, s:s, s:i, s:b}", "status", "starting", "phase", "L1",
                                       "pid", (int)getpid(), "kept", 0),
                             NULL);
        pause();
        _exit(0);
    }
    for (int i = 0; i < 1000; i++) {
        cleanup_json json_t *all = list_runs();

        if (nl_dig(json_array_get(all, 0), "state"))
            break;
        usleep(10000);
    }
    list = run(nl_cmd_list, "");
    assert_has(list.out, "starting L1");
    down = run(nl_cmd_down, "progress");
    assert_int_equal(down.status, NL_EXIT_REQUEST);
    assert_has(down.err, "--force");
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    force = run(nl_cmd_down, "--force progress");
    assert_int_equal(force.status, 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_nothing_up),     IN_FOLDER(test_list),
        IN_FOLDER(test_shell),          IN_FOLDER(test_console),
        IN_FOLDER(test_several_stacks), IN_FOLDER(test_killed_keeper),
        IN_FOLDER(test_stopped_keeper), IN_FOLDER(test_run_in_progress),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
