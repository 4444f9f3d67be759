/*
 * process.c - child processes: see process.h.
 */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define DEFAULT_TIMEOUT 60.0

/* What the child writes to is a file, so that nobody has to drain a pipe; these are the files. */
struct streams {
    int in;
    int out;
    int error;
};

static int memory_file(const char *name, const char *text, struct nl_error **err)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    size_t left = text ? strlen(text) : 0;

    if (fd < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make a memory file");
    while (left > 0) {
        ssize_t n = write(fd, text, left);

        if (n < 0) {
            close(fd);
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write a memory file");
        }
        text += n;
        left -= (size_t)n;
    }
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static void close_streams(struct streams *streams)
{
    nl_cleanup_closep(&streams->in);
    nl_cleanup_closep(&streams->out);
    nl_cleanup_closep(&streams->error);
}

static int open_streams(const struct nl_process *process, struct streams *streams,
                        struct nl_error **err)
{
    streams->in = memory_file("stdin", process->input, err);
    if (streams->in < 0)
        return -1;
    if (process->inherit_error) {
        streams->error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
        if (streams->error < 0)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot use standard error");
    } else if (process->log) {
        streams->error = open(process->log, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (streams->error < 0)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot open %s", process->log);
    } else {
        streams->error = memory_file("stderr", NULL, err);
        if (streams->error < 0)
            return -1;
    }
    if (process->output_limit > 0)
        streams->out = memory_file("stdout", NULL, err);
    else
        streams->out = fcntl(streams->error, F_DUPFD_CLOEXEC, 0);
    return streams->out < 0 ? nl_fail(err, NL_EXIT_LAB, "cannot make a memory file") : 0;
}

/* Runs in the child, between fork and exec: only what is safe there. */
__attribute__((noreturn)) static void child_main(const struct nl_process *process,
                                                 const struct streams *streams, pid_t parent)
{
    sigset_t none;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    dup2(streams->in, 0);
    dup2(streams->out, 1);
    dup2(streams->error, 2);
    if (process->directory && chdir(process->directory) < 0)
        _exit(126);
    for (const char *const *e = process->environment; e && *e; e++)
        putenv((char *)*e);
    execvp(process->argv[0], (char *const *)process->argv);
    dprintf(2, "%s: %s\n", process->argv[0], strerror(errno));
    _exit(127);
}

/* The last non-empty line that the child wrote to standard error; the caller frees it. */
static char *last_line(int fd)
{
    char text[2048];
    off_t size = lseek(fd, 0, SEEK_END);
    off_t from = size > (off_t)sizeof(text) - 1 ? size - (off_t)sizeof(text) + 1 : 0;
    ssize_t n = pread(fd, text, sizeof(text) - 1, from);
    char *line;

    if (n <= 0)
        return NULL;
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r' || text[n - 1] == ' '))
        n--;
    text[n] = '\0';
    line = strrchr(text, '\n');
    return strdup(line ? line + 1 : text);
}

static int read_output(int fd, size_t limit, const char *name, char **output, struct nl_error **err)
{
    off_t size = lseek(fd, 0, SEEK_END);
    cleanup_free char *text = NULL;

    if (size < 0 || (size_t)size > limit)
        return nl_fail(err, NL_EXIT_LAB, "%s printed more than %zu bytes", name, limit);
    text = calloc(1, (size_t)size + 1);
    if (!text || pread(fd, text, (size_t)size, 0) != size)
        return nl_fail(err, NL_EXIT_LAB, "cannot read what %s printed", name);
    if (output)
        *output = nl_steal(&text);
    return 0;
}

static int wait_for_child(pid_t pid, const struct nl_process *process, int *status,
                          struct nl_error **err)
{
    double timeout = process->timeout > 0 ? process->timeout : DEFAULT_TIMEOUT;
    cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int rc = pidfd < 0 ? nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot watch a child")
                       : nl_wait_readable(pidfd, nl_deadline_in(timeout), err);

    if (rc != 1 && process->grace > 0) {
        nl_interrupt_shield(true);
        kill(-pid, SIGTERM);
        nl_wait_readable(pidfd, nl_deadline_in(process->grace), NULL);
        nl_interrupt_shield(false);
    }
    if (rc != 1)
        kill(-pid, SIGKILL);
    while (waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    /* It may have left others in its group, on every path. Before it is reaped: afterwards the
       number may be somebody else's. */
    kill(-pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    if (rc == 0)
        return nl_fail(err, NL_EXIT_LAB, "%s did not end within %.0f s", process->argv[0], timeout);
    return rc < 0 ? nl_wrap(err, "%s", process->argv[0]) : 0;
}

/* A process that outlives the runner just long enough to kill the group. */
struct guard {
    pid_t pid;
    int end; /* the runner's end of a pipe: it closes when the runner ends, however it ends */
};

static void guard_stop(struct guard *guard)
{
    if (guard->pid <= 0)
        return;
    /* A byte before the end says that all is well. */
    if (write(guard->end, "x", 1) == 1)
        close(guard->end);
    else
        kill(guard->pid, SIGKILL);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static int guard_start(pid_t group, struct guard *guard, struct nl_error **err)
{
    int ends[2];
    char byte;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make a pipe");
    guard->pid = fork();
    if (guard->pid == 0) {
        /* Not in the runner's group: what is sent to that is not meant for the guard. */
        setsid();
        close(ends[1]);
        if (read(ends[0], &byte, 1) == 0)
            kill(-group, SIGKILL);
        _exit(0);
    }
    close(ends[0]);
    guard->end = ends[1];
    if (guard->pid < 0) {
        close(ends[1]);
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot start a process");
    }
    return 0;
}

int nl_process_run(const struct nl_process *process, char **output, struct nl_error **err)
{
    __attribute__((cleanup(guard_stop))) struct guard guard = {0};
    __attribute__((cleanup(close_streams))) struct streams streams = {-1, -1, -1};
    const char *name = process->argv[0];
    pid_t parent = getpid();
    int status = 0;
    pid_t pid;

    if (open_streams(process, &streams, err) < 0)
        return -1;
    pid = fork();
    if (pid < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot start %s", name);
    if (pid == 0)
        child_main(process, &streams, parent);
    setpgid(pid, pid);
    /* Without a guard it is still the child that dies with the runner. */
    if (process->guard)
        guard_start(pid, &guard, NULL);
    if (wait_for_child(pid, process, &status, err) < 0)
        return -1;
    if (status != 0) {
        cleanup_free char *line = process->inherit_error ? NULL : last_line(streams.error);

        if (WIFSIGNALED(status))
            nl_fail(err, NL_EXIT_LAB, "%s was killed by signal %d%s%s", name, WTERMSIG(status),
                    line ? ": " : "", line ? line : "");
        else
            nl_fail(err, NL_EXIT_LAB, "%s exited with status %d%s%s", name, WEXITSTATUS(status),
                    line ? ": " : "", line ? line : "");
        if (process->log && !process->inherit_error)
            nl_hint(err, "its output is in %s", process->log);
        return -1;
    }
    if (process->output_limit > 0)
        return read_output(streams.out, process->output_limit, name, output, err);
    return 0;
}

bool nl_process_is_gone(pid_t pid)
{
    return kill(pid, 0) < 0 && errno == ESRCH;
}
