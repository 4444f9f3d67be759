/*
 * ssh-channel.c - commands over an SSH session; see ssh.h.
 */
#include "ssh-internal.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

#define WAIT_MS 100

void nl_ssh_channel_close(struct nl_ssh_channel **out)
{
    struct nl_ssh_channel *channel = *out;

    if (!channel)
        return;
    *out = NULL;
    pthread_mutex_lock(&channel->ssh->lock);
    if (channel->channel)
        ssh_channel_free(channel->channel);
    pthread_mutex_unlock(&channel->ssh->lock);
    nl_cleanup_closep(&channel->wake_fd);
    nl_ssh_unref(channel->ssh);
    free(channel);
}

int nl_ssh_channel_open(struct nl_ssh *ssh, nl_deadline deadline, struct nl_ssh_channel **out,
                        struct nl_error **err)
{
    struct nl_ssh_channel *channel = calloc(1, sizeof(*channel));
    int rc;

    if (!channel) {
        nl_fail(err, NL_EXIT_LAB, "out of memory");
        return -1;
    }
    channel->ssh = nl_ssh_ref(ssh);
    channel->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_lock(&ssh->lock);
    channel->channel = ssh_channel_new(ssh->session);
    pthread_mutex_unlock(&ssh->lock);
    if (channel->wake_fd < 0 || !channel->channel) {
        nl_ssh_channel_close(&channel);
        nl_fail(err, NL_EXIT_LAB, "cannot make an SSH channel");
        return -1;
    }
    rc = nl_ssh_step(ssh, ssh_channel_open_session(channel->channel), SSH_AGAIN, deadline,
                     "opening an SSH channel", err);
    if (rc == SSH_OK) {
        *out = channel;
        return 0;
    }
    if (rc != NL_SSH_LATE)
        nl_ssh_fail(ssh, err, "opening an SSH channel");
    nl_ssh_channel_close(&channel);
    return -1;
}

int nl_ssh_exec(struct nl_ssh *ssh, const char *command, nl_deadline deadline,
                struct nl_ssh_channel **out, struct nl_error **err)
{
    struct nl_ssh_channel *channel = NULL;
    int rc;

    if (nl_ssh_channel_open(ssh, deadline, &channel, err) < 0)
        return -1;
    rc = nl_ssh_step(ssh, ssh_channel_request_exec(channel->channel, command), SSH_AGAIN, deadline,
                     "starting a command over SSH", err);
    if (rc == SSH_OK) {
        *out = channel;
        return 0;
    }
    if (rc != NL_SSH_LATE)
        nl_ssh_fail(ssh, err, "starting a command over SSH");
    nl_ssh_channel_close(&channel);
    return -1;
}

/* Wait for the socket, for a stop, or for a while. */
static void idle(struct nl_ssh_channel *channel)
{
    struct pollfd fds[2] = {
        {.fd = channel->ssh->fd, .events = nl_ssh_poll_events(channel->ssh)},
        {.fd = channel->wake_fd, .events = POLLIN},
    };
    eventfd_t count;

    if (poll(fds, 2, WAIT_MS) > 0 && fds[1].revents && !atomic_load(&channel->stopped) &&
        eventfd_read(channel->wake_fd, &count) < 0)
        return;
}

/* One look, under the lock. 0: nothing there yet; SSH_EOF: the end. */
static int read_once(struct nl_ssh_channel *channel, char *buffer, size_t size)
{
    uint32_t want = size > INT32_MAX ? INT32_MAX : (uint32_t)size;
    char dropped[4096];
    int n;

    /* Left unread, standard error would fill the window and stop the command. */
    while (ssh_channel_read_nonblocking(channel->channel, dropped, sizeof(dropped), 1) > 0)
        ;
    n = ssh_channel_read_nonblocking(channel->channel, buffer, want, 0);
    if (n == 0 && ssh_channel_is_eof(channel->channel))
        return SSH_EOF;
    if (n == 0 && !ssh_is_connected(channel->ssh->session))
        return SSH_ERROR;
    return n == SSH_AGAIN ? 0 : n;
}

ssize_t nl_ssh_channel_read(struct nl_ssh_channel *channel, char *buffer, size_t size)
{
    while (!atomic_load(&channel->stopped)) {
        int n;

        pthread_mutex_lock(&channel->ssh->lock);
        n = read_once(channel, buffer, size);
        pthread_mutex_unlock(&channel->ssh->lock);
        if (n > 0)
            return n;
        if (n == SSH_EOF)
            return 0;
        if (n < 0)
            return -1;
        idle(channel);
    }
    return 0;
}

ssize_t nl_ssh_channel_write(struct nl_ssh_channel *channel, const char *bytes, size_t length)
{
    uint32_t take = length > 32768 ? 32768 : (uint32_t)length;

    while (!atomic_load(&channel->stopped)) {
        int n;

        pthread_mutex_lock(&channel->ssh->lock);
        n = ssh_channel_is_open(channel->channel) ? ssh_channel_write(channel->channel, bytes, take)
                                                  : SSH_ERROR;
        pthread_mutex_unlock(&channel->ssh->lock);
        /* Writing takes in what has arrived as well, and then the socket does not tell the reader.
         */
        eventfd_write(channel->wake_fd, 1);
        if (n > 0)
            return n;
        if (n < 0 && n != SSH_AGAIN)
            return -1;
        idle(channel);
    }
    return -1;
}

int nl_ssh_channel_end_input(struct nl_ssh_channel *channel, struct nl_error **err)
{
    int rc;

    pthread_mutex_lock(&channel->ssh->lock);
    rc = ssh_channel_send_eof(channel->channel);
    pthread_mutex_unlock(&channel->ssh->lock);
    return rc == SSH_ERROR ? nl_ssh_fail(channel->ssh, err, "ending a command's input") : 0;
}

void nl_ssh_channel_stop(struct nl_ssh_channel *channel)
{
    atomic_store(&channel->stopped, true);
    eventfd_write(channel->wake_fd, 1);
}

/* 1: known; 0: not yet; -1: there will be none. */
static int status_once(struct nl_ssh_channel *channel, int *status)
{
    *status = ssh_channel_get_exit_status(channel->channel);
    if (*status >= 0)
        return 1;
    return ssh_channel_is_closed(channel->channel) || !ssh_is_connected(channel->ssh->session) ? -1
                                                                                               : 0;
}

int nl_ssh_channel_status(struct nl_ssh_channel *channel, nl_deadline deadline, int *status,
                          struct nl_error **err)
{
    int rc = nl_ssh_step(channel->ssh, status_once(channel, status), 0, deadline,
                         "waiting for a command's exit status", err);

    if (rc == -1)
        return nl_fail(
            err, NL_EXIT_LAB,
            "a command over SSH ended without a status: killed, or the connection broke");
    return rc == NL_SSH_LATE ? -1 : 0;
}
