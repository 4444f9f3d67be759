/*
 * kvm-guest.c - a guest of a few instructions in 64-bit mode, to see whether KVM really executes
 * guest code and how fast: port writes that must exit, then a loop that must not.
 *
 * Its mode and page tables are in tiny-guest.c.
 */
#include "kvm.h"
#include "tiny-guest.h"

#include <errno.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#define CODE AGENT_TINY_CODE
#define MEMORY 0x8000u

#define PORT_EXITS 0x10
#define PORT_LOOP 0x11

/* Enough for a mean, and a few ms even where an exit takes 100 us. */
#define EXITS_MAX 400
#define EXITS_BUDGET_NS 30e6
/* Long against the exit at its end on any machine, and under 5 ms on an emulated one. */
#define ITERATIONS 2000000u
/* Up to which ratio the loop in the guest and the one outside need no second look. */
#define LOOPS_ALIKE 3
#define MORE_RUNS 3

static const unsigned char code[] = {
    0xb9, 0x00,       0x00, 0x00, 0x00, /* mov $0, %ecx: the number is patched in */
    0xe6, PORT_EXITS,                   /* again: out %al, $PORT_EXITS */
    0xff, 0xc9,                         /* dec %ecx */
    0x75, 0xfa,                         /* jnz again */
    0xb9, 0x00,       0x00, 0x00, 0x00, /* mov $0, %ecx: patched */
    0xe6, PORT_LOOP,                    /* out %al, $PORT_LOOP: the loop begins */
    0xff, 0xc9,                         /* loop: dec %ecx */
    0x75, 0xfc,                         /* jnz loop */
    0xe6, PORT_LOOP,                    /* out %al, $PORT_LOOP: the loop has ended */
    0xf4,                               /* hlt */
};
#define PATCH_EXITS 1
#define PATCH_ITERATIONS 12

/* What the guest is to have done when it halts. */
struct course {
    unsigned exits;
    unsigned marks; /* writes to PORT_LOOP */
    double first_ns, last_ns, loop_begin_ns, loop_end_ns;
};

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void put32(unsigned char *at, uint32_t value)
{
    memcpy(at, &value, sizeof(value));
}

static void fill_memory(unsigned char *memory)
{
    agent_tiny_map(memory);
    memcpy(memory + CODE, code, sizeof(code));
    put32(memory + CODE + PATCH_EXITS, EXITS_MAX);
    put32(memory + CODE + PATCH_ITERATIONS, ITERATIONS);
}

/* Take note of one port write; skip the rest of the port writes when they take too long. */
static int note_port(int vcpu, unsigned port, struct course *course)
{
    double now = now_ns();

    if (port == PORT_LOOP) {
        *(course->marks++ ? &course->loop_end_ns : &course->loop_begin_ns) = now;
        return 0;
    }
    if (course->exits++ == 0)
        course->first_ns = now;
    course->last_ns = now;
    if (now - course->first_ns < EXITS_BUDGET_NS || course->exits < 2)
        return 0;
    struct kvm_regs regs;
    if (ioctl(vcpu, KVM_GET_REGS, &regs) < 0)
        return -1;
    regs.rcx = 1;
    return ioctl(vcpu, KVM_SET_REGS, &regs);
}

/* Run until the guest halts. NULL, or why it did not get there. */
static json_t *run_guest(int vcpu, struct kvm_run *run, struct course *course)
{
    for (;;) {
        if (ioctl(vcpu, KVM_RUN, 0) < 0) {
            if (errno == EINTR || errno == EAGAIN)
                continue;
            return json_sprintf("KVM_RUN: %s", strerror(errno));
        }
        if (run->exit_reason == KVM_EXIT_HLT)
            return NULL;
        if (run->exit_reason != KVM_EXIT_IO)
            return json_sprintf("unexpected exit reason %u", run->exit_reason);
        if (note_port(vcpu, run->io.port, course) < 0)
            return json_sprintf("changing the guest's registers: %s", strerror(errno));
    }
}

/* The guest's loop, here. */
static double loop_outside_ns(void)
{
    uint32_t count = ITERATIONS;
    double start = now_ns();

    __asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(count) : : "cc");
    return (now_ns() - start) / ITERATIONS;
}

static double per_exit_ns(const struct course *course)
{
    return (course->last_ns - course->first_ns) / (course->exits - 1);
}

static json_t *failed(json_t *why)
{
    return json_pack("{s:b, s:o}", "ran", 0, "error", why);
}

/* One run of the guest from its start. NULL, or why it did not do all it should. LOOP_NS: its loop,
   without the exit at the end. */
static json_t *run_course(int vcpu, struct kvm_run *run, struct course *course, double *loop_ns)
{
    if (agent_tiny_enter(vcpu, CODE, MEMORY) < 0)
        return json_sprintf("setting the vCPU's registers: %s", strerror(errno));
    json_t *why = run_guest(vcpu, run, course);
    if (why)
        return why;
    if (course->exits < 2 || course->marks != 2)
        return json_sprintf("the guest halted after %u port writes and %u marks", course->exits,
                            course->marks);
    *loop_ns = (course->loop_end_ns - course->loop_begin_ns - per_exit_ns(course)) / ITERATIONS;
    return NULL;
}

json_t *agent_kvm_guest(int vm, int vcpu, struct kvm_run *run)
{
    void *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct kvm_userspace_memory_region region = {.memory_size = MEMORY,
                                                 .userspace_addr = (uintptr_t)memory};
    struct course course = {0};
    double loop = 0;

    if (memory == MAP_FAILED)
        return failed(json_sprintf("guest memory: %s", strerror(errno)));
    fill_memory(memory);
    /* VMX without unrestricted guest wants a place for this; elsewhere it does no harm. */
    ioctl(vm, KVM_SET_TSS_ADDR, 0xfffbd000);
    if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region) < 0)
        return failed(json_sprintf("KVM_SET_USER_MEMORY_REGION: %s", strerror(errno)));
    double start = now_ns();
    json_t *why = run_course(vcpu, run, &course, &loop);
    double outside = loop_outside_ns();
    /* A busy machine takes the processor away in the middle: then the best of several runs tells
       executing from interpreting. */
    for (int i = 0; !why && i < MORE_RUNS && loop > LOOPS_ALIKE * outside; i++) {
        struct course again = {0};
        double loop_again = loop, outside_again;

        why = run_course(vcpu, run, &again, &loop_again);
        outside_again = loop_outside_ns();
        loop = loop_again < loop ? loop_again : loop;
        outside = outside_again < outside ? outside_again : outside;
    }
    if (why)
        return failed(why);
    return json_pack("{s:b, s:n, s:f, s:f, s:f, s:f}", "ran", 1, "error", "first_exit_us",
                     (course.first_ns - start) / 1000, "exits_per_s", 1e9 / per_exit_ns(&course),
                     "loop_ns", loop, "loop_ns_outside", outside);
}
