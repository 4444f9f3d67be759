/*
 * bench-util.c - what several benchmarks need: reasons, pinning, memory, helper processes.
 */
#include "benchmark.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

int agent_bench_skip(struct bench *bench, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(bench->reason, sizeof bench->reason, format, arguments);
    va_end(arguments);
    return 1;
}

int agent_bench_fail(struct bench *bench, const char *what)
{
    snprintf(bench->reason, sizeof bench->reason, "%s: %s", what, strerror(errno));
    return -1;
}

pid_t agent_bench_fork(struct bench *bench)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    close(bench->alive_fd);
    return 0;
}

int agent_bench_pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set);
}

void *agent_bench_map(struct bench *bench, size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        agent_bench_fail(bench, "mmap");
        return NULL;
    }
    /* Fails where the kernel has no huge pages; then there are none to avoid. */
    madvise(memory, size, MADV_NOHUGEPAGE);
    return memory;
}

uint64_t agent_bench_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dULL;
}

double agent_bench_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}
