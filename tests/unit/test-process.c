/*
 * test-process.c - running programs: output, failure, deadlines, and what happens to their
 * children.
 */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static char folder[] = "/tmp/nestlab-test-process-XXXXXX";
static char path[128];

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/file", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void its_output_is_captured(void **state)
{
    const char *argv[] = {"sh", "-c", "cat; echo $NL_TEST; echo noise >&2", NULL};
    const char *environment[] = {"NL_TEST=from the environment", NULL};
    struct nl_process process = {
        .argv = argv, .environment = environment, .input = "typed in\n", .output_limit = 100};
    cleanup_free char *output = NULL;

    (void)state;
    assert_int_equal(nl_process_run(&process, &output, NULL), 0);
    assert_string_equal(output, "typed in\nfrom the environment\n");
}

static void too_much_output_is_an_error(void **state)
{
    const char *argv[] = {"printf", "12345678901", NULL};
    struct nl_process process = {.argv = argv, .output_limit = 10};
    cleanup_error struct nl_error *err = NULL;
    char *output = NULL;

    (void)state;
    assert_int_equal(nl_process_run(&process, &output, &err), -1);
    assert_null(output);
    assert_non_null(strstr(nl_error_message(err), "10 bytes"));
}

static void a_failure_quotes_the_last_line(void **state)
{
    const char *argv[] = {"sh", "-c", "echo first >&2; echo why it failed >&2; exit 7", NULL};
    const char *missing[] = {"nestlab-no-such-program", NULL};
    struct nl_process process = {.argv = argv}, none = {.argv = missing};
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    assert_int_equal(nl_process_run(&process, NULL, &err), -1);
    assert_string_equal(nl_error_message(err), "sh exited with status 7: why it failed");
    nl_error_free(&err);
    assert_int_equal(nl_process_run(&none, NULL, &err), -1);
    assert_non_null(strstr(nl_error_message(err), "No such file"));
}

static void a_log_is_appended_to_and_named(void **state)
{
    const char *argv[] = {"sh", "-c", "echo out; echo err >&2; exit 1", NULL};
    struct nl_process process = {.argv = argv, .log = path};
    cleanup_error struct nl_error *err = NULL;
    struct stat st;

    (void)state;
    unlink(path);
    nl_process_run(&process, NULL, NULL);
    assert_int_equal(nl_process_run(&process, NULL, &err), -1);
    assert_non_null(strstr(nl_error_hint(err), path));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 2 * strlen("out\nerr\n"));
}

/* Does the process whose number stands in the file at PATH still run? Waits a little for its end.
 */
static bool written_process_lives(void)
{
    FILE *file = fopen(path, "re");
    int pid = 0;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &pid), 1);
    fclose(file);
    for (int i = 0; i < 100; i++) {
        if (kill(pid, 0) < 0 && errno == ESRCH)
            return false;
        usleep(20 * 1000);
    }
    return true;
}

static void after_its_deadline_all_of_it_is_gone(void **state)
{
    const char *argv[] = {"sh", "-c", "sleep 300 & echo $! >\"$0\"; wait", path, NULL};
    struct nl_process process = {.argv = argv, .timeout = 0.4};
    cleanup_error struct nl_error *err = NULL;
    int64_t before = nl_now_ms();

    (void)state;
    assert_int_equal(nl_process_run(&process, NULL, &err), -1);
    assert_in_range(nl_now_ms() - before, 300, 5000);
    assert_non_null(strstr(nl_error_message(err), "did not end"));
    assert_false(written_process_lives());
}

static void grace_lets_it_clean_up(void **state)
{
    const char *argv[] = {"sh", "-c", "trap 'echo cleaned >\"$0\"; exit' TERM; sleep 300 & wait",
                          path, NULL};
    struct nl_process process = {.argv = argv, .timeout = 0.4, .grace = 5};
    char text[16] = "";
    FILE *file;

    (void)state;
    unlink(path);
    assert_int_equal(nl_process_run(&process, NULL, NULL), -1);
    file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    assert_string_equal(text, "cleaned\n");
}

static void grace_has_an_end(void **state)
{
    const char *argv[] = {"sh", "-c", "trap '' TERM; echo $$ >\"$0\"; while :; do sleep 1; done",
                          path, NULL};
    struct nl_process process = {.argv = argv, .timeout = 0.4, .grace = 0.5};
    int64_t before = nl_now_ms();

    (void)state;
    assert_int_equal(nl_process_run(&process, NULL, NULL), -1);
    assert_in_range(nl_now_ms() - before, 800, 6000);
    assert_false(written_process_lives());
}

static void a_guard_ends_the_children_of_a_killed_runner(void **state)
{
    /* The child of the child does not die with the runner by itself. */
    const char *argv[] = {"sh", "-c", "sleep 300 & echo $! >\"$0.new\"; mv \"$0.new\" \"$0\"; wait",
                          path, NULL};
    struct nl_process process = {.argv = argv, .timeout = 300, .guard = true};
    pid_t runner;

    (void)state;
    unlink(path);
    runner = fork();
    assert_true(runner >= 0);
    if (runner == 0) {
        nl_process_run(&process, NULL, NULL);
        _exit(0);
    }
    for (int i = 0; i < 500 && access(path, F_OK) < 0; i++)
        usleep(20 * 1000);
    /* Time for the guard to be there: it comes after the child. */
    usleep(100 * 1000);
    kill(runner, SIGKILL);
    waitpid(runner, NULL, 0);
    assert_false(written_process_lives());
}

static void a_guard_does_no_harm(void **state)
{
    const char *argv[] = {"echo", "fine", NULL};
    struct nl_process process = {.argv = argv, .output_limit = 10, .guard = true};
    cleanup_free char *output = NULL;

    (void)state;
    assert_int_equal(nl_process_run(&process, &output, NULL), 0);
    assert_string_equal(output, "fine\n");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_output_is_captured),
        cmocka_unit_test(too_much_output_is_an_error),
        cmocka_unit_test(a_failure_quotes_the_last_line),
        cmocka_unit_test(a_log_is_appended_to_and_named),
        cmocka_unit_test(after_its_deadline_all_of_it_is_gone),
        cmocka_unit_test(grace_lets_it_clean_up),
        cmocka_unit_test(grace_has_an_end),
        cmocka_unit_test(a_guard_ends_the_children_of_a_killed_runner),
        cmocka_unit_test(a_guard_does_no_harm),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
