/*
 * benchmark.h - what one benchmark is, and what it may use.
 *
 * prepare() builds what the work needs, operation(n) does the work n times in a tight loop and
 * nothing else, finish() ends helpers that would outlive the process. operation(1) is exactly one
 * operation, so that something outside the guest can count what it costs between two marks.
 */
#ifndef AGENT_BENCHMARK_H
#define AGENT_BENCHMARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bench;

struct benchmark {
    const char *name;
    const char *unit;        /* "ns", "us", "ms" or "MB/s" */
    const char *about;       /* one sentence: what it exercises in a nested guest */
    int version;             /* raised when the work changes: figures are then not comparable */
    int needs_vcpus;         /* 0: any number */
    bool needs_hypervisor;   /* KVM directly below, by its signature */
    bool needs_scratch;      /* a folder for files: bench->scratch */
    bool higher_is_better;   /* true for MB/s */
    bool self_timed;         /* operation() adds to bench->own_ns what it measured itself */
    double repeats;          /* boots of one build were metered alike within this part of a count,
                                as the tables in docs/measuring.md show; 0: not known to be */
    double bytes;            /* what one operation moves, for MB/s */
    unsigned long max_batch; /* what reset() has made ready at most; 0: no limit */

    /* All return 0, or agent_bench_skip() or agent_bench_fail(). Only operation() is a must. */
    int (*prepare)(struct bench *bench);
    int (*reset)(struct bench *bench, unsigned long n); /* before every batch, not timed */
    int (*operation)(struct bench *bench, unsigned long n);
    void (*finish)(struct bench *bench);
};

/* The guest that this layer can boot, for a benchmark that boots one: paths in this layer, NULL
   where there is none. Without firmware it is QEMU's default. */
struct bench_guest {
    const char *emulator;
    const char *firmware;
    const char *kernel;
    const char *initrd;
};

/* One run of a benchmark, inside its own process. */
struct bench {
    void *state;         /* the benchmark's own */
    const char *scratch; /* if needs_scratch */
    struct bench_guest guest;
    int cpu;       /* where it is pinned; -1 if pinning is not possible */
    int other_cpu; /* another one, if needs_vcpus is 2; else -1 */
    double own_ns;
    int alive_fd; /* helper processes close it: the agent learns of the end by it */
    char reason[256];
};

/* Families of benchmarks, each ended by an entry without a name. */
extern const struct benchmark agent_bench_kernel[];
extern const struct benchmark agent_bench_process[];
extern const struct benchmark agent_bench_boot[];
extern const struct benchmark agent_bench_paging[];
extern const struct benchmark agent_bench_exit[];
extern const struct benchmark agent_bench_kvm[];
extern const struct benchmark agent_bench_wakeup[];
extern const struct benchmark agent_bench_compute[];
extern const struct benchmark agent_bench_memory[];
extern const struct benchmark agent_bench_disk[];

/* It cannot run here, and why. Returns 1. */
int agent_bench_skip(struct bench *bench, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* It should have run but WHAT failed; errno is added. Returns -1. */
int agent_bench_fail(struct bench *bench, const char *what);

/* fork() for a helper process that dies with the benchmark. */
pid_t agent_bench_fork(struct bench *bench);

/* Pin the calling thread; -1 with errno. */
int agent_bench_pin(int cpu);

#define AGENT_PAGE 4096UL

/* Private anonymous memory in pages of that size (no huge ones), or NULL with bench's reason set.
 */
void *agent_bench_map(struct bench *bench, size_t size);

/* reset() and operation() of benchmarks whose state is such memory: N pages at its start are given
   back, and touched for the first time. */
int agent_bench_forget_pages(struct bench *bench, unsigned long n);
int agent_bench_touch_pages(struct bench *bench, unsigned long n);

/* A small generator (xorshift64*), so that a random order is the same at every layer. */
uint64_t agent_bench_random(uint64_t *state);

/* The work of the benchmark "hash"; here so that a test can hold it against the standard. */
void agent_bench_sha256_block(uint32_t hash[8], const uint8_t block[64]);

/* CLOCK_MONOTONIC in nanoseconds. */
double agent_bench_now_ns(void);

/* EAX, EBX, ECX, EDX of LEAF, subleaf 0; inlined, since it is also the work of a benchmark. */
static inline void agent_bench_cpuid(uint32_t leaf, uint32_t registers[4])
{
    registers[0] = leaf;
    registers[2] = 0;
    __asm__ volatile("cpuid"
                     : "+a"(registers[0]), "=b"(registers[1]), "+c"(registers[2]),
                       "=d"(registers[3]));
}

/* What a comparison is to notice: operations that exit N times more than the benchmark says. */
static inline void agent_bench_add_exits(unsigned long n)
{
    uint32_t registers[4];

    for (unsigned long i = 0; i < n; i++)
        agent_bench_cpuid(0, registers);
}

/* argv[0] of the program that the benchmark "exec" executes; see agent_bench_child(). */
#define AGENT_BENCH_CHILD_NAME "nestlab-agent-bench-child"

/* Keep the compiler from removing or moving the work that made VALUE. */
#define AGENT_BENCH_KEEP(value) __asm__ volatile("" : "+r"(value) : : "memory")

#endif
