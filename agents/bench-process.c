/*
 * bench-process.c - making and ending processes: page tables are copied, built and torn down.
 */
#include "benchmark.h"
#include "bench.h"

#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

/* Wait for PID; it must have ended with STATUS. */
static int wait_for(struct bench *bench, pid_t pid, int wanted)
{
    int status;

    if (waitpid(pid, &status, 0) != pid)
        return agent_bench_fail(bench, "waitpid");
    if (WIFEXITED(status) && WEXITSTATUS(status) == wanted)
        return 0;
    agent_bench_skip(bench, "the process that it started ended with wait status 0x%x", status);
    return -1;
}

static int fork_exit_wait(struct bench *bench, unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid < 0)
            return agent_bench_fail(bench, "fork");
        if (pid == 0)
            _exit(0);
        if (wait_for(bench, pid, 0))
            return -1;
    }
    return 0;
}

static int prepare_exec(struct bench *bench)
{
    if (access("/proc/self/exe", X_OK))
        return agent_bench_skip(bench, "/proc/self/exe cannot be executed: is /proc mounted?");
    return 0;
}

static int exec_self(struct bench *bench, unsigned long n)
{
    char *argv[] = {AGENT_BENCH_CHILD_NAME, NULL};
    char *environment[] = {NULL};

    for (unsigned long i = 0; i < n; i++) {
        pid_t pid;

        errno = posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environment);
        if (errno)
            return agent_bench_fail(bench, "posix_spawn of /proc/self/exe");
        if (wait_for(bench, pid, AGENT_BENCH_CHILD_EXIT))
            return -1;
    }
    return 0;
}

const struct benchmark agent_bench_process[] = {
    {
        .name = "fork-exit-wait",
        .unit = "us",
        .about = "fork, exit in the child and wait: copies page tables and takes faults on them; "
                 "exits only where the layer below pages",
        .version = 1,
        .operation = fork_exit_wait,
    },
    {
        .name = "exec",
        .unit = "us",
        .about = "start this program anew (posix_spawn), which ends at once, and wait: a new "
                 "address space and many page faults",
        .version = 1,
        .prepare = prepare_exec,
        .operation = exec_self,
    },
    {.name = NULL},
};
