/*
 * bench-batch.c - how many operations make a batch: see bench-batch.h.
 */
#include "bench-batch.h"
#include "bench-run.h"

#include <math.h>
#include <stdio.h>

/* Long against the clock; less than half of a 250 Hz tick's period, so that the median batch has no
   tick in it: inside an inner layer one costs as much as dozens of operations. */
#define BATCH_NS 1e6
#define CLOCKS_PER_BATCH 1e3 /* so that reading the clock is at most 0.1 % of a batch */

#define AIM 1.25

/* Of so many tries of one batch the quickest counts. */
#define TRIES 5

/* A clock that stands would have it grow for ever, and beyond what an unsigned long holds. */
#define ROUNDS_MAX 40
#define OPERATIONS_MAX 0x1p52

struct bench_batch agent_bench_batch(const struct bench_options *options, double clock_ns)
{
    double share = options->budget_s * 1e9 / (double)(options->samples + options->warmup);
    double wanted = fmax(BATCH_NS, CLOCKS_PER_BATCH * clock_ns);
    double aim = fmin(AIM * wanted, share);

    return (struct bench_batch){.wanted = wanted, .least = aim / AIM, .aim = aim};
}

unsigned long agent_bench_next_batch(unsigned long n, double elapsed_ns, double aim_ns,
                                     unsigned long max)
{
    double next = elapsed_ns > 0 ? (double)n * aim_ns / elapsed_ns : INFINITY;

    next = fmin(next, fmin((double)n * 16, OPERATIONS_MAX));
    if (max)
        next = fmin(next, (double)max);
    return next < 1 ? 1 : (unsigned long)ceil(next);
}

/* The quickest of a few tries of N operations; the first that takes less than LEAST_NS says enough,
   and in time that is not there no further one is made. */
static int try_batch(agent_bench_try *try, void *data, unsigned long n, double least_ns,
                     double stop_ns, double *quickest)
{
    *quickest = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        double wall = 0;
        int status = try(data, n, &wall);

        if (status)
            return status;
        *quickest = fmin(*quickest, wall);
        if (*quickest < least_ns || agent_bench_now_ns() >= stop_ns)
            break;
    }
    return 0;
}

int agent_bench_calibrate(const struct bench_batch *batch, unsigned long max, double stop_ns,
                          agent_bench_try *try, void *data, unsigned long *n)
{
    *n = 1;
    for (int i = 0; i < ROUNDS_MAX; i++) {
        unsigned long tried = *n;
        double quickest;
        int status = try_batch(try, data, tried, batch->least, stop_ns, &quickest);

        if (status)
            return status;
        *n = agent_bench_next_batch(tried, quickest, batch->aim, max);
        if (quickest >= batch->least || tried == max || agent_bench_now_ns() >= stop_ns)
            break;
    }
    return 0;
}

bool agent_bench_is_short(double median_ns, double time_ns)
{
    return !(median_ns >= time_ns / 2);
}

json_t *agent_bench_short_batch(const struct bench_batch *batch, unsigned long n, double median_ns)
{
    char text[160];

    if (!agent_bench_is_short(median_ns, batch->wanted))
        return json_null();
    snprintf(text, sizeof text, "a batch of %lu took %.1f us, where %.0f us are wanted", n,
             median_ns / 1e3, batch->wanted / 1e3);
    return json_string(text);
}
