/*
 * test-terminal.c - raw mode, how it ends, and the relay, in children that have a pty.
 */
#include "deadline.h"
#include "protocol.h"
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <cmocka.h>

#define LEFT 11

/* A child that relays between its pty and a socket. */
struct child {
    pid_t pid;
    int pty;   /* the terminal, from outside */
    int guest; /* the other side of the relay */
};

static struct child start(enum nl_relay kind)
{
    struct winsize size = {.ws_row = 31, .ws_col = 71};
    struct child child;
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    child.guest = pair[0];
    child.pid = forkpty(&child.pty, NULL, NULL, &size);
    assert_true(child.pid >= 0);
    if (child.pid == 0) {
        int rc;

        /* As sshd and others leave it: the test must not depend on who runs it. */
        for (int i = 1; i < 32; i++)
            signal(i, SIG_DFL);
        close(pair[0]);
        setenv("TERM", "vt100", 1);
        rc = nl_terminal_relay(pair[1], kind, NULL);
        _exit(rc < 0 ? 99 : rc == 1 ? LEFT : 0);
    }
    close(pair[1]);
    return child;
}

static int end(struct child *child)
{
    int status;

    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    close(child->guest);
    close(child->pty);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static bool is_raw(int pty)
{
    struct termios mode;

    assert_int_equal(tcgetattr(pty, &mode), 0);
    return !(mode.c_lflag & (ECHO | ICANON | ISIG));
}

static void wait_for_mode(int pty, bool raw)
{
    for (int i = 0; i < 500 && is_raw(pty) != raw; i++)
        usleep(10 * 1000);
    assert_int_equal(is_raw(pty), raw);
}

/* Read until TEXT has come; what came is the caller's to look at. */
static void expect(int fd, const char *text, char seen[static 4096])
{
    nl_deadline deadline = nl_deadline_in(10);
    size_t n = 0;

    seen[0] = '\0';
    while (!strstr(seen, text)) {
        ssize_t got = -1;

        if (n < 4095 && nl_wait_readable(fd, deadline, NULL) == 1)
            got = read(fd, seen + n, 4095 - n);
        if (got <= 0)
            fail_msg("\"%s\" did not come, but \"%s\"", text, seen);
        n += (size_t)got;
        seen[n] = '\0';
    }
}

static void put(int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void test_console_both_ways(void **state)
{
    struct child child = start(NL_RELAY_CONSOLE);
    char seen[4096];

    (void)state;
    put(child.guest, "login: " NL_PROTOCOL_SHELL_END "+");
    /* To a console the end mark means nothing. */
    expect(child.pty, NL_PROTOCOL_SHELL_END "+", seen);
    assert_true(is_raw(child.pty));
    put(child.pty, "root\r\x03");
    expect(child.guest, "root\r\x03", seen);
    shutdown(child.guest, SHUT_WR);
    wait_for_mode(child.pty, false);
    assert_int_equal(end(&child), 0);
}

static void test_leave_key(void **state)
{
    struct child child = start(NL_RELAY_CONSOLE);
    char seen[4096];

    (void)state;
    wait_for_mode(child.pty, true);
    put(child.pty, "last\x1dnot this");
    expect(child.guest, "last", seen);
    assert_string_equal(seen, "last");
    wait_for_mode(child.pty, false);
    assert_int_equal(read(child.guest, seen, sizeof(seen)), 0);
    assert_int_equal(end(&child), LEFT);
}

static void test_shell_header(void **state)
{
    struct child child = start(NL_RELAY_SHELL);
    cleanup_json json_t *header = NULL;
    char seen[4096];

    (void)state;
    expect(child.guest, "\n", seen);
    header = json_loads(seen, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(header, "rows")), 31);
    assert_int_equal(json_integer_value(json_object_get(header, "columns")), 71);
    assert_string_equal(json_string_value(json_object_get(header, "term")), "vt100");
    put(child.guest, NL_PROTOCOL_SHELL_END);
    assert_int_equal(end(&child), 0);
}

/* The end mark comes byte by byte, after starts of it that come to nothing. */
static void test_shell_end_in_pieces(void **state)
{
    static const char mark[] = NL_PROTOCOL_SHELL_END;
    struct child child = start(NL_RELAY_SHELL);
    char seen[4096];

    (void)state;
    expect(child.guest, "\n", seen);
    put(child.guest, "a\033]nestlab;en");
    usleep(50 * 1000);
    put(child.guest, "Xb\033");
    usleep(50 * 1000);
    put(child.guest, "\033[31mc\033]nestlab;\033]");
    for (size_t i = 0; i < sizeof(mark) - 1; i++) {
        assert_int_equal(write(child.guest, &mark[i], 1), 1);
        usleep(5 * 1000);
    }
    expect(child.pty, "c\033]nestlab;\033]", seen);
    assert_string_equal(seen, "a\033]nestlab;enXb\033\033[31mc\033]nestlab;\033]");
    wait_for_mode(child.pty, false);
    assert_int_equal(end(&child), 0);
}

static void test_held_bytes_are_shown_at_the_end(void **state)
{
    struct child child = start(NL_RELAY_SHELL);
    char seen[4096];

    (void)state;
    expect(child.guest, "\n", seen);
    put(child.guest, "x\033]nest");
    shutdown(child.guest, SHUT_WR);
    expect(child.pty, "x\033]nest", seen);
    assert_int_equal(end(&child), 0);
}

static void test_deadly_signals_restore(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV};

    (void)state;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct child child = start(NL_RELAY_CONSOLE);

        wait_for_mode(child.pty, true);
        kill(child.pid, signals[i]);
        wait_for_mode(child.pty, false);
        assert_int_equal(end(&child), 1000 + signals[i]);
    }
}

static void test_stop_and_continue(void **state)
{
    struct child child = start(NL_RELAY_CONSOLE);
    int status;

    (void)state;
    wait_for_mode(child.pty, true);
    kill(child.pid, SIGTSTP);
    assert_int_equal(waitpid(child.pid, &status, WUNTRACED), child.pid);
    assert_true(WIFSTOPPED(status));
    assert_false(is_raw(child.pty));
    kill(child.pid, SIGCONT);
    wait_for_mode(child.pty, true);
    put(child.pty, "\x1d");
    assert_int_equal(end(&child), LEFT);
}

/* Signals and mode are as before once raw mode was left, and the size falls back. */
static void test_nothing_stays_behind(void **state)
{
    int pty;
    pid_t pid = forkpty(&pty, NULL, NULL, NULL);
    int status;

    (void)state;
    if (pid == 0) {
        struct sigaction action;
        bool ok = true;
        int rows, columns;

        signal(SIGTERM, SIG_DFL);
        signal(SIGUSR1, SIG_IGN);
        nl_terminal_size(&rows, &columns);
        ok = ok && rows == 24 && columns == 80;
        for (int i = 0; i < 2; i++) {
            ok = ok && nl_terminal_raw(NULL) == 0 && is_raw(STDIN_FILENO);
            nl_terminal_restore();
            ok = ok && !is_raw(STDIN_FILENO);
        }
        sigaction(SIGTERM, NULL, &action);
        ok = ok && action.sa_handler == SIG_DFL;
        sigaction(SIGUSR1, NULL, &action);
        ok = ok && action.sa_handler == SIG_IGN;
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(pty);
}

static void test_exit_restores(void **state)
{
    int pty;
    pid_t pid = forkpty(&pty, NULL, NULL, NULL);
    int status;

    (void)state;
    if (pid == 0) {
        nl_terminal_raw(NULL);
        usleep(200 * 1000);
        exit(is_raw(STDIN_FILENO) ? 0 : 1);
    }
    wait_for_mode(pty, true);
    wait_for_mode(pty, false);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(pty);
}

/* From a pipe: the shell is told of the end of input, and its last words still arrive. */
static void test_without_a_terminal(void **state)
{
    int pair[2], in[2], out[2];
    char seen[4096];
    int status;
    pid_t pid;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[1]);
        _exit(nl_terminal_relay(pair[1], NL_RELAY_SHELL, NULL) == 0 ? 0 : 1);
    }
    close(in[0]);
    put(in[1], "ls\x1d\n"); /* no terminal: no key leaves */
    close(in[1]);
    expect(pair[0], "ls\x1d\n\x04", seen);
    put(pair[0], "bye" NL_PROTOCOL_SHELL_END);
    expect(out[0], "bye", seen);
    assert_string_equal(seen, "bye");
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(out[0]);
    close(out[1]);
    close(pair[0]);
    close(pair[1]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_console_both_ways),
        cmocka_unit_test(test_leave_key),
        cmocka_unit_test(test_shell_header),
        cmocka_unit_test(test_shell_end_in_pieces),
        cmocka_unit_test(test_held_bytes_are_shown_at_the_end),
        cmocka_unit_test(test_deadly_signals_restore),
        cmocka_unit_test(test_stop_and_continue),
        cmocka_unit_test(test_nothing_stays_behind),
        cmocka_unit_test(test_exit_restores),
        cmocka_unit_test(test_without_a_terminal),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
