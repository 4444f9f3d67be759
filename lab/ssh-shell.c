/*
 * ssh-shell.c - a shell or command over SSH, joined to this process's terminal; see ssh.h.
 */
#include "ssh-internal.h"
#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

#define START_S 30.0
#define WAIT_MS 200
#define STATUS_S 5.0

struct shell {
    struct nl_ssh *ssh;
    struct nl_ssh_channel *channel;
    bool terminal;
    bool input_ended;
    bool left;
    char typed[1024]; /* what the server has not taken yet */
    size_t n_typed;
};

static int start(struct shell *shell, const char *command, struct nl_error **err)
{
    nl_deadline deadline = nl_deadline_in(START_S);
    ssh_channel channel = shell->channel->channel;
    const char *term = getenv("TERM");
    int rows, columns;
    int rc = SSH_OK;

    nl_terminal_size(&rows, &columns);
    if (shell->terminal)
        rc = nl_ssh_step(shell->ssh,
                         ssh_channel_request_pty_size(channel, term ? term : "dumb", columns, rows),
                         SSH_AGAIN, deadline, "asking for a pty", err);
    if (rc == SSH_OK)
        rc = nl_ssh_step(shell->ssh,
                         command ? ssh_channel_request_exec(channel, command)
                                 : ssh_channel_request_shell(channel),
                         SSH_AGAIN, deadline, "starting a shell", err);
    if (rc == SSH_OK)
        return 0;
    return rc == NL_SSH_LATE ? -1 : nl_ssh_fail(shell->ssh, err, "starting a shell");
}

/* Pass on what has come on one of the two outputs. */
static int show(struct shell *shell, int is_stderr, struct nl_error **err)
{
    int fd = is_stderr ? STDERR_FILENO : STDOUT_FILENO;
    char buffer[8192];
    int n;

    for (;;) {
        pthread_mutex_lock(&shell->ssh->lock);
        n = ssh_channel_read_nonblocking(shell->channel->channel, buffer, sizeof(buffer),
                                         is_stderr);
        pthread_mutex_unlock(&shell->ssh->lock);
        if (n == SSH_ERROR)
            return nl_ssh_fail(shell->ssh, err, "reading from the shell");
        if (n <= 0)
            return 0;
        if (nl_terminal_write(fd, buffer, (size_t)n, err) < 0)
            return -1;
    }
}

static void read_typed(struct shell *shell)
{
    ssize_t n = read(STDIN_FILENO, shell->typed, sizeof(shell->typed));
    const char *leave;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        shell->input_ended = true;
        return;
    }
    leave = shell->terminal ? memchr(shell->typed, NL_TERMINAL_LEAVE, (size_t)n) : NULL;
    shell->left = leave != NULL;
    shell->n_typed = leave ? (size_t)(leave - shell->typed) : (size_t)n;
}

static int send_typed(struct shell *shell, struct nl_error **err)
{
    int n;

    if (shell->n_typed == 0)
        return 0;
    pthread_mutex_lock(&shell->ssh->lock);
    n = ssh_channel_write(shell->channel->channel, shell->typed, (uint32_t)shell->n_typed);
    pthread_mutex_unlock(&shell->ssh->lock);
    if (n == SSH_ERROR)
        return nl_ssh_fail(shell->ssh, err, "sending to the shell");
    if (n > 0) {
        shell->n_typed -= (size_t)n;
        memmove(shell->typed, shell->typed + n, shell->n_typed);
    }
    return 0;
}

static void resize(struct shell *shell)
{
    eventfd_t count;
    int rows, columns;

    if (eventfd_read(nl_terminal_resized_fd(), &count) < 0)
        return;
    nl_terminal_size(&rows, &columns);
    pthread_mutex_lock(&shell->ssh->lock);
    ssh_channel_change_pty_size(shell->channel->channel, columns, rows);
    pthread_mutex_unlock(&shell->ssh->lock);
}

static bool ended(struct shell *shell)
{
    ssh_channel channel = shell->channel->channel;
    bool over;

    pthread_mutex_lock(&shell->ssh->lock);
    over = ssh_channel_is_eof(channel) || ssh_channel_is_closed(channel) ||
           !ssh_is_connected(shell->ssh->session);
    pthread_mutex_unlock(&shell->ssh->lock);
    return over;
}

static int wait_for_something(struct shell *shell, struct nl_error **err)
{
    bool listen = shell->n_typed == 0 && !shell->input_ended;
    struct pollfd fds[4] = {
        {.fd = shell->ssh->fd, .events = nl_ssh_poll_events(shell->ssh)},
        {.fd = listen ? STDIN_FILENO : -1, .events = POLLIN},
        {.fd = shell->terminal ? nl_terminal_resized_fd() : -1, .events = POLLIN},
        {.fd = nl_interrupt_fd(), .events = POLLIN},
    };

    if (nl_interrupt_check(err) < 0)
        return -1;
    if (poll(fds, 4, WAIT_MS) < 0)
        return errno == EINTR ? 0 : nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot wait");
    if (fds[1].revents)
        read_typed(shell);
    if (fds[2].revents)
        resize(shell);
    if (shell->input_ended && fds[1].revents)
        return nl_ssh_channel_end_input(shell->channel, err);
    return 0;
}

static int run(struct shell *shell, struct nl_error **err)
{
    bool over;

    do {
        over = ended(shell); /* asked first: what came before the end is still shown */
        if (show(shell, 0, err) < 0 || show(shell, 1, err) < 0 || send_typed(shell, err) < 0)
            return -1;
        if (!over && !shell->left && wait_for_something(shell, err) < 0)
            return -1;
    } while (!over && !shell->left);
    return 0;
}

static int run_raw(struct shell *shell, struct nl_error **err)
{
    cleanup_terminal bool raw = nl_terminal_raw(err) == 0;

    return raw ? run(shell, err) : -1;
}

int nl_ssh_shell(struct nl_ssh *ssh, const char *command, int *exit_status, struct nl_error **err)
{
    struct shell shell = {.ssh = ssh, .terminal = nl_terminal_present()};
    int rc;

    if (nl_ssh_channel_open(ssh, nl_deadline_in(START_S), &shell.channel, err) < 0)
        return -1;
    rc = start(&shell, command, err);
    if (rc == 0)
        rc = run_raw(&shell, err);
    *exit_status = 0;
    if (rc == 0 && !shell.left &&
        nl_ssh_channel_status(shell.channel, nl_deadline_in(STATUS_S), exit_status, NULL) < 0)
        *exit_status = 255;
    nl_ssh_channel_close(&shell.channel);
    return rc;
}
