/*
 * bench-exit.c - instructions that a hypervisor intercepts, and rdtsc, which it should not.
 */
#include "benchmark.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/io.h>
#include <unistd.h>
#include <x86intrin.h>

static int exit_by_cpuid(struct bench *bench, unsigned long n)
{
    uint32_t registers[4];

    (void)bench;
    for (unsigned long i = 0; i < n; i++)
        agent_bench_cpuid(0, registers);
    return 0;
}

static sigjmp_buf refused;

static void leave_instruction(int number)
{
    siglongjmp(refused, number);
}

/* 0, or the signal by which the processor refuses INSTRUCTION. */
static int try_instruction(void (*instruction)(void))
{
    static const int caught[] = {SIGILL, SIGSEGV, SIGBUS};
    struct sigaction action = {.sa_handler = leave_instruction};
    int number;

    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        sigaction(caught[i], &action, NULL);
    number = sigsetjmp(refused, 1);
    if (!number)
        instruction();
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        signal(caught[i], SIG_DFL);
    return number;
}

#define POST_PORT 0x80 /* the power-on self test's diagnostics: writing there is harmless */

static void write_post_port(void)
{
    outb(0, POST_PORT);
}

/* A guest of KVM under QEMU's TCG is granted the port and yet gets a general protection fault. */
static int prepare_port(struct bench *bench)
{
    int number;

    if (ioperm(POST_PORT, 1, 1))
        return agent_bench_skip(bench, "ioperm of port 0x80: %s", strerror(errno));
    number = try_instruction(write_post_port);
    if (number)
        return agent_bench_skip(bench, "port 0x80 is granted, but writing there is refused: %s",
                                strsignal(number));
    return 0;
}

static int write_port(struct bench *bench, unsigned long n)
{
    (void)bench;
    for (unsigned long i = 0; i < n; i++)
        outb(0, POST_PORT);
    return 0;
}

#define HOST_BRIDGE "/sys/bus/pci/devices/0000:00:00.0/config"

static int prepare_pci(struct bench *bench)
{
    static int fd;

    fd = open(HOST_BRIDGE, O_RDONLY | O_CLOEXEC);
    bench->state = &fd;
    return fd < 0 ? agent_bench_skip(bench, HOST_BRIDGE ": %s", strerror(errno)) : 0;
}

/* The kernel reads the first 256 bytes by ports 0xcf8 and 0xcfc even where it could by memory. */
static int read_pci(struct bench *bench, unsigned long n)
{
    const int *fd = bench->state;
    uint32_t identity;

    for (unsigned long i = 0; i < n; i++)
        if (pread(*fd, &identity, sizeof identity, 0) != (ssize_t)sizeof identity)
            return agent_bench_fail(bench, "read of " HOST_BRIDGE);
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

static int prepare_hypercall(struct bench *bench)
{
    static bool intel;
    uint32_t registers[4];
    int number;

    agent_bench_cpuid(0, registers);
    intel = !memcmp(&registers[1], "Genu", 4);
    bench->state = &intel;
    number = try_instruction(intel ? vmcall : vmmcall);
    if (number)
        return agent_bench_skip(bench, "%s is refused: %s", intel ? "VMCALL" : "VMMCALL",
                                strsignal(number));
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
        .repeats = 0.0005,
        .operation = exit_by_cpuid,
    },
    {
        .name = "hypercall",
        .unit = "ns",
        .about = "VMCALL or VMMCALL with a number that KVM does not know: an exit whose handler "
                 "does nothing",
        .version = 1,
        .repeats = 0.0005,
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
        .repeats = 0.0005,
        .prepare = prepare_port,
        .operation = write_port,
    },
    {
        .name = "pci-config",
        .unit = "ns",
        .about = "the kernel reads 4 bytes of a PCI device's configuration: two port accesses, "
                 "each an exit to QEMU in user space",
        .version = 1,
        .repeats = 0.001,
        .prepare = prepare_pci,
        .operation = read_pci,
    },
    {
        .name = "rdtsc",
        .unit = "ns",
        .about = "read the time stamp counter: no exit with TSC offsetting; as slow as cpuid "
                 "where a layer intercepts it",
        .version = 1,
        .repeats = 0.0005,
        .operation = read_tsc,
    },
    {.name = NULL},
};
