/*
 * shell.c - see shell.h.
 */
#include "shell.h"

#include "port.h"
#include "protocol.h"
#include "shell-mark.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096
#define PORT_WAIT_MS 30000
#define PORT_RECHECK_MS 5000
#define END_DEADLINE_MS 5000
#define WINDOW_MAX 1000 /* rows or columns */

/* Bytes on their way in one direction. */
struct flow {
    char bytes[16384];
    size_t length;
};

struct terminal {
    struct agent_port port;
    int master;  /* -1: no shell */
    int signals; /* SIGCHLD */
    pid_t shell; /* 0: it has ended */
    int status;  /* ... with that, as waitpid() tells it */
    struct shell_mark typed;
    struct flow in, out;
};

/* {path, argv...}: the first that is there. */
static const char *const shells[][4] = {
    {"/bin/bash", "-bash", NULL},
    {"/bin/sh", "-sh", NULL},
    {"/bin/busybox", "sh", "-l", NULL},
};

int agent_shell_parse(const char *line, size_t length, struct winsize *window, char *term,
                      size_t size)
{
    static const struct {
        const char *key;
        json_int_t otherwise;
    } sides[] = {{"rows", 24}, {"columns", 80}};
    cleanup_json json_t *object = json_loadb(line, length, 0, NULL);
    unsigned short values[2];

    if (!json_is_object(object))
        return -1;
    for (size_t i = 0; i < 2; i++) {
        json_int_t n = json_integer_value(json_object_get(object, sides[i].key));
        values[i] = (unsigned short)(n >= 1 && n <= WINDOW_MAX ? n : sides[i].otherwise);
    }
    *window = (struct winsize){.ws_row = values[0], .ws_col = values[1]};
    const char *name = json_string_value(json_object_get(object, "term"));
    snprintf(term, size, "%s", name && *name && strlen(name) < size ? name : "vt100");
    return 0;
}

static void become_shell(const char *term)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setenv("TERM", term, 1);
    if (chdir("/root") < 0 && chdir("/") < 0)
        _exit(126);
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
        execv(shells[i][0], (char **)shells[i] + 1);
    dprintf(STDERR_FILENO, "nestlab-agent: no shell in this layer: %s\n", strerror(errno));
    _exit(127);
}

/* Wait until a host end is there, then for a line from it. -1: it went away. */
static int read_line(struct terminal *terminal, char *line, size_t size, size_t *length)
{
    size_t used = 0;

    while (used < size) {
        struct pollfd fd = {.fd = terminal->port.fd, .events = POLLIN};
        agent_port_arm(&terminal->port);
        if (!agent_port_connected(&terminal->port)) {
            fd.fd = terminal->port.edges;
            used = 0;
            poll(&fd, 1, PORT_RECHECK_MS);
            continue;
        }
        poll(&fd, 1, PORT_RECHECK_MS);
        ssize_t n = read(terminal->port.fd, line + used, 1);
        if (n == 0)
            return -1;
        if (n < 0)
            continue;
        if (line[used] == '\n') {
            *length = used;
            return 0;
        }
        used++;
    }
    return -1;
}

/* Move bytes; true if FROM is at its end. */
static bool take(int from, struct flow *flow)
{
    ssize_t n = read(from, flow->bytes + flow->length, sizeof(flow->bytes) - flow->length);

    if (n > 0)
        flow->length += (size_t)n;
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static void give(int to, struct flow *flow)
{
    ssize_t n = write(to, flow->bytes, flow->length);

    if (n <= 0)
        return;
    flow->length -= (size_t)n;
    memmove(flow->bytes, flow->bytes + n, flow->length);
}

/* "size;24;80": the window has changed. */
static void take_mark(struct terminal *terminal, const char *words)
{
    struct winsize window = {0};
    int rows, columns, length = 0;

    if (sscanf(words, NL_PROTOCOL_SHELL_SIZE "%n", &rows, &columns, &length) != 2 ||
        words[length] || rows < 1 || rows > WINDOW_MAX || columns < 1 || columns > WINDOW_MAX)
        return;
    window.ws_row = (unsigned short)rows;
    window.ws_col = (unsigned short)columns;
    ioctl(terminal->master, TIOCSWINSZ, &window);
}

static bool has_room(const struct flow *flow)
{
    return sizeof(flow->bytes) - flow->length > SHELL_MARK_MAX;
}

/* As take(), of what the user types: marks are taken out. */
static bool take_typed(struct terminal *terminal)
{
    struct flow *in = &terminal->in;
    char typed[sizeof(in->bytes)];
    size_t room = sizeof(in->bytes) - in->length - SHELL_MARK_MAX;
    ssize_t n = read(terminal->port.fd, typed, room);

    for (ssize_t i = 0; i < n; i++) {
        size_t length;
        if (shell_mark_take(&terminal->typed, typed[i], in->bytes + in->length, &length))
            take_mark(terminal, terminal->typed.held);
        in->length += length;
    }
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static void send_end(struct terminal *terminal)
{
    int64_t until = agent_now_ms() + END_DEADLINE_MS;
    char marker[SHELL_MARK_MAX];
    int status = WIFEXITED(terminal->status) ? WEXITSTATUS(terminal->status)
                                             : 128 + WTERMSIG(terminal->status);
    size_t left =
        (size_t)snprintf(marker, sizeof(marker), SHELL_MARK_BEGIN NL_PROTOCOL_SHELL_END "%c",
                         status, SHELL_MARK_END);

    while ((left > 0 || terminal->out.length > 0) && agent_now_ms() < until) {
        struct pollfd fd = {.fd = terminal->port.fd, .events = POLLOUT};
        size_t room = sizeof(terminal->out.bytes) - terminal->out.length;
        if (left > 0 && room >= left) {
            memcpy(terminal->out.bytes + terminal->out.length, marker, left);
            terminal->out.length += left;
            left = 0;
        }
        poll(&fd, 1, 100);
        if (fd.revents & POLLHUP)
            return;
        give(terminal->port.fd, &terminal->out);
    }
}

/* Join shell and port until the shell ends (true) or the host end goes away (false). */
static bool relay(struct terminal *terminal)
{
    struct flow *in = &terminal->in, *out = &terminal->out;

    for (bool ended = false;;) {
        bool room_in = has_room(in), room_out = out->length < sizeof(out->bytes);
        struct pollfd port = {.fd = terminal->port.fd,
                              .events =
                                  (short)((room_in ? POLLIN : 0) | (out->length ? POLLOUT : 0))};
        struct pollfd master = {.fd = terminal->master,
                                .events =
                                    (short)((room_out ? POLLIN : 0) | (in->length ? POLLOUT : 0))};
        struct pollfd fds[] = {port, master, {.fd = terminal->signals, .events = POLLIN}};

        if (poll(fds, 3, ended ? 0 : -1) < 0)
            continue;
        if (fds[0].revents & POLLHUP || (fds[0].revents & POLLIN && take_typed(terminal)))
            return false;
        bool more = fds[1].revents & POLLIN;
        if (more ? take(terminal->master, out) : (fds[1].revents & (POLLHUP | POLLERR)) != 0)
            return true;
        give(terminal->master, in);
        give(terminal->port.fd, out);
        /* Its last output is still in the terminal when it has ended; jobs it left behind may
           hold the terminal open for ever. */
        if (ended && !more)
            return true;
        struct signalfd_siginfo info;
        while (fds[2].revents && read(terminal->signals, &info, sizeof(info)) > 0)
            ended =
                waitpid(terminal->shell, &terminal->status, WNOHANG) == terminal->shell || ended;
        if (ended)
            terminal->shell = 0;
    }
}

static void end_shell(struct terminal *terminal)
{
    close(terminal->master);
    if (terminal->shell <= 0)
        return;
    kill(-terminal->shell, SIGHUP);
    for (int tries = 0; tries < 50; tries++) {
        if (waitpid(terminal->shell, &terminal->status, WNOHANG) != 0)
            return;
        usleep(10000);
    }
    kill(-terminal->shell, SIGKILL);
    waitpid(terminal->shell, &terminal->status, 0);
}

static void serve_one(struct terminal *terminal)
{
    char line[LINE_MAX_BYTES], term[64];
    struct winsize window;
    size_t length;

    if (read_line(terminal, line, sizeof(line), &length) < 0 ||
        agent_shell_parse(line, length, &window, term, sizeof(term)) < 0)
        return;
    terminal->in.length = terminal->out.length = terminal->typed.n = 0;
    terminal->status = 0;
    terminal->shell = forkpty(&terminal->master, NULL, NULL, &window);
    if (terminal->shell == 0)
        become_shell(term);
    if (terminal->shell < 0) {
        terminal->out.length = (size_t)snprintf(terminal->out.bytes, sizeof(terminal->out.bytes),
                                                "no terminal: %s\r\n", strerror(errno));
        terminal->status = 126 << 8; /* as a shell says that it cannot run something */
        send_end(terminal);
        return;
    }
    fcntl(terminal->master, F_SETFD, FD_CLOEXEC);
    fcntl(terminal->master, F_SETFL, O_NONBLOCK);
    bool ended = relay(terminal);
    end_shell(terminal);
    if (ended)
        send_end(terminal);
}

void agent_shell_serve(void)
{
    static struct terminal terminal = {.master = -1};
    int64_t until = agent_now_ms() + PORT_WAIT_MS;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    terminal.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    while (agent_port_open(&terminal.port, NL_PROTOCOL_SHELL_PORT) < 0) {
        if (agent_now_ms() >= until)
            return;
        usleep(200000);
    }
    for (;;)
        serve_one(&terminal);
}
