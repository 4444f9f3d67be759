/*
 * test-keeper-fork.c - becoming a keeper, and the command that waits for it.
 */
#include "keeper.h"
#include "folder.h"

#include <fcntl.h>
#include <sys/resource.h>

/* Is PID gone within some seconds? It is no child of ours. */
static bool ends(pid_t pid)
{
    for (int i = 0; i < 500; i++) {
        if (kill(pid, 0) < 0)
            return true;
        usleep(10000);
    }
    return false;
}

enum keeper_does {
    RELEASE,     /* release the command with status 1, then write to standard output */
    EXIT_EARLY,  /* end before */
    DIE,         /* be killed before */
    WAIT_SIGNAL, /* wait for an interrupt, then exit */
    IGNORE_ALL,  /* wait, deaf */
};

static void keeper_part(enum keeper_does what, const char *log)
{
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *pid_file = in_base("pid");
    FILE *file;

    if (nl_interrupt_catch(NULL) < 0)
        _exit(99);
    file = fopen(pid_file, "w");
    fprintf(file, "%d %d", (int)getpid(), (int)getsid(0));
    fclose(file);
    printf("before\n");
    fflush(stdout);
    switch (what) {
    case RELEASE:
        if (nl_keeper_released(1, log, &err) < 0)
            _exit(98);
        printf("after\n");
        fflush(stdout);
        nl_sleep(20, NULL);
        _exit(0);
    case EXIT_EARLY:
        _exit(3);
    case DIE:
        raise(SIGKILL);
        break;
    case WAIT_SIGNAL:
        _exit(nl_sleep(20, NULL) < 0 ? NL_EXIT_INTERRUPTED : 97);
    case IGNORE_ALL:
        for (int i = 0; i < 20; i++)
            sleep(1);
        _exit(96);
    }
}

/* The user's command, in a process of its own; its standard output is a file. */
static pid_t start_command(enum keeper_does what)
{
    cleanup_free char *out = in_base("out");
    cleanup_free char *log = in_base("log");
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        cleanup_error struct nl_error *err = NULL;
        bool in_keeper = false;
        int status = 77;
        int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        dup2(fd, 1);
        dup2(fd, 2);
        if (nl_keeper_fork(&in_keeper, &status, &err) < 0)
            nl_error_print(err);
        if (in_keeper)
            keeper_part(what, log);
        _exit(status);
    }
    return pid;
}

static pid_t keeper_pid(pid_t *session)
{
    cleanup_free char *path = in_base("pid");
    int pid = 0, sid = 0;

    for (int i = 0; i < 500; i++) {
        cleanup_free char *text = read_text(path);

        if (sscanf(text, "%d %d", &pid, &sid) == 2)
            break;
        usleep(10000);
    }
    if (session)
        *session = sid;
    assert_true(pid > 0);
    return pid;
}

static void test_release(void **state)
{
    cleanup_free char *out = in_base("out");
    cleanup_free char *log = in_base("log");
    cleanup_free char *said = NULL;
    pid_t keeper, session;

    (void)state;
    assert_int_equal(end_of(start_command(RELEASE)), 1);
    keeper = keeper_pid(&session);
    assert_int_equal(session, keeper);
    assert_int_equal(kill(keeper, 0), 0);
    for (int i = 0; i < 500; i++) {
        free(said);
        said = read_text(log);
        if (said[0])
            break;
        usleep(10000);
    }
    assert_string_equal(said, "after\n");
    free(said);
    said = read_text(out);
    assert_string_equal(said, "before\n");
    kill(keeper, SIGTERM);
    assert_true(ends(keeper));
}

static void test_early_end(void **state)
{
    (void)state;
    assert_int_equal(end_of(start_command(EXIT_EARLY)), 3);
}

static void test_death(void **state)
{
    cleanup_free char *out = in_base("out");
    cleanup_free char *said = NULL;

    (void)state;
    assert_int_equal(end_of(start_command(DIE)), NL_EXIT_LAB);
    said = read_text(out);
    assert_non_null(strstr(said, "killed by signal 9"));
    assert_non_null(strstr(said, "nestlab gc"));
}

static void test_signals_are_passed_on(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        cleanup_free char *pid_file = in_base("pid");
        pid_t command;

        unlink(pid_file);
        command = start_command(WAIT_SIGNAL);
        keeper_pid(NULL);
        kill(command, signals[i]);
        assert_int_equal(end_of(command), NL_EXIT_INTERRUPTED);
    }
}

static void test_killed_command_interrupts_the_keeper(void **state)
{
    pid_t command = start_command(WAIT_SIGNAL);
    pid_t keeper = keeper_pid(NULL);

    (void)state;
    kill(command, SIGKILL);
    waitpid(command, NULL, 0);
    assert_true(ends(keeper));
}

static void test_waiting_costs_nothing(void **state)
{
    pid_t command = start_command(IGNORE_ALL);
    pid_t keeper = keeper_pid(NULL);
    struct rusage usage;
    double cpu;

    (void)state;
    kill(command, SIGINT);
    usleep(700000);
    /* Still waiting for the keeper, without spinning. */
    assert_int_equal(waitpid(command, NULL, WNOHANG), 0);
    kill(keeper, SIGKILL);
    assert_int_equal(wait4(command, NULL, 0, &usage), command);
    cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
          (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    assert_true(cpu < 0.2);
}

static void test_release_without_a_keeper(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *log = in_base("log");

    (void)state;
    assert_int_equal(nl_keeper_released(0, log, &err), -1);
    assert_non_null(strstr(nl_error_message(err), "no keeper"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_release),
        IN_FOLDER(test_early_end),
        IN_FOLDER(test_death),
        IN_FOLDER(test_signals_are_passed_on),
        IN_FOLDER(test_killed_command_interrupts_the_keeper),
        IN_FOLDER(test_waiting_costs_nothing),
        IN_FOLDER(test_release_without_a_keeper),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
