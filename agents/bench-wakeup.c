/*
 * bench-wakeup.c - timers, and one vCPU reaching another: what goes through the interrupt
 * controller, which every layer emulates for the next one.
 */
#include "benchmark.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SLEEP_NS 500000L

static int overshoot(struct bench *bench, unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        struct timespec wake;
        double due;

        clock_gettime(CLOCK_MONOTONIC, &wake);
        wake.tv_nsec += SLEEP_NS;
        if (wake.tv_nsec >= 1000000000L) {
            wake.tv_nsec -= 1000000000L;
            wake.tv_sec++;
        }
        due = (double)wake.tv_sec * 1e9 + (double)wake.tv_nsec;
        if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL))
            return agent_bench_fail(bench, "clock_nanosleep");
        bench->own_ns += agent_bench_now_ns() - due;
    }
    return 0;
}

static int prepare_timer(struct bench *bench)
{
    static int fd;

    fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    bench->state = &fd;
    return fd < 0 ? agent_bench_fail(bench, "timerfd_create") : 0;
}

/* Sooner than the tick, so that the timer's hardware has to be set, and set back. */
static int arm_timer(struct bench *bench, unsigned long n)
{
    const struct itimerspec soon = {.it_value = {.tv_nsec = 200000}}, never = {0};
    const int *fd = bench->state;

    for (unsigned long i = 0; i < n; i++)
        if (timerfd_settime(*fd, 0, &soon, NULL) || timerfd_settime(*fd, 0, &never, NULL))
            return agent_bench_fail(bench, "timerfd_settime");
    return 0;
}

#define INTERRUPT_PAGES 2048UL

/* What user space has that makes its own kernel send itself an interrupt: an event of perf that
   overflows at every page fault. The kernel may not wake readers from there, and leaves it to an
   interrupt (irq_work) that it sends to itself by the local APIC. The buffer is mapped read-only,
   which lets the kernel write over what nobody reads. */
static int prepare_self_ipi(struct bench *bench)
{
    struct perf_event_attr event = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof event,
        .config = PERF_COUNT_SW_PAGE_FAULTS,
        .exclude_kernel = 1, /* an ordinary user may have no other */
        .sample_period = 1,
        .wakeup_events = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

    if (fd < 0)
        return agent_bench_skip(bench, "the kernel refuses an event of perf: %s", strerror(errno));
    if (mmap(NULL, 2 * AGENT_PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
        return agent_bench_skip(bench, "the kernel gives an event of perf no buffer: %s",
                                strerror(errno));
    bench->state = agent_bench_map(bench, INTERRUPT_PAGES * AGENT_PAGE);
    return bench->state ? 0 : -1;
}

/* A thread on the other vCPU. */
struct partner {
    int cpu;
    int ping, pong;
    atomic_bool ready, failed, stop;
    char *page;
};

static void *answer(void *argument)
{
    struct partner *partner = argument;
    eventfd_t value;

    partner->failed = agent_bench_pin(partner->cpu) != 0;
    partner->ready = true;
    while (eventfd_read(partner->ping, &value) == 0)
        if (eventfd_write(partner->pong, 1))
            break;
    return NULL;
}

static void *stay_awake(void *argument)
{
    struct partner *partner = argument;

    partner->failed = agent_bench_pin(partner->cpu) != 0;
    partner->ready = true;
    while (!atomic_load_explicit(&partner->stop, memory_order_relaxed))
        __builtin_ia32_pause();
    return NULL;
}

static int start_partner(struct bench *bench, void *(*work)(void *))
{
    struct partner *partner = calloc(1, sizeof *partner);
    const struct timespec moment = {.tv_nsec = 100000};
    pthread_t thread;

    bench->state = partner;
    if (!partner)
        return agent_bench_fail(bench, "calloc");
    if (bench->other_cpu < 0)
        return agent_bench_skip(bench, "there is no second vCPU to use");
    partner->cpu = bench->other_cpu;
    partner->ping = eventfd(0, EFD_CLOEXEC);
    partner->pong = eventfd(0, EFD_CLOEXEC);
    if (partner->ping < 0 || partner->pong < 0)
        return agent_bench_fail(bench, "eventfd");
    errno = pthread_create(&thread, NULL, work, partner);
    if (errno)
        return agent_bench_fail(bench, "pthread_create");
    pthread_detach(thread);
    while (!partner->ready)
        nanosleep(&moment, NULL);
    return partner->failed ? agent_bench_skip(bench, "pinning to the second vCPU is refused") : 0;
}

static int prepare_ipi(struct bench *bench)
{
    return start_partner(bench, answer);
}

static int wake_other(struct bench *bench, unsigned long n)
{
    const struct partner *partner = bench->state;
    eventfd_t value;

    for (unsigned long i = 0; i < n; i++)
        if (eventfd_write(partner->ping, 1) || eventfd_read(partner->pong, &value))
            return agent_bench_fail(bench, "ping over eventfd");
    return 0;
}

static int prepare_shootdown(struct bench *bench)
{
    int status = start_partner(bench, stay_awake);
    struct partner *partner = bench->state;

    if (status)
        return status;
    partner->page = agent_bench_map(bench, 4096);
    return partner->page ? 0 : -1;
}

static int shoot_down(struct bench *bench, unsigned long n)
{
    const struct partner *partner = bench->state;

    for (unsigned long i = 0; i < n; i++) {
        if (mprotect(partner->page, 4096, PROT_READ | PROT_WRITE))
            return agent_bench_fail(bench, "mprotect");
        *(volatile char *)partner->page = 1;
        if (mprotect(partner->page, 4096, PROT_READ))
            return agent_bench_fail(bench, "mprotect");
    }
    return 0;
}

static void stop_partner(struct bench *bench)
{
    struct partner *partner = bench->state;

    partner->stop = true;
}

const struct benchmark agent_bench_wakeup[] = {
    {
        .name = "timer-overshoot",
        .unit = "us",
        .about = "how late a sleep of 500 us ends: the timer's exit, the idle vCPU's halt, and the "
                 "interrupt on its way in through all layers",
        .version = 1,
        .self_timed = true,
        .operation = overshoot,
    },
    {
        .name = "timer-arm",
        .unit = "ns",
        .about = "set a timer ahead of the tick and take it back: two writes to the local APIC's "
                 "timer, each an exit",
        .version = 1,
        .prepare = prepare_timer,
        .operation = arm_timer,
    },
    {
        .name = "self-ipi",
        .unit = "ns",
        .about = "page-touch, and an interrupt that the vCPU sends to itself: writes to the local "
                 "APIC, which are exits unless it is virtualized (AVIC, APICv)",
        .version = 1,
        .max_batch = INTERRUPT_PAGES,
        .prepare = prepare_self_ipi,
        .reset = agent_bench_forget_pages,
        .operation = agent_bench_touch_pages,
    },
    {
        .name = "ipi",
        .unit = "ns",
        .about = "wake a thread on another vCPU and be woken by it: interrupts between processors "
                 "and idle vCPUs, both emulated",
        .version = 1,
        .needs_vcpus = 2,
        .prepare = prepare_ipi,
        .operation = wake_other,
    },
    {
        .name = "tlb-shootdown",
        .unit = "ns",
        .about = "as mprotect, while a thread of the process runs on another vCPU, whose TLB must "
                 "be flushed by an interrupt",
        .version = 1,
        .needs_vcpus = 2,
        .prepare = prepare_shootdown,
        .operation = shoot_down,
        .finish = stop_partner,
    },
    {.name = NULL},
};
