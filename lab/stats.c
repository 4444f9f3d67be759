/*
 * stats.c - medians, spreads and intervals: see stats.h.
 */
#include "stats.h"
#include "cleanup.h"
#include "random.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define RESAMPLES 2000
#define TAIL 0.025

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_of_sorted(const double *sorted, size_t n)
{
    /* The sum of the two may be beyond a double. */
    return n % 2 ? sorted[n / 2] : sorted[n / 2 - 1] / 2.0 + sorted[n / 2] / 2.0;
}

/* A sorted copy, the caller's. Statistics without memory have no meaningful answer. */
static double *sorted_copy(const double *samples, size_t n)
{
    double *copy = malloc(n * sizeof(*copy));

    if (!copy)
        abort();
    memcpy(copy, samples, n * sizeof(*copy));
    qsort(copy, n, sizeof(*copy), compare);
    return copy;
}

double nl_median(const double *samples, size_t n)
{
    cleanup_free double *sorted = sorted_copy(samples, n);

    return median_of_sorted(sorted, n);
}

/* The largest k with P(Binomial(n, 1/2) < k) <= TAIL; 0: none. Summed through logarithms: 2^n
   overflows where n is a few thousand. */
static size_t order_of_interval(size_t n)
{
    double below = 0.0;
    size_t k = 0;

    for (; k < n; k++) {
        double log_p = lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) -
                       (double)n * log(2.0);

        below += exp(log_p);
        if (below > TAIL)
            break;
    }
    return k;
}

static bool is_wide(struct nl_interval interval, double middle)
{
    /* Written so that NAN is wide. */
    return !(interval.high - interval.low <= NL_STATS_UNSTABLE_WIDTH * fabs(middle));
}

static double deviation(const double *samples, size_t n, double median)
{
    cleanup_free double *away = sorted_copy(samples, n);

    for (size_t i = 0; i < n; i++)
        away[i] = fabs(samples[i] - median);
    return nl_median(away, n);
}

struct nl_summary nl_summarize(const double *samples, size_t n)
{
    cleanup_free double *sorted = sorted_copy(samples, n);
    size_t k = order_of_interval(n);
    struct nl_summary summary = {
        .n = n,
        .median = median_of_sorted(sorted, n),
        .min = sorted[0],
        .max = sorted[n - 1],
        .interval = {NAN, NAN},
    };

    summary.mad = deviation(samples, n, summary.median);
    if (k > 0)
        summary.interval = (struct nl_interval){sorted[k - 1], sorted[n - k]};
    summary.unstable = is_wide(summary.interval, summary.median);
    return summary;
}

/* The median of a resample of SORTED. Only the indices are drawn and counted: since SORTED is, the
   resample need not be. */
static double resampled_median(const double *sorted, size_t n, unsigned *counts, uint64_t *state)
{
    size_t seen = 0;
    size_t i = 0;
    double lower;

    memset(counts, 0, n * sizeof(*counts));
    for (size_t draw = 0; draw < n; draw++)
        counts[nl_random(state) % n]++;
    for (; seen + counts[i] < (n + 1) / 2; i++)
        seen += counts[i];
    lower = sorted[i];
    if (n % 2)
        return lower;
    for (; seen + counts[i] < n / 2 + 1; i++)
        seen += counts[i];
    return lower / 2.0 + sorted[i] / 2.0;
}

static struct nl_interval bootstrap(const double *a, size_t n_a, const double *b, size_t n_b)
{
    cleanup_free double *sorted_a = sorted_copy(a, n_a);
    cleanup_free double *sorted_b = sorted_copy(b, n_b);
    cleanup_free unsigned *counts = calloc(n_a > n_b ? n_a : n_b, sizeof(*counts));
    double ratios[RESAMPLES];
    uint64_t state = 1;

    if (!counts)
        abort();
    for (size_t i = 0; i < RESAMPLES; i++) {
        double numerator = resampled_median(sorted_a, n_a, counts, &state);
        double denominator = resampled_median(sorted_b, n_b, counts, &state);

        if (denominator == 0.0)
            return (struct nl_interval){NAN, NAN};
        ratios[i] = numerator / denominator;
    }
    qsort(ratios, RESAMPLES, sizeof(*ratios), compare);
    return (struct nl_interval){ratios[(size_t)(RESAMPLES * TAIL)],
                                ratios[RESAMPLES - 1 - (size_t)(RESAMPLES * TAIL)]};
}

struct nl_ratio nl_ratio_of_medians(const double *a, size_t n_a, const double *b, size_t n_b)
{
    struct nl_summary top = nl_summarize(a, n_a);
    struct nl_summary bottom = nl_summarize(b, n_b);
    struct nl_ratio ratio = {.value = NAN, .interval = {NAN, NAN}, .unstable = true};

    if (bottom.median == 0.0)
        return ratio;
    ratio.value = top.median / bottom.median;
    if (n_a >= NL_STATS_MIN_SAMPLES && n_b >= NL_STATS_MIN_SAMPLES)
        ratio.interval = bootstrap(a, n_a, b, n_b);
    ratio.unstable = top.unstable || bottom.unstable || isnan(ratio.interval.low);
    return ratio;
}
