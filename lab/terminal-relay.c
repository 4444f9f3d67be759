/*
 * terminal-relay.c - the terminal joined to a socket; see terminal.h.
 */
#include "terminal.h"
#include "deadline.h"
#include "protocol.h"
#include "shell-mark.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#define SEND_S 10.0
#define CTRL_D 0x04

struct relay {
    int fd;
    bool shell;
    bool terminal;
    bool input_ended;
    struct shell_mark mark; /* ... of the shell's end */
    int status;             /* its exit status */
};

static int send_in(struct relay *relay, const char *bytes, size_t length, struct nl_error **err)
{
    nl_deadline deadline = nl_deadline_in(SEND_S);

    while (length > 0) {
        struct pollfd fd = {.fd = relay->fd, .events = POLLOUT};
        ssize_t n = send(relay->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n > 0) {
            bytes += n;
            length -= (size_t)n;
        } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot send to the guest");
        } else if (nl_deadline_left_ms(deadline) == 0) {
            return nl_fail(err, NL_EXIT_LAB, "the guest does not take what is typed");
        } else {
            poll(&fd, 1, nl_deadline_left_ms(deadline));
        }
    }
    return 0;
}

static int send_header(struct relay *relay, struct nl_error **err)
{
    const char *term = getenv("TERM");
    cleanup_json json_t *header = NULL;
    cleanup_free char *text = NULL;
    cleanup_free char *line = NULL;
    int rows, columns;

    nl_terminal_size(&rows, &columns);
    header = json_pack("{s:i, s:i, s:s}", "rows", rows, "columns", columns, "term",
                       term ? term : "dumb");
    text = header ? json_dumps(header, JSON_COMPACT) : NULL;
    if (!text || asprintf(&line, "%s\n", text) < 0) {
        line = NULL;
        return nl_fail(err, NL_EXIT_REQUEST, "cannot describe this terminal: is TERM valid?");
    }
    return send_in(relay, line, strlen(line), err);
}

/* "end;3": the shell has ended. What a guest says that is no exit status is none. */
static bool take_mark(struct relay *relay, const char *words)
{
    int status, length = 0;

    if (sscanf(words, NL_PROTOCOL_SHELL_END "%n", &status, &length) != 1 || words[length])
        return false;
    relay->status = status >= 0 && status <= 255 ? status : 255;
    return true;
}

/* Print what came, up to the mark of the shell's end. 1: it came. */
static int show(struct relay *relay, const char *bytes, size_t length, struct nl_error **err)
{
    if (!relay->shell)
        return nl_terminal_write(STDOUT_FILENO, bytes, length, err);
    for (size_t i = 0; i < length; i++) {
        char plain[SHELL_MARK_MAX];
        size_t n;
        bool marked = shell_mark_take(&relay->mark, bytes[i], plain, &n);

        if (nl_terminal_write(STDOUT_FILENO, plain, n, err) < 0)
            return -1;
        if (marked && take_mark(relay, relay->mark.held))
            return 1;
    }
    return 0;
}

/* 1: the stream ended. */
static int from_guest(struct relay *relay, struct nl_error **err)
{
    char buffer[4096];
    ssize_t n = recv(relay->fd, buffer, sizeof(buffer), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n < 0 && errno != ECONNRESET)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "reading from the guest");
    if (n <= 0 && nl_terminal_write(STDOUT_FILENO, relay->mark.held, relay->mark.n, err) < 0)
        return -1;
    /* A shell that ends says with which status. */
    if (n <= 0 && relay->shell)
        return nl_fail(err, NL_EXIT_LAB, "the shell is gone: its layer ended, or its agent did");
    if (n <= 0)
        return 1;
    return show(relay, buffer, (size_t)n, err);
}

/* 1: the user left. */
static int from_user(struct relay *relay, struct nl_error **err)
{
    static const char end_of_file = CTRL_D;
    char buffer[1024];
    ssize_t n = read(STDIN_FILENO, buffer, sizeof(buffer));
    const char *leave;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        relay->input_ended = true;
        return relay->shell ? send_in(relay, &end_of_file, 1, err) : 1;
    }
    leave = relay->terminal ? memchr(buffer, NL_TERMINAL_LEAVE, (size_t)n) : NULL;
    if (send_in(relay, buffer, leave ? (size_t)(leave - buffer) : (size_t)n, err) < 0)
        return -1;
    return leave ? 1 : 0;
}

/* A console has no size that anybody could be told. */
static int resize(struct relay *relay, struct nl_error **err)
{
    char mark[SHELL_MARK_MAX];
    int rows, columns;
    eventfd_t count;

    if (eventfd_read(nl_terminal_resized_fd(), &count) < 0 || !relay->shell)
        return 0;
    nl_terminal_size(&rows, &columns);
    snprintf(mark, sizeof(mark), SHELL_MARK_BEGIN NL_PROTOCOL_SHELL_SIZE "%c", rows, columns,
             SHELL_MARK_END);
    return send_in(relay, mark, strlen(mark), err);
}

static int run(struct relay *relay, struct nl_error **err)
{
    for (;;) {
        struct pollfd fds[4] = {
            {.fd = relay->fd, .events = POLLIN},
            {.fd = relay->input_ended ? -1 : STDIN_FILENO, .events = POLLIN},
            {.fd = nl_interrupt_fd(), .events = POLLIN},
            {.fd = relay->terminal ? nl_terminal_resized_fd() : -1, .events = POLLIN},
        };
        int rc = 0;

        if (nl_interrupt_check(err) < 0)
            return -1;
        if (poll(fds, 4, -1) < 0 && errno != EINTR)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot wait");
        if (fds[0].revents)
            rc = from_guest(relay, err);
        if (rc != 0)
            return rc < 0 ? -1 : 0;
        if (fds[1].revents)
            rc = from_user(relay, err);
        if (rc == 0 && fds[3].revents)
            rc = resize(relay, err);
        if (rc != 0)
            return rc;
    }
}

static int run_raw(struct relay *relay, struct nl_error **err)
{
    cleanup_terminal bool raw = nl_terminal_raw(err) == 0;

    return raw ? run(relay, err) : -1;
}

int nl_terminal_relay(int fd, enum nl_relay kind, int *exit_status, struct nl_error **err)
{
    struct relay relay = {
        .fd = fd, .shell = kind == NL_RELAY_SHELL, .terminal = nl_terminal_present()};
    int rc;

    if (relay.shell && send_header(&relay, err) < 0)
        return -1;
    rc = run_raw(&relay, err);
    if (exit_status)
        *exit_status = relay.status;
    return rc;
}
