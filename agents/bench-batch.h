/*
 * bench-batch.h - how many operations make a batch that is long against the clock.
 *
 * Whatever interrupts a try makes it longer, never shorter. So the quickest of a few tries tells
 * how long a batch is at least, and two that agree may have been interrupted alike.
 */
#ifndef AGENT_BENCH_BATCH_H
#define AGENT_BENCH_BATCH_H

#include <jansson.h>
#include <stdbool.h>

struct bench_options;

/* How long a batch is to be, in ns. */
struct bench_batch {
    double wanted; /* 1 ms, and 1000 steps of the clock */
    double least;  /* what each of a few tries must take: as wanted, but not beyond the budget */
    double aim;    /* longer by a quarter, so that operations that get quicker do not end below */
};

/* For samples of OPTIONS, by a clock that moves in steps of CLOCK_NS. The aim is never more than a
   batch's share of the budget. */
struct bench_batch agent_bench_batch(const struct bench_options *options, double clock_ns);

/* The batch to try after N operations took ELAPSED_NS: takes at least AIM_NS if they go on like
   that, but grows at most 16-fold (the first operations are cold, so what they took says little),
   and is at most MAX, if that is not 0. */
unsigned long agent_bench_next_batch(unsigned long n, double elapsed_ns, double aim_ns,
                                     unsigned long max);

/* Do N operations; WALL_NS is what they took. 0, or what ends the calibration. */
typedef int agent_bench_try(void *data, unsigned long n, double *wall_ns);

/* Grow the batch until the quickest of a few tries takes BATCH->least, or it has MAX operations
   (0: no limit), or CLOCK_MONOTONIC is at STOP_NS. 0 and *N is the batch; else what TRY returned.
 */
int agent_bench_calibrate(const struct bench_batch *batch, unsigned long max, double stop_ns,
                          agent_bench_try *try, void *data, unsigned long *n);

/* Is a batch whose median is MEDIAN_NS short against a time that it was to take? By more than half:
   what it takes varies. */
bool agent_bench_is_short(double median_ns, double time_ns);

/* Null, or a sentence that says that batches of N operations, whose median is MEDIAN_NS, are short
   against what is wanted: their samples look like any others. New reference. */
json_t *agent_bench_short_batch(const struct bench_batch *batch, unsigned long n, double median_ns);

#endif
