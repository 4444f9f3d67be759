/*
 * bench-meter.h - run a benchmark for the meter: single operations, each between two marks.
 */
#ifndef AGENT_BENCH_METER_H
#define AGENT_BENCH_METER_H

#include "bench-run.h"

/* options->warmup operations without marks, then options->samples with; fewer, but at least one,
   when agent_bench_now_ns() passes LIMIT_NS. COUNT and WARMUP are raised as it goes on. Returns as
   operation() does. */
int agent_bench_metered(const struct benchmark *benchmark, struct bench *bench,
                        const struct bench_options *options, double limit_ns, long *warmup,
                        volatile long *count);

#endif
