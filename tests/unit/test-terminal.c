/*
 * test-terminal.c - raw mode, how it ends, and the relay, in children that have a pty.
 */
#include "deadline.h"
#include "shell-mark.h"
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
#define END(status) SHELL_MARK_BEGIN "end;" status "\a"

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
        int rc, status = 0;

        /* As sshd and others leave it: the test must not depend on who runs it. */
        for (int i = 1; i < 32; i++)
            signal(i, SIG_DFL);
        close(pair[0]);
        setenv("TERM", "vt100", 1);
        rc = nl_terminal_relay(pair[1], kind, &status, NULL);
        _exit(rc < 0 ? 99 : rc == 1 ? LEFT : status);
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
    put(child.guest, "login: " END("7") "+");
    /* To a console the end mark means nothing. */
    expect(child.pty, END("7") "+", seen);
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
    put(child.guest, END("3"));
    assert_int_equal(end(&child), 3);
}

/* The guest may say anything; only its word of an end is one. */
static void test_marks_of_the_guest(void **state)
{
    static const struct {
        const char *mark;
        int status;
    } known[] = {
        {END("0"), 0},    {END("255"), 255},         {END("256"), 255},
        {END("-1"), 255}, {END("99999999999"), 255},
    };
    static const char *const no_ends[] = {"end", "end;", "end;x", "end;3;4", "size;1;2", ""};

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        struct child child = start(NL_RELAY_SHELL);
        char seen[4096];

        expect(child.guest, "\n", seen);
        for (size_t k = 0; k < sizeof(no_ends) / sizeof(no_ends[0]); k++) {
            put(child.guest, SHELL_MARK_BEGIN);
            put(child.guest, no_ends[k]);
            put(child.guest, "\a");
        }
        put(child.guest, "shown");
        expect(child.pty, "shown", seen);
        assert_string_equal(seen, "shown");
        put(child.guest, known[i].mark);
        assert_int_equal(end(&child), known[i].status);
    }
}

static void test_window_size(void **state)
{
    struct winsize size = {.ws_row = 50, .ws_col = 132};
    struct child child = start(NL_RELAY_SHELL);
    char seen[4096];

    (void)state;
    expect(child.guest, "\n", seen);
    wait_for_mode(child.pty, true);
    assert_int_equal(ioctl(child.pty, TIOCSWINSZ, &size), 0);
    expect(child.guest, "\a", seen);
    assert_string_equal(seen, SHELL_MARK_BEGIN "size;50;132\a");
    put(child.guest, END("0"));
    assert_int_equal(end(&child), 0);
}

/* The end mark comes byte by byte, after starts of it that come to nothing. */
static void test_shell_end_in_pieces(void **state)
{
    static const char mark[] = END("5");
    struct child child = start(NL_RELAY_SHELL);
    char seen[4096];

    (void)state;
    expect(child.guest, "\n", seen);
    put(child.guest, "a\xff]nestlab;en\n");
    usleep(50 * 1000);
    put(child.guest, "Xb\xff");
    usleep(50 * 1000);
    put(child.guest, "\xff\033[31mc\xff]nestlab\xff]");
    for (size_t i = 0; i < sizeof(mark) - 1; i++) {
        assert_int_equal(write(child.guest, &mark[i], 1), 1);
        usleep(5 * 1000);
    }
    expect(child.pty, "nestlab\xff]", seen);
    assert_string_equal(seen, "a\xff]nestlab;en\nXb\xff\xff\033[31mc\xff]nestlab\xff]");
    wait_for_mode(child.pty, false);
    assert_int_equal(end(&child), 5);
}

static void test_held_bytes_are_shown_at_the_end(void **state)
{
    struct child child = start(NL_RELAY_SHELL);
    char seen[4096];

    (void)state;
    expect(child.guest, "\n", seen);
    put(child.guest, "x\xff]nest");
    shutdown(child.guest, SHUT_WR);
    expect(child.pty, "x\xff]nest", seen);
    /* No end was told: the shell went with its layer. */
    assert_int_equal(end(&child), 99);
}

/* A mark that has no end is no mark; what follows it is looked at anew. */
static void test_endless_mark(void **state)
{
    struct shell_mark mark = {0};
    char shown[512] = "";
    size_t used = 0, marks = 0;
    cleanup_free char *text = NULL;

    (void)state;
    assert_true(asprintf(&text, SHELL_MARK_BEGIN "%080d" END("1") "z", 7) > 0);
    for (const char *at = text; *at; at++) {
        size_t n;

        if (shell_mark_take(&mark, *at, shown + used, &n)) {
            assert_string_equal(mark.held, "end;1");
            marks++;
        }
        used += n;
    }
    assert_int_equal(marks, 1);
    assert_int_equal(used, strlen(text) - strlen(END("1")));
    assert_memory_equal(shown, text, used - 1);
    assert_int_equal(shown[used - 1], 'z');
}

/* As `nestlab shell L1 seq 1000000 | head -n 1`: no message, and no word of an error. */
static void test_reader_left(void **state)
{
    static char text[1 << 20]; /* more than a pipe holds */
    int out[2], status;
    pid_t pid;

    (void)state;
    memset(text, 'x', sizeof(text));
    assert_int_equal(pipe(out), 0);
    pid = fork();
    if (pid == 0) {
        signal(SIGPIPE, SIG_IGN);
        close(out[0]);
        _exit(nl_terminal_write(out[1], text, sizeof(text), NULL) < 0 ? 3 : 0);
    }
    close(out[1]);
    assert_int_equal(read(out[0], text, 1), 1);
    close(out[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGPIPE);
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
        _exit(nl_terminal_relay(pair[1], NL_RELAY_SHELL, NULL, NULL) == 0 ? 0 : 1);
    }
    close(in[0]);
    put(in[1], "ls\x1d\n"); /* no terminal: no key leaves */
    close(in[1]);
    expect(pair[0], "ls\x1d\n\x04", seen);
    put(pair[0], "bye" END("0"));
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
        cmocka_unit_test(test_marks_of_the_guest),
        cmocka_unit_test(test_window_size),
        cmocka_unit_test(test_shell_end_in_pieces),
        cmocka_unit_test(test_held_bytes_are_shown_at_the_end),
        cmocka_unit_test(test_endless_mark),
        cmocka_unit_test(test_reader_left),
        cmocka_unit_test(test_deadly_signals_restore),
        cmocka_unit_test(test_stop_and_continue),
        cmocka_unit_test(test_nothing_stays_behind),
        cmocka_unit_test(test_exit_restores),
        cmocka_unit_test(test_without_a_terminal),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
