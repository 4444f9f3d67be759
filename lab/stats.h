/*
 * stats.h - medians, spreads and intervals of small samples from distributions nobody knows:
 * nothing here assumes a normal one, because timings in a guest have long tails.
 */
#ifndef NL_STATS_H
#define NL_STATS_H

#include <stdbool.h>
#include <stddef.h>

/* Fewer samples bound no 95 % interval of the median, however wide: 2 * 0.5^5 > 0.05. */
#define NL_STATS_MIN_SAMPLES 6

/* A median is called unstable when its interval is wider than this part of it. */
#define NL_STATS_UNSTABLE_WIDTH 0.10

struct nl_interval {
    double low;
    double high; /* NAN both: there are too few samples for one */
};

struct nl_summary {
    size_t n;
    double median;
    double mad; /* median absolute deviation from the median, not scaled */
    double min;
    double max;
    struct nl_interval interval; /* 95 % of the median */
    bool unstable;
};

/* Median of N > 0 numbers: the mean of the middle two if N is even. */
double nl_median(const double *samples, size_t n);

/* Everything about N > 0 numbers. The interval is exact and free of the distribution: the order
   statistics x(k) and x(n+1-k) with the largest k for which P(Binomial(n, 1/2) < k) <= 0.025
   (Conover, Practical Nonparametric Statistics, 3rd ed., 3.2; David & Nagaraja, Order Statistics,
   3rd ed., 7.1). For numbers that drift it still bounds the middle of what was seen. */
struct nl_summary nl_summarize(const double *samples, size_t n);

struct nl_ratio {
    double value; /* NAN if the denominator's median is 0 */
    struct nl_interval interval;
    bool unstable; /* one of the two medians is, or there is no interval */
};

/* median(A) / median(B) with a 95 % percentile bootstrap interval: both samples are resampled with
   replacement 2000 times (Efron & Tibshirani, An Introduction to the Bootstrap, 13.3). The seed is
   fixed: the same samples give the same interval. */
struct nl_ratio nl_ratio_of_medians(const double *a, size_t n_a, const double *b, size_t n_b);

#endif
