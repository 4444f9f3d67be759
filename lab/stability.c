/*
 * stability.c - drift and autocorrelation of a series: see stability.h.
 */
#include "stability.h"
#include "cleanup.h"

#include <math.h>
#include <string.h>

/* Both tests of a trend look at all pairs; a longer series is thinned out evenly. */
#define TREND_MAX 1000

#define LAG1_MAX 0.95

static void *room(size_t n, size_t size)
{
    void *memory = calloc(n ? n : 1, size);

    if (!memory)
        abort();
    return memory;
}

struct place {
    double value;
    size_t index;
};

static int by_value(const void *a, const void *b)
{
    double x = ((const struct place *)a)->value;
    double y = ((const struct place *)b)->value;

    return (x > y) - (x < y);
}

/* Ranks from 1 in the order of SAMPLES, equal ones sharing their mean; TIES gets the sum of
   t (t - 1) (2 t + 5) over groups of t equal ones, which is Kendall's correction. The caller's. */
static double *ranks_of(const double *samples, size_t n, double *ties)
{
    cleanup_free struct place *places = room(n, sizeof(*places));
    double *ranks = room(n, sizeof(*ranks));

    for (size_t i = 0; i < n; i++)
        places[i] = (struct place){samples[i], i};
    qsort(places, n, sizeof(*places), by_value);
    *ties = 0;
    for (size_t i = 0, end; i < n; i = end) {
        double t;

        for (end = i; end < n && places[end].value == places[i].value; end++)
            ;
        t = (double)(end - i);
        *ties += t * (t - 1) * (2 * t + 5);
        for (size_t k = i; k < end; k++)
            ranks[places[k].index] = (double)(i + 1 + end) / 2;
    }
    return ranks;
}

/* von Neumann's ratio of ranks has the mean 2 for independent samples, and this variance. */
static void look_at_neighbours(struct nl_stability *stability, const double *samples, size_t n)
{
    double ties;
    cleanup_free double *ranks = ranks_of(samples, n, &ties);
    double mean = ((double)n + 1) / 2, steps = 0, squares = 0, products = 0, m = (double)n;
    double variance = 4 * (m - 2) * (5 * m * m - 2 * m - 9) / (5 * m * (m + 1) * (m - 1) * (m - 1));

    for (size_t i = 0; i < n; i++) {
        squares += (ranks[i] - mean) * (ranks[i] - mean);
        if (i == 0)
            continue;
        steps += (ranks[i] - ranks[i - 1]) * (ranks[i] - ranks[i - 1]);
        products += (ranks[i] - mean) * (ranks[i - 1] - mean);
    }
    if (!(squares > 0))
        return;
    stability->lag1 = products / squares;
    stability->lag1_p = erfc((2 - steps / squares) / sqrt(2 * variance)) / 2;
}

static double kendall_p(double score, double n, double ties)
{
    double variance = (n * (n - 1) * (2 * n + 5) - ties) / 18;
    double away = fabs(score) - 1; /* the score moves in steps of two */

    if (!(variance > 0) || away <= 0)
        return 1;
    return erfc(away / sqrt(2 * variance));
}

static void look_at_trend(struct nl_stability *stability, const double *samples, size_t n,
                          double median)
{
    size_t step = (n + TREND_MAX - 1) / TREND_MAX, few = (n + step - 1) / step, used = 0;
    cleanup_free double *thin = room(few, sizeof(*thin));
    cleanup_free double *slopes = room(few * (few - 1) / 2, sizeof(*slopes));
    double score = 0, ties;

    for (size_t i = 0; i < few; i++)
        thin[i] = samples[i * step];
    for (size_t i = 0; i < few; i++)
        for (size_t k = i + 1; k < few; k++) {
            score += (thin[k] > thin[i]) - (thin[k] < thin[i]);
            slopes[used++] = (thin[k] - thin[i]) / (double)(k - i);
        }
    free(ranks_of(thin, few, &ties));
    stability->drift_p = kendall_p(score, (double)few, ties);
    if (median != 0)
        stability->drift = nl_median(slopes, used) / fabs(median) * (double)(few - 1);
}

double nl_dependence(const struct nl_stability *stability)
{
    double r = fmin(stability->lag1, LAG1_MAX);

    if (!(stability->lag1_p <= NL_STABILITY_LEVEL) || !(r > 0))
        return 1;
    return (1 + r) / (1 - r);
}

struct nl_stability nl_stability(const double *samples, size_t n, const struct nl_summary *summary)
{
    struct nl_stability stability = {.wide = summary->unstable, .lag1_p = 1, .drift_p = 1};
    double width = summary->interval.high - summary->interval.low;

    if (n < NL_STATS_MIN_SAMPLES)
        return stability;
    look_at_neighbours(&stability, samples, n);
    look_at_trend(&stability, samples, n, summary->median);
    stability.drifts =
        stability.drift_p <= NL_STABILITY_LEVEL && fabs(stability.drift) > NL_STABILITY_DRIFT;
    stability.autocorrelated =
        stability.lag1_p <= NL_STABILITY_LEVEL &&
        width * sqrt(nl_dependence(&stability)) > NL_STATS_UNSTABLE_WIDTH * fabs(summary->median);
    return stability;
}
