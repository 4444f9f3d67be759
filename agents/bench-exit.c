/*
 * bench-exit.c - instructions that a hypervisor intercepts, and rdtsc, which it should not.
 */
#include "benchmark.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/io.h>
#include <x86intrin.h>

static int exit_by_cpuid(struct bench *bench, unsigned long n)
{
    uint32_t registers[4];

    (void)bench;
    for (unsigned long i = 0; i < n; i++)
        agent_bench_cpuid(0, registers);
    return 0;
}

#define POST_PORT 0x80 /* the power-on self test's diagnostics: writing there is harmless */

static int prepare_port(struct bench *bench)
{
    if (ioperm(POST_PORT, 1, 1))
        return agent_bench_skip(bench, "ioperm of port 0x80: %s", strerror(errno));
    return 0;
}

static int write_port(struct bench *bench, unsigned long n)
{
    (void)bench;
    for (unsigned long i = 0; i < n; i++)
        outb(0, POST_PORT);
    return 0;
}

#define NO_SUCH_HYPERCALL 0x6e65737400UL

static inline void vmcall(void)
{
    unsigned long rax = NO_SUCH_HYPERCALL;

    __asm__ volatile("vmcall" : "+a"(rax) : : "memory");
}

static inline void vmmcall(void)
{
    unsigned long rax = NO_SUCH_HYPERCALL;

    __asm__ volatile("vmmcall" : "+a"(rax) : : "memory");
}

static sigjmp_buf no_hypercall;

static void leave_hypercall(int number)
{
    siglongjmp(no_hypercall, number);
}

/* The instruction is the processor's, whatever CPUID's vendor a CPU model pretends; KVM emulates
   the other one, but not at every layer, hence the handler. */
static int prepare_hypercall(struct bench *bench)
{
    static const int caught[] = {SIGILL, SIGSEGV, SIGBUS};
    static bool intel;
    struct sigaction action = {.sa_handler = leave_hypercall};
    uint32_t registers[4];
    int number;

    agent_bench_cpuid(0, registers);
    intel = !memcmp(&registers[1], "Genu", 4);
    bench->state = &intel;
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        sigaction(caught[i], &action, NULL);
    number = sigsetjmp(no_hypercall, 1);
    if (number)
        return agent_bench_skip(bench, "%s is refused here: %s", intel ? "VMCALL" : "VMMCALL",
                                strsignal(number));
    if (intel)
        vmcall();
    else
        vmmcall();
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        signal(caught[i], SIG_DFL);
    return 0;
}

static int call_hypervisor(struct bench *bench, unsigned long n)
{
    const bool *intel = bench->state;

    if (*intel)
        for (unsigned long i = 0; i < n; i++)
            vmcall();
    else
        for (unsigned long i = 0; i < n; i++)
            vmmcall();
    return 0;
}

static int read_tsc(struct bench *bench, unsigned long n)
{
    (void)bench;
    for (unsigned long i = 0; i < n; i++) {
        unsigned long long tsc = __rdtsc();

        AGENT_BENCH_KEEP(tsc);
    }
    return 0;
}

const struct benchmark agent_bench_exit[] = {
    {
        .name = "cpuid",
        .unit = "ns",
        .about = "an unconditional exit that KVM handles itself: the cheapest world switch there "
                 "is, and at L2 the measure of exit multiplication",
        .version = 1,
        .operation = exit_by_cpuid,
    },
    {
        .name = "hypercall",
        .unit = "ns",
        .about = "VMCALL or VMMCALL with a number that KVM does not know: an exit whose handler "
                 "does nothing",
        .version = 1,
        .needs_hypervisor = true,
        .operation = call_hypervisor,
        .prepare = prepare_hypercall,
    },
    {
        .name = "port-io",
        .unit = "ns",
        .about = "a byte written to port 0x80: an exit that KVM hands to QEMU in user space, as "
                 "it does for emulated devices",
        .version = 1,
        .prepare = prepare_port,
        .operation = write_port,
    },
    {
        .name = "rdtsc",
        .unit = "ns",
        .about = "read the time stamp counter: no exit with TSC offsetting; as slow as cpuid "
                 "where a layer intercepts it",
        .version = 1,
        .operation = read_tsc,
    },
    {.name = NULL},
};
