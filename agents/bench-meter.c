/*
 * bench-meter.c - single operations between marks, for the meter that counts from outside what each
 * of them costs. Nothing is timed: counts need no clock, no batch and no calibration.
 */
#include "bench-meter.h"
#include "mark.h"

static int reset(const struct benchmark *benchmark, struct bench *bench)
{
    return benchmark->reset ? benchmark->reset(bench, 1) : 0;
}

static int mark_once(const struct benchmark *benchmark, struct bench *bench)
{
    int status = reset(benchmark, bench);

    if (status)
        return status;
    METER_MARK(METER_MARK_BEGIN);
    status = benchmark->operation(bench, 1);
    METER_MARK(METER_MARK_END);
    return status;
}

/* A function of its own, and not inlined: compilers let the two share what comes after the
   operation, and a jump there would be between the other one's marks. */
__attribute__((noinline)) static int mark_once_and_exits(const struct benchmark *benchmark,
                                                         struct bench *bench, unsigned long exits)
{
    int status = reset(benchmark, bench);

    if (status)
        return status;
    METER_MARK(METER_MARK_BEGIN);
    status = benchmark->operation(bench, 1);
    agent_bench_add_exits(exits);
    METER_MARK(METER_MARK_END);
    return status;
}

int agent_bench_metered(const struct benchmark *benchmark, struct bench *bench,
                        const struct bench_options *options, double limit_ns, long *warmup,
                        volatile long *count)
{
    int status = 0;

    /* What is made at the first use is there then: pages, caches, translations. */
    while (*warmup < options->warmup && agent_bench_now_ns() < limit_ns) {
        status = reset(benchmark, bench);
        if (!status)
            status = benchmark->operation(bench, 1);
        if (status)
            return status;
        ++*warmup;
    }
    do {
        status = options->extra_exits > 0
                     ? mark_once_and_exits(benchmark, bench, options->extra_exits)
                     : mark_once(benchmark, bench);
        if (status)
            return status;
        ++*count;
    } while (*count < options->samples && agent_bench_now_ns() < limit_ns);
    return 0;
}
