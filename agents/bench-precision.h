/*
 * bench-precision.h - how well the samples taken so far tell their median: when to stop.
 */
#ifndef AGENT_BENCH_PRECISION_H
#define AGENT_BENCH_PRECISION_H

/* The median of N SAMPLES; 0 where there are none. */
double agent_bench_median(const double *samples, long n);

/* Half the width of the 95 % interval of the median of N SAMPLES (exact, by order statistics, as
   docs/document.md describes under "slowdown"), as a part of the median. INFINITY where N is too
   small for one, or the median is 0. */
double agent_bench_half_width(const double *samples, long n);

#endif
