/*
 * bench-memory.c - bandwidth and latency of memory, and the cost of a TLB miss, where nested
 * paging walks two page tables at once.
 */
#include "benchmark.h"

#include <string.h>

#define LINE 64UL
#define STREAM (16UL << 20)
#define CHUNK (1UL << 20)

struct stream {
    uint64_t *from, *to;
    size_t at;
};

static int prepare_stream(struct bench *bench)
{
    static struct stream stream;

    stream.from = agent_bench_map(bench, STREAM);
    if (!stream.from)
        return -1;
    memset(stream.from, 1, STREAM);
    stream.to = stream.from + STREAM / 2 / sizeof *stream.to;
    bench->state = &stream;
    return 0;
}

/* The next CHUNK within the first SIZE bytes, as an index. */
static size_t next_chunk(struct stream *stream, size_t size)
{
    size_t at = stream->at;

    stream->at = (at + CHUNK) % size;
    return at / sizeof(uint64_t);
}

static int read_memory(struct bench *bench, unsigned long n)
{
    struct stream *stream = bench->state;

    for (unsigned long i = 0; i < n; i++) {
        const uint64_t *p = stream->from + next_chunk(stream, STREAM);
        uint64_t sum = 0;

        for (size_t word = 0; word < CHUNK / sizeof *p; word += 8) {
            sum += p[word] + p[word + 1] + p[word + 2] + p[word + 3];
            sum += p[word + 4] + p[word + 5] + p[word + 6] + p[word + 7];
            AGENT_BENCH_KEEP(sum);
        }
    }
    return 0;
}

static int copy_memory(struct bench *bench, unsigned long n)
{
    struct stream *stream = bench->state;

    for (unsigned long i = 0; i < n; i++) {
        size_t at = next_chunk(stream, STREAM / 2);
        const void *from = stream->from + at;
        void *to = stream->to + at;
        size_t words = CHUNK / sizeof(uint64_t);

        /* One instruction, the same everywhere: memcpy() would choose by CPUID. */
        __asm__ volatile("rep movsq" : "+S"(from), "+D"(to), "+c"(words) : : "memory");
    }
    return 0;
}

struct node {
    struct node *next;
    char fill[LINE - sizeof(struct node *)];
};

static void shuffle(unsigned *order, unsigned count, uint64_t *seed)
{
    for (unsigned i = 0; i < count; i++)
        order[i] = i;
    for (unsigned i = count - 1; i > 0; i--) {
        unsigned other = (unsigned)(agent_bench_random(seed) % (i + 1));
        unsigned value = order[i];

        order[i] = order[other];
        order[other] = value;
    }
}

#define CHASE_PAGES 4096U /* 16 MiB */
#define PAGE_LINES (unsigned)(AGENT_PAGE / LINE)

/* A ring through all lines of all pages, at random but page by page: one TLB miss in 64 steps, so
   that the cache misses are what counts. */
static int prepare_latency(struct bench *bench)
{
    static unsigned pages[CHASE_PAGES], lines[PAGE_LINES];
    struct node *ring = agent_bench_map(bench, CHASE_PAGES * AGENT_PAGE);
    uint64_t seed = 1;
    struct node *last;

    if (!ring)
        return -1;
    shuffle(pages, CHASE_PAGES, &seed);
    last = bench->state = ring + (size_t)pages[0] * PAGE_LINES;
    for (unsigned page = 0; page < CHASE_PAGES; page++) {
        shuffle(lines, PAGE_LINES, &seed);
        for (unsigned i = 0; i < PAGE_LINES; i++) {
            struct node *node = ring + (size_t)pages[page] * PAGE_LINES + lines[i];

            if (node != bench->state)
                last = last->next = node;
        }
    }
    last->next = bench->state;
    return 0;
}

#define WALK_PAGES 8192U /* 32 MiB: more than any second-level TLB of its time maps */

/* A ring with one line in each page; which one varies, so that they spread over the cache's sets
   and all lie in its second level: the TLB misses are what counts. */
static int prepare_walk(struct bench *bench)
{
    static unsigned pages[WALK_PAGES];
    char *area = agent_bench_map(bench, WALK_PAGES * AGENT_PAGE);
    uint64_t seed = 2;
    struct node *last = NULL;

    if (!area)
        return -1;
    shuffle(pages, WALK_PAGES, &seed);
    for (unsigned i = 0; i < WALK_PAGES; i++) {
        struct node *node = (void *)(area + pages[i] * AGENT_PAGE + i % PAGE_LINES * LINE);

        if (last)
            last->next = node;
        else
            bench->state = node;
        last = node;
    }
    last->next = bench->state;
    return 0;
}

static int chase(struct bench *bench, unsigned long n)
{
    struct node *node = bench->state;

    for (unsigned long i = 0; i < n; i++)
        node = node->next;
    bench->state = node;
    return 0;
}

const struct benchmark agent_bench_memory[] = {
    {
        .name = "memory-bandwidth",
        .unit = "MB/s",
        .about =
            "read 16 MiB in order, eight bytes at a time: no exits; nested paging costs little "
            "since TLB misses are rare",
        .version = 1,
        .repeats = 0.0005,
        .higher_is_better = true,
        .bytes = CHUNK,
        .prepare = prepare_stream,
        .operation = read_memory,
    },
    {
        .name = "memory-copy",
        .unit = "MB/s",
        .about = "copy 8 MiB in order by rep movsq: as memory-bandwidth, with writes",
        .version = 1,
        .higher_is_better = true,
        .bytes = CHUNK,
        .prepare = prepare_stream,
        .operation = copy_memory,
    },
    {
        .name = "memory-latency",
        .unit = "ns",
        .about = "follow pointers through 16 MiB, line by line in random order: cache misses, with "
                 "a TLB miss in 64 steps",
        .version = 1,
        .repeats = 0.0005,
        .prepare = prepare_latency,
        .operation = chase,
    },
    {
        .name = "page-walk",
        .unit = "ns",
        .about = "follow pointers through 8192 pages, each step in another page: TLB misses, which "
                 "nested paging makes up to 24 memory accesses instead of 4",
        .version = 1,
        .repeats = 0.0005,
        .prepare = prepare_walk,
        .operation = chase,
    },
    {.name = NULL},
};
