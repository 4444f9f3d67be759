/*
 * bench-kernel.c - ways into the kernel that no hypervisor needs to see: system call, signal,
 * context switch, reading the clock.
 */
#include "benchmark.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int call(struct bench *bench, unsigned long n)
{
    (void)bench;
    for (unsigned long i = 0; i < n; i++)
        syscall(SYS_getppid);
    return 0;
}

static int read_clock(struct bench *bench, unsigned long n)
{
    struct timespec now;

    (void)bench;
    for (unsigned long i = 0; i < n; i++)
        clock_gettime(CLOCK_MONOTONIC, &now);
    return 0;
}

static volatile sig_atomic_t signals_seen;

static void count_signal(int number)
{
    (void)number;
    signals_seen++;
}

static int prepare_signal(struct bench *bench)
{
    struct sigaction action = {.sa_handler = count_signal};

    return sigaction(SIGUSR1, &action, NULL) ? agent_bench_fail(bench, "sigaction") : 0;
}

static int deliver_signal(struct bench *bench, unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        if (raise(SIGUSR1))
            return agent_bench_fail(bench, "raise");
    return 0;
}

struct ping_pong {
    pid_t peer;
    int ping[2], pong[2];
};

static _Noreturn void answer(const struct ping_pong *state)
{
    char byte;

    close(state->ping[1]);
    close(state->pong[0]);
    while (read(state->ping[0], &byte, 1) == 1)
        if (write(state->pong[1], &byte, 1) != 1)
            break;
    _exit(0);
}

static int prepare_switch(struct bench *bench)
{
    struct ping_pong *state = calloc(1, sizeof *state);

    bench->state = state;
    if (bench->cpu < 0)
        return agent_bench_skip(bench, "both processes must be on one CPU: pinning is refused");
    if (!state || pipe(state->ping) || pipe(state->pong))
        return agent_bench_fail(bench, "pipe");
    state->peer = agent_bench_fork(bench);
    if (state->peer < 0)
        return agent_bench_fail(bench, "fork");
    if (state->peer == 0)
        answer(state);
    return 0;
}

static int switch_context(struct bench *bench, unsigned long n)
{
    const struct ping_pong *state = bench->state;
    char byte = 0;

    for (unsigned long i = 0; i < n; i++)
        if (write(state->ping[1], &byte, 1) != 1 || read(state->pong[0], &byte, 1) != 1)
            return agent_bench_fail(bench, "ping over a pipe");
    return 0;
}

static void finish_switch(struct bench *bench)
{
    const struct ping_pong *state = bench->state;

    kill(state->peer, SIGKILL);
    waitpid(state->peer, NULL, 0);
}

const struct benchmark agent_bench_kernel[] = {
    {
        .name = "syscall",
        .unit = "ns",
        .about = "getppid: into the kernel and back; needs no VM exit at any layer",
        .version = 1,
        .repeats = 0.0005,
        .operation = call,
    },
    {
        .name = "clock-read",
        .unit = "ns",
        .about = "clock_gettime: a few ns where the clock source is read in user space, a system "
                 "call or even a VM exit where it is not",
        .version = 1,
        .repeats = 0.01,
        .operation = read_clock,
    },
    {
        .name = "signal",
        .unit = "ns",
        .about = "a signal to itself, its handler and the return from it: kernel work without "
                 "VM exits",
        .version = 1,
        .repeats = 0.0005,
        .prepare = prepare_signal,
        .operation = deliver_signal,
    },
    {
        .name = "context-switch",
        .unit = "ns",
        .about = "a byte to another process on the same CPU and back over pipes: two switches of "
                 "the address space, which nested paging lets a guest do without VM exits",
        .version = 1,
        .prepare = prepare_switch,
        .operation = switch_context,
        .finish = finish_switch,
    },
    {.name = NULL},
};
