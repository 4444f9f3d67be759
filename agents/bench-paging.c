/*
 * bench-paging.c - page faults and changes of page tables, in 4 KiB pages.
 *
 * With nested paging (NPT, EPT) none of these exits once the layer below backs the memory; with
 * shadow paging nearly all of them do.
 */
#include "benchmark.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FAULT_PAGES 4096UL /* 16 MiB */
#define MOVE_PAGES 64UL

static void touch(volatile char *memory, unsigned long pages)
{
    for (unsigned long i = 0; i < pages; i++)
        memory[i * AGENT_PAGE] = 1;
}

static int prepare_touch(struct bench *bench)
{
    bench->state = agent_bench_map(bench, FAULT_PAGES * AGENT_PAGE);
    return bench->state ? 0 : -1;
}

int agent_bench_forget_pages(struct bench *bench, unsigned long n)
{
    if (madvise(bench->state, n * AGENT_PAGE, MADV_DONTNEED))
        return agent_bench_fail(bench, "madvise");
    return 0;
}

int agent_bench_touch_pages(struct bench *bench, unsigned long n)
{
    touch(bench->state, n);
    return 0;
}

/* Private pages of a file in memory: read first, so that they are mapped and only the write
   faults, and has to copy. */
static int prepare_cow(struct bench *bench)
{
    int fd = memfd_create("nestlab-bench", MFD_CLOEXEC);
    void *shared;

    if (fd < 0 || ftruncate(fd, FAULT_PAGES * AGENT_PAGE))
        return agent_bench_fail(bench, "memfd");
    shared = mmap(NULL, FAULT_PAGES * AGENT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED)
        return agent_bench_fail(bench, "mmap");
    touch(shared, FAULT_PAGES);
    munmap(shared, FAULT_PAGES * AGENT_PAGE);
    bench->state = mmap(NULL, FAULT_PAGES * AGENT_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    return bench->state == MAP_FAILED ? agent_bench_fail(bench, "mmap") : 0;
}

static int share_pages(struct bench *bench, unsigned long n)
{
    const volatile char *memory = bench->state;

    if (agent_bench_forget_pages(bench, n))
        return -1;
    for (unsigned long i = 0; i < n; i++)
        (void)memory[i * AGENT_PAGE];
    return 0;
}

static int map_and_unmap(struct bench *bench, unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        char *memory =
            mmap(NULL, AGENT_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (memory == MAP_FAILED)
            return agent_bench_fail(bench, "mmap");
        touch(memory, 1);
        munmap(memory, AGENT_PAGE);
    }
    return 0;
}

struct moving {
    char *from, *to;
};

static int prepare_move(struct bench *bench)
{
    static struct moving state;
    char *area = agent_bench_map(bench, 2 * MOVE_PAGES * AGENT_PAGE);

    if (!area)
        return -1;
    touch(area, MOVE_PAGES);
    state = (struct moving){.from = area, .to = area + MOVE_PAGES * AGENT_PAGE};
    bench->state = &state;
    return 0;
}

static int move_pages(struct bench *bench, unsigned long n)
{
    struct moving *state = bench->state;

    for (unsigned long i = 0; i < n; i++) {
        char *there = mremap(state->from, MOVE_PAGES * AGENT_PAGE, MOVE_PAGES * AGENT_PAGE,
                             MREMAP_MAYMOVE | MREMAP_FIXED, state->to);

        if (there == MAP_FAILED)
            return agent_bench_fail(bench, "mremap");
        state->to = state->from;
        state->from = there;
    }
    return 0;
}

static int prepare_protect(struct bench *bench)
{
    bench->state = agent_bench_map(bench, AGENT_PAGE);
    return bench->state ? 0 : -1;
}

static int protect(struct bench *bench, unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        if (mprotect(bench->state, AGENT_PAGE, PROT_READ | PROT_WRITE))
            return agent_bench_fail(bench, "mprotect");
        touch(bench->state, 1);
        if (mprotect(bench->state, AGENT_PAGE, PROT_READ))
            return agent_bench_fail(bench, "mprotect");
    }
    return 0;
}

const struct benchmark agent_bench_paging[] = {
    {
        .name = "page-touch",
        .unit = "ns",
        .about = "the first write to a fresh anonymous page: a page fault and a cleared page",
        .version = 1,
        .repeats = 0.02,
        .max_batch = FAULT_PAGES,
        .prepare = prepare_touch,
        .reset = agent_bench_forget_pages,
        .operation = agent_bench_touch_pages,
    },
    {
        .name = "cow-fault",
        .unit = "ns",
        .about = "the first write to a private page that is mapped read-only: a page fault and a "
                 "copied page",
        .version = 1,
        .repeats = 0.02,
        .max_batch = FAULT_PAGES,
        .prepare = prepare_cow,
        .reset = share_pages,
        .operation = agent_bench_touch_pages,
    },
    {
        .name = "mmap-munmap",
        .unit = "ns",
        .about = "map a page, touch it and unmap it: a page fault and a TLB flush of one page",
        .version = 1,
        .operation = map_and_unmap,
    },
    {
        .name = "mremap",
        .unit = "ns",
        .about = "move 64 mapped pages: page-table entries are rewritten and flushed, which costs "
                 "exits only under shadow paging",
        .version = 1,
        .prepare = prepare_move,
        .operation = move_pages,
    },
    {
        .name = "mprotect",
        .unit = "ns",
        .about = "make a page writable, write to it and make it read-only: two changes of "
                 "permission and a TLB flush",
        .version = 1,
        .repeats = 0.02,
        .prepare = prepare_protect,
        .operation = protect,
    },
    {.name = NULL},
};
