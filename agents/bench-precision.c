/*
 * bench-precision.c - how well a median is known: see bench-precision.h.
 */
#include "bench-precision.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TAIL 0.025

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The largest k with P(Binomial(n, 1/2) < k) <= TAIL; through logarithms, since 2^n overflows. */
static long order_of_interval(long n)
{
    double below = 0;
    long k = 0;

    for (; k < n; k++) {
        below += exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) -
                     (double)n * log(2));
        if (below > TAIL)
            break;
    }
    return k;
}

/* SAMPLES in order; the caller's, NULL when out of memory. */
static double *sort(const double *samples, long n)
{
    double *sorted = calloc((size_t)n + 1, sizeof *sorted);

    if (!sorted)
        return NULL;
    memcpy(sorted, samples, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    return sorted;
}

static double middle(const double *sorted, long n)
{
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

double agent_bench_median(const double *samples, long n)
{
    cleanup_free double *sorted = n > 0 ? sort(samples, n) : NULL;

    return sorted ? middle(sorted, n) : 0;
}

double agent_bench_half_width(const double *samples, long n)
{
    long k = order_of_interval(n);
    cleanup_free double *sorted = k > 0 ? sort(samples, n) : NULL;
    double median;

    if (!sorted)
        return INFINITY;
    median = middle(sorted, n);
    return median > 0 ? (sorted[n - k] - sorted[k - 1]) / 2 / median : INFINITY;
}
