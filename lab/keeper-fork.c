/*
 * keeper-fork.c - becoming a keeper, and the user's process that waits for it: see keeper.h.
 */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

/* A keeper takes its stack down within 10 s of a signal, and then still writes a report. */
#define PATIENCE_S 60.0

/* In the keeper: where the exit status goes at release. */
static int release_fd = -1;

/* What the waiting parent looks at. */
struct watch {
    pid_t keeper;
    int release;
    int signals;
    int process;
};

static void close_watch(struct watch *watch)
{
    nl_cleanup_closep(&watch->release);
    nl_cleanup_closep(&watch->signals);
    nl_cleanup_closep(&watch->process);
}

static void become_keeper(int fd, pid_t parent, const sigset_t *mask)
{
    release_fd = fd;
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(NL_EXIT_INTERRUPTED);
    sigprocmask(SIG_SETMASK, mask, NULL);
}

static bool was_released(const struct watch *watch, int *exit_status)
{
    int status;

    if (read(watch->release, &status, sizeof(status)) != sizeof(status))
        return false;
    *exit_status = status;
    return true;
}

/* Pass a signal on. Returns its number. */
static int forward(const struct watch *watch)
{
    struct signalfd_siginfo info;

    if (read(watch->signals, &info, sizeof(info)) != sizeof(info))
        return 0;
    kill(watch->keeper, (int)info.ssi_signo);
    return (int)info.ssi_signo;
}

static int judge_death(const struct watch *watch, int forwarded, int *exit_status,
                       struct nl_error **err)
{
    int status = 0;

    while (waitpid(watch->keeper, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status)) {
        *exit_status = WEXITSTATUS(status);
        return 0;
    }
    if (WTERMSIG(status) == forwarded) {
        *exit_status = NL_EXIT_INTERRUPTED;
        return 0;
    }
    *exit_status = NL_EXIT_LAB;
    nl_fail(err, NL_EXIT_LAB, "the process of the run was killed by signal %d (%s)",
            WTERMSIG(status), strsignal(WTERMSIG(status)));
    return nl_hint(err, "`nestlab gc` removes what it left behind");
}

/* Without a deadline as long as the keeper works: its own waits have theirs. */
static int wait_for_keeper(const struct watch *watch, int *exit_status, struct nl_error **err)
{
    nl_deadline patience = 0;
    int forwarded = 0;

    for (;;) {
        struct pollfd fds[] = {
            {.fd = watch->release, .events = POLLIN},
            {.fd = watch->signals, .events = POLLIN},
            {.fd = watch->process, .events = POLLIN},
        };
        int n = poll(fds, 3, forwarded ? nl_deadline_left_ms(patience) : -1);

        if (n < 0 && errno != EINTR)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot wait for the keeper");
        if (n < 0)
            continue;
        if (n == 0) {
            kill(watch->keeper, SIGKILL);
            patience = nl_deadline_in(PATIENCE_S);
        }
        if ((fds[0].revents & POLLIN) && was_released(watch, exit_status))
            return 0;
        if (fds[2].revents)
            return judge_death(watch, forwarded, exit_status, err);
        if (fds[1].revents) {
            forwarded = forward(watch);
            patience = nl_deadline_in(PATIENCE_S);
        }
        /* At its death the pipe is at its end before the process is; that is no reason to spin. */
        if (fds[0].revents == POLLHUP)
            poll(&fds[2], 1, 1000);
    }
}

int nl_keeper_fork(bool *in_keeper, int *exit_status, struct nl_error **err)
{
    NL_CLEANUP(close_watch) struct watch watch = {.release = -1, .signals = -1, .process = -1};
    pid_t parent = getpid();
    sigset_t passed_on, old;
    int ends[2];
    int rc;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make a pipe");
    watch.release = ends[0];
    /* Blocked before the fork, so that none is lost between. */
    sigemptyset(&passed_on);
    sigaddset(&passed_on, SIGINT);
    sigaddset(&passed_on, SIGTERM);
    sigaddset(&passed_on, SIGHUP);
    sigprocmask(SIG_BLOCK, &passed_on, &old);
    fflush(NULL);
    watch.keeper = fork();
    *in_keeper = watch.keeper == 0;
    if (*in_keeper) {
        become_keeper(ends[1], parent, &old);
        return 0;
    }
    close(ends[1]);
    if (watch.keeper < 0) {
        sigprocmask(SIG_SETMASK, &old, NULL);
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot start the keeper");
    }
    watch.signals = signalfd(-1, &passed_on, SFD_CLOEXEC);
    watch.process = pidfd_open(watch.keeper, 0);
    if (watch.signals < 0 || watch.process < 0) {
        rc = nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot watch the keeper");
        kill(watch.keeper, SIGTERM);
    } else {
        rc = wait_for_keeper(&watch, exit_status, err);
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
    return rc;
}

int nl_keeper_released(int exit_status, const char *log, struct nl_error **err)
{
    cleanup_close int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    cleanup_close int output = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ssize_t n;

    if (output < 0 || nothing < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write the keeper's log %s", log);
    if (release_fd < 0)
        return nl_fail(err, NL_EXIT_LAB, "there is no command to release: this is no keeper");
    fflush(NULL);
    /* The parent may end at once: what reads the user's pipe must find it closed here as well. */
    if (dup2(nothing, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0 || chdir("/") < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot leave the terminal");
    prctl(PR_SET_PDEATHSIG, 0);
    n = write(release_fd, &exit_status, sizeof(exit_status));
    nl_cleanup_closep(&release_fd);
    release_fd = -1;
    return n == sizeof(exit_status)
               ? 0
               : nl_fail(err, NL_EXIT_LAB, "the command that started this keeper is gone");
}
