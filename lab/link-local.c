/*
 * link-local.c - the carrier over a local process: the agent of a layer that is this machine.
 */
#include "link-internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* How long the agent may take to end after its stream was closed, before it is killed. */
#define END_S 1.0

struct local_carrier {
    struct nl_carrier carrier;
    pid_t pid;
    int pidfd;
    int fd;
    int stop_fd;
};

/* Wait until the socket is ready for EVENTS. False: stopped. */
static bool ready(struct local_carrier *self, short events)
{
    struct pollfd fds[2] = {{.fd = self->fd, .events = events},
                            {.fd = self->stop_fd, .events = POLLIN}};

    while (poll(fds, 2, -1) < 0)
        if (errno != EINTR)
            return false;
    return !fds[1].revents;
}

static ssize_t local_read(struct nl_carrier *carrier, char *buffer, size_t size,
                          struct nl_error **err)
{
    struct local_carrier *self = (struct local_carrier *)carrier;

    while (ready(self, POLLIN)) {
        ssize_t n = recv(self->fd, buffer, size, MSG_DONTWAIT);

        if (n >= 0)
            return n;
        /* A process that dies with unread input resets the socket. */
        if (errno == ECONNRESET)
            return 0;
        if (errno != EAGAIN && errno != EINTR)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "reading");
    }
    return 0;
}

static ssize_t local_write(struct nl_carrier *carrier, const char *bytes, size_t length,
                           struct nl_error **err)
{
    struct local_carrier *self = (struct local_carrier *)carrier;

    while (ready(self, POLLOUT)) {
        ssize_t n = send(self->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n >= 0)
            return n;
        if (errno != EAGAIN && errno != EINTR)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "writing");
    }
    return nl_fail(err, NL_EXIT_LAB, "the stream was closed");
}

static void local_stop(struct nl_carrier *carrier)
{
    struct local_carrier *self = (struct local_carrier *)carrier;

    eventfd_write(self->stop_fd, 1);
}

static void end_child(struct local_carrier *self)
{
    struct pollfd fd = {.fd = self->pidfd, .events = POLLIN};

    if (self->pid <= 0)
        return;
    shutdown(self->fd, SHUT_RDWR);
    if (self->pidfd >= 0)
        poll(&fd, 1, (int)(END_S * 1000));
    /* It may have left others in its group. */
    kill(-self->pid, SIGKILL);
    while (waitpid(self->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void local_free(struct nl_carrier *carrier)
{
    struct local_carrier *self = (struct local_carrier *)carrier;

    end_child(self);
    nl_cleanup_closep(&self->pidfd);
    nl_cleanup_closep(&self->fd);
    nl_cleanup_closep(&self->stop_fd);
    free(self);
}

/* Runs in the child, between fork and exec: only what is safe there. */
__attribute__((noreturn)) static void child_main(const char *agent, int fd, pid_t parent)
{
    char *argv[] = {(char *)agent, (char *)"--stdio", NULL};
    sigset_t none;

    setpgid(0, 0); /* what the terminal sends is for the runner */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    dup2(fd, 0);
    dup2(fd, 1);
    execv(agent, argv);
    dprintf(2, "%s: %s\n", agent, strerror(errno));
    _exit(127);
}

static int start_child(struct local_carrier *self, const char *agent, struct nl_error **err)
{
    pid_t parent = getpid();
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make a socket pair");
    self->fd = pair[0];
    self->pid = fork();
    if (self->pid == 0)
        child_main(agent, pair[1], parent);
    close(pair[1]);
    if (self->pid < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot start %s", agent);
    setpgid(self->pid, self->pid);
    self->pidfd = (int)syscall(SYS_pidfd_open, self->pid, 0);
    return 0;
}

int nl_link_open_local(const char *agent, nl_link_event *on_event, void *data,
                       struct nl_link **link, struct nl_error **err)
{
    struct local_carrier *self;

    if (access(agent, X_OK) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot run the agent %s", agent);
    self = calloc(1, sizeof(*self));
    if (!self)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    self->carrier = (struct nl_carrier){local_read, local_write, local_stop, local_free};
    self->pidfd = self->fd = -1;
    self->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (self->stop_fd < 0 || start_child(self, agent, err) < 0) {
        if (self->stop_fd < 0)
            nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make an event descriptor");
        local_free(&self->carrier);
        return -1;
    }
    return nl_link_start(&self->carrier, on_event, data, link, err);
}
