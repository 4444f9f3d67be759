/*
 * test-follow.c - looking at a console's file.
 */
#include "follow.h"
#include "deadline.h"
#include "rundirs.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* What nl_follow_open() prints for LINES lines of TEXT. */
static char *printed(const char *text, int lines)
{
    cleanup_free char *file = in_base("console");
    cleanup_free char *out = in_base("out");
    pid_t pid;

    write_file(base, "console", text);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        int fd = -1;

        if (!freopen(out, "w", stdout))
            _exit(1);
        _exit(nl_follow_open(file, lines, &fd, NULL) < 0 || fd < 0);
    }
    assert_int_equal(end_of(pid), 0);
    return read_text(out);
}

static void test_last_lines(void **state)
{
    static const struct {
        const char *text;
        int lines;
        const char *expected;
    } cases[] = {
        {"", 5, ""},
        {"a\nb\nc\n", 2, "b\nc\n"},
        {"a\nb\nc", 2, "b\nc"},
        {"a\nb\nc\n", 1, "c\n"},
        {"a\nb\nc\n", 3, "a\nb\nc\n"},
        {"a\nb\nc\n", 100, "a\nb\nc\n"},
        {"a\nb\n", 0, ""},
        {"\n\n\n", 2, "\n\n"},
        {"x\r\n\x1b[31mred\x1b[0m \xff\n", 5, "x\nred \\xff\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_free char *text = printed(cases[i].text, cases[i].lines);

        assert_string_equal(text, cases[i].expected);
    }
}

static void test_no_file(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    int fd = -1;

    (void)state;
    assert_int_equal(nl_follow_open("/nonexistent/console", 1, &fd, &err), -1);
    nl_error_free(&err);
    assert_int_equal(nl_follow_open("/tmp", 1, &fd, &err), -1);
    assert_int_equal(fd, -1);
}

static void append(const char *name, const char *text)
{
    cleanup_free char *path = in_base(name);
    FILE *file = fopen(path, "a");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static bool has_ended(void *data)
{
    return !nl_rundir_alive(data);
}

/* The follower, in a process of its own; its standard streams are the given ones. */
static pid_t start_follower(const char *id, int in, int out, bool terminal, int keeper)
{
    cleanup_free char *file = in_base("console");
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        struct nl_follow follow = {.fd = -1, .ended = has_ended, .data = (void *)id};
        int rc;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(in, 0);
        dup2(out, 1);
        if (nl_interrupt_catch(NULL) < 0 || nl_follow_open(file, 1, &follow.fd, NULL) < 0)
            _exit(90);
        rc = terminal ? nl_follow_terminal(&follow, keeper, NULL) : nl_follow_plain(&follow, NULL);
        _exit(rc < 0 ? 91 : rc);
    }
    return pid;
}

/* Read from FD until TEXT came. */
static void expect(int fd, const char *text)
{
    nl_deadline deadline = nl_deadline_in(10);
    char seen[4096] = "";
    size_t n = 0;

    while (!strstr(seen, text)) {
        ssize_t got;

        if (nl_wait_readable(fd, deadline, NULL) != 1)
            fail_msg("no \"%s\" in \"%s\"", text, seen);
        got = read(fd, seen + n, sizeof(seen) - 1 - n);
        assert_true(got > 0);
        n += (size_t)got;
        seen[n] = '\0';
    }
}

static void test_follow_until_gone(void **state)
{
    struct nl_rundir *rundir = create("follow");
    int out[2];
    pid_t pid;

    (void)state;
    write_file(base, "console", "one\ntwo\n");
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid = start_follower(nl_rundir_id(rundir), 0, out[1], false, -1);
    close(out[1]);
    expect(out[0], "two\n");
    append("console", "three\n");
    expect(out[0], "three\n");
    append("console", "last words");
    assert_int_equal(nl_rundir_remove(&rundir, NULL), 0);
    expect(out[0], "last words");
    assert_int_equal(end_of(pid), 0);
    close(out[0]);
}

static void test_interrupt(void **state)
{
    struct nl_rundir *rundir = create("follow");
    int out[2];
    pid_t pid;

    (void)state;
    write_file(base, "console", "one\n");
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid = start_follower(nl_rundir_id(rundir), 0, out[1], false, -1);
    expect(out[0], "one\n");
    kill(pid, SIGINT);
    assert_int_equal(end_of(pid), 91);
    close(out[0]);
    close(out[1]);
    assert_int_equal(nl_rundir_remove(&rundir, NULL), 0);
}

/* On a terminal: what comes is shown, what is typed goes to the keeper, Ctrl-] leaves. */
static void test_terminal(void **state)
{
    struct nl_rundir *rundir = create("follow");
    int typed[2];
    int master, slave;
    pid_t pid;

    (void)state;
    write_file(base, "console", "one\n");
    assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, typed), 0);
    pid = start_follower(nl_rundir_id(rundir), slave, slave, true, typed[1]);
    expect(master, "one");
    append("console", "two\n");
    expect(master, "two");
    assert_int_equal(write(master, "help\r", 5), 5);
    expect(typed[0], "help\r");
    assert_int_equal(write(master, "\x1d", 1), 1);
    assert_int_equal(end_of(pid), 1);
    close(master);
    close(slave);
    close(typed[0]);
    close(typed[1]);
    assert_int_equal(nl_rundir_remove(&rundir, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_last_lines), IN_FOLDER(test_no_file),  IN_FOLDER(test_follow_until_gone),
        IN_FOLDER(test_interrupt),  IN_FOLDER(test_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
