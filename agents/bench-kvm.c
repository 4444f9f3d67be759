/*
 * bench-kvm.c - what this layer's own KVM costs, seen from the hypervisor's side: the layer above
 * in miniature, a guest of a few instructions (tiny-guest.c).
 */
#include "benchmark.h"
#include "tiny-guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#define CPUID_LOOP AGENT_TINY_CODE
#define PORT_LOOP (AGENT_TINY_CODE + 0x100)
#define REMAP_LOOP (AGENT_TINY_CODE + 0x200)
#define TABLE 0x5000U /* maps AGENT_TINY_PAGE to one of the two pages behind it, in turn */
#define ONE_PAGE 0x6000U
#define OTHER_PAGE 0x7000U
#define MEMORY 0x8000UL
#define PATIENCE_S 5

/* It times itself, so that neither the way through user space nor a tick on that way counts. */
static const unsigned char cpuid_loop[] = {
    0x0f, 0x31, /* again: rdtsc */
    0x89, 0xc6, /* mov %eax, %esi */
    0x31, 0xc0, /* xor %eax, %eax */
    0x0f, 0xa2, /* cpuid */
    0x0f, 0x31, /* rdtsc */
    0x29, 0xf0, /* sub %esi, %eax */
    0xe7, 0x10, /* out %eax, $0x10 */
    0xeb, 0xf0, /* jmp again */
};

static const unsigned char port_loop[] = {
    0xe6, 0x10, /* again: out %al, $0x10 */
    0xeb, 0xfc, /* jmp again */
};

/* With nested paging the processor does it all; with shadow paging KVM has to see the change. */
static const unsigned char remap_loop[] = {
    0x48, 0x81, 0x34, 0x25, 0x00, 0x50, 0x00, 0x00,
    0x00, 0x10, 0x00, 0x00,                         /* again: xorq $0x1000, TABLE */
    0x0f, 0x01, 0x3c, 0x25, 0x00, 0x00, 0x20, 0x00, /* invlpg AGENT_TINY_PAGE */
    0x8a, 0x04, 0x25, 0x00, 0x00, 0x20, 0x00,       /* mov AGENT_TINY_PAGE, %al */
    0xe6, 0x10,                                     /* out %al, $0x10 */
    0xeb, 0xe1,                                     /* jmp again */
};

struct guest {
    int kvm, vm, vcpu;
    struct kvm_run *run;
    char read; /* what the guest read last from AGENT_TINY_PAGE */
};

static int open_kvm(struct bench *bench)
{
    static struct guest guest;

    bench->state = &guest;
    guest.kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    return guest.kvm < 0 ? agent_bench_skip(bench, "/dev/kvm: %s", strerror(errno)) : 0;
}

static int make_vcpu(struct bench *bench)
{
    struct guest *guest = bench->state;

    guest->vm = ioctl(guest->kvm, KVM_CREATE_VM, 0);
    if (guest->vm < 0)
        return agent_bench_fail(bench, "KVM_CREATE_VM");
    guest->vcpu = ioctl(guest->vm, KVM_CREATE_VCPU, 0);
    return guest->vcpu < 0 ? agent_bench_fail(bench, "KVM_CREATE_VCPU") : 0;
}

static int create(struct bench *bench, unsigned long n)
{
    const struct guest *guest = bench->state;

    for (unsigned long i = 0; i < n; i++) {
        if (make_vcpu(bench))
            return -1;
        close(guest->vcpu);
        close(guest->vm);
    }
    return 0;
}

static int give_memory(struct bench *bench)
{
    const struct guest *guest = bench->state;
    char *memory = agent_bench_map(bench, MEMORY);
    struct kvm_userspace_memory_region region = {.memory_size = MEMORY,
                                                 .userspace_addr = (uintptr_t)memory};

    if (!memory)
        return -1;
    memcpy(memory + CPUID_LOOP, cpuid_loop, sizeof cpuid_loop);
    memcpy(memory + PORT_LOOP, port_loop, sizeof port_loop);
    memcpy(memory + REMAP_LOOP, remap_loop, sizeof remap_loop);
    agent_tiny_map(memory);
    agent_tiny_map_page(memory, TABLE, ONE_PAGE);
    memory[ONE_PAGE] = 1;
    memory[OTHER_PAGE] = 2;
    /* Only VMX without unrestricted guest needs it, and refuses nothing elsewhere. */
    ioctl(guest->vm, KVM_SET_TSS_ADDR, 0xfffbd000);
    if (ioctl(guest->vm, KVM_SET_USER_MEMORY_REGION, &region))
        return agent_bench_fail(bench, "KVM_SET_USER_MEMORY_REGION");
    return 0;
}

static int start_at(struct bench *bench, unsigned long rip)
{
    const struct guest *guest = bench->state;

    if (agent_tiny_enter(guest->vcpu, rip, MEMORY))
        return agent_bench_fail(bench, "setting the vCPU's registers");
    return 0;
}

/* Until the guest writes to its port. */
static inline int run(struct bench *bench)
{
    const struct guest *guest = bench->state;

    if (ioctl(guest->vcpu, KVM_RUN, 0))
        return agent_bench_fail(bench, "KVM_RUN");
    if (guest->run->exit_reason == KVM_EXIT_IO)
        return 0;
    agent_bench_skip(bench, "the guest left with exit reason %u", guest->run->exit_reason);
    return -1;
}

static void interrupt(int number)
{
    (void)number;
}

/* A KVM that interprets its guests opens like any other. */
static int try_guest(struct bench *bench)
{
    struct sigaction action = {.sa_handler = interrupt};
    int status;

    sigaction(SIGALRM, &action, NULL);
    errno = 0;
    alarm(PATIENCE_S);
    status = run(bench);
    alarm(0);
    if (status && errno == EINTR)
        return agent_bench_skip(bench,
                                "/dev/kvm opens, but a guest of two instructions did not "
                                "end within %d s",
                                PATIENCE_S);
    return status;
}

static int prepare_guest(struct bench *bench)
{
    struct guest *guest;
    int status = open_kvm(bench), size;

    if (status)
        return status;
    guest = bench->state;
    if (make_vcpu(bench) || give_memory(bench))
        return -1;
    size = ioctl(guest->kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
    if (size < (int)sizeof *guest->run)
        return agent_bench_fail(bench, "KVM_GET_VCPU_MMAP_SIZE");
    guest->run = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, guest->vcpu, 0);
    if (guest->run == MAP_FAILED)
        return agent_bench_fail(bench, "mmap of the vCPU");
    return start_at(bench, PORT_LOOP) ? -1 : try_guest(bench);
}

static int exit_to_user(struct bench *bench, unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        if (run(bench))
            return -1;
    return 0;
}

static int prepare_remap(struct bench *bench)
{
    int status = prepare_guest(bench);

    return status ? status : start_at(bench, REMAP_LOOP);
}

/* It reads another page each time, or has read by an old translation. */
static int remap(struct bench *bench, unsigned long n)
{
    struct guest *guest = bench->state;

    for (unsigned long i = 0; i < n; i++) {
        char read;

        if (run(bench))
            return -1;
        read = *((const char *)guest->run + guest->run->io.data_offset);
        if (read == guest->read) {
            agent_bench_skip(bench, "the guest still saw the page that it had mapped before");
            return -1;
        }
        guest->read = read;
    }
    return 0;
}

static int prepare_cpuid(struct bench *bench)
{
    int status = prepare_guest(bench);

    return status ? status : start_at(bench, CPUID_LOOP);
}

/* The guest counts in time stamps, which run at this layer's rate: no TSC scaling was asked for. */
static int exit_to_kernel(struct bench *bench, unsigned long n)
{
    const struct guest *guest = bench->state;
    double start_ns = agent_bench_now_ns(), counted = 0;
    uint64_t start = __rdtsc();

    for (unsigned long i = 0; i < n; i++) {
        uint32_t ticks;

        if (run(bench))
            return -1;
        memcpy(&ticks, (const char *)guest->run + guest->run->io.data_offset, sizeof ticks);
        counted += ticks;
    }
    bench->own_ns += counted * (agent_bench_now_ns() - start_ns) / (double)(__rdtsc() - start);
    return 0;
}

const struct benchmark agent_bench_kvm[] = {
    {
        .name = "kvm-create",
        .unit = "us",
        .about = "make a VM with one vCPU and close both: what this layer's KVM does before the "
                 "layer above can start",
        .version = 1,
        .prepare = open_kvm,
        .operation = create,
    },
    {
        .name = "kvm-cpuid",
        .unit = "ns",
        .about = "cpuid in a tiny guest of this layer, handled by this layer's KVM: what cpuid "
                 "costs in the layer above, whether there is one or not",
        .version = 2,
        .repeats = 0.0005,
        .self_timed = true,
        .prepare = prepare_cpuid,
        .operation = exit_to_kernel,
    },
    {
        .name = "kvm-port-io",
        .unit = "ns",
        .about = "a port write in a tiny guest of this layer that KVM_RUN returns with: what an "
                 "emulated device in user space costs the layer above",
        .version = 2,
        .repeats = 0.0005,
        .prepare = prepare_guest,
        .operation = exit_to_user,
    },
    {
        .name = "kvm-remap",
        .unit = "ns",
        .about = "kvm-port-io, before which the tiny guest maps another page, flushes its "
                 "translation and reads it: more exits only under shadow paging",
        .version = 1,
        .repeats = 0.0005,
        .prepare = prepare_remap,
        .operation = remap,
    },
    {.name = NULL},
};
