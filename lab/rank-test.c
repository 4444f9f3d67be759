/*
 * rank-test.c - Mann and Whitney's test, its interval, and Holm's correction: see rank-test.h.
 */
#include "rank-test.h"
#include "cleanup.h"

#include <math.h>
#include <string.h>

struct ranked {
    double value;
    bool of_b;
    size_t twice; /* the rank, doubled: a mean rank of ties ends in a half */
};

static int by_value(const void *a, const void *b)
{
    double x = ((const struct ranked *)a)->value;
    double y = ((const struct ranked *)b)->value;

    return (x > y) - (x < y);
}

static void *room(size_t n, size_t size)
{
    void *memory = calloc(n ? n : 1, size);

    /* A test without memory has no meaningful answer. */
    if (!memory)
        abort();
    return memory;
}

/* All numbers with their ranks from 1, ties sharing the mean of theirs; TIES gets the sum of t^3 -
   t over groups of t equal ones. The caller's. */
static struct ranked *rank_all(const double *a, size_t n_a, const double *b, size_t n_b,
                               double *ties)
{
    size_t n = n_a + n_b;
    struct ranked *all = room(n, sizeof(*all));

    for (size_t i = 0; i < n; i++)
        all[i] = (struct ranked){.value = i < n_a ? a[i] : b[i - n_a], .of_b = i >= n_a};
    qsort(all, n, sizeof(*all), by_value);
    *ties = 0;
    for (size_t i = 0, end; i < n; i = end) {
        double t;

        for (end = i; end < n && all[end].value == all[i].value; end++)
            ;
        t = (double)(end - i);
        *ties += t * t * t - t;
        for (size_t k = i; k < end; k++)
            all[k].twice = i + 1 + end;
    }
    return all;
}

/* ways[s]: in how many ways K of the N doubled ranks have the sum s. SUM is the largest of
   interest. Doubles hold these numbers exactly up to NL_RANK_TEST_EXACT. The caller's. */
static double *count_ways(const size_t *twice, size_t n, size_t k, size_t sum)
{
    cleanup_free double *ways = room((k + 1) * (sum + 1), sizeof(*ways));
    double *last = room(sum + 1, sizeof(*last));

    ways[0] = 1;
    for (size_t i = 0; i < n; i++)
        for (size_t chosen = i + 1 < k ? i + 1 : k; chosen > 0; chosen--) {
            const double *from = ways + (chosen - 1) * (sum + 1);
            double *to = ways + chosen * (sum + 1);

            for (size_t s = sum; s >= twice[i]; s--)
                to[s] += from[s - twice[i]];
        }
    memcpy(last, ways + k * (sum + 1), (sum + 1) * sizeof(*last));
    return last;
}

/* How often a rank sum of K of these N numbers is as far from its mean as W2 (doubled), or
   farther. */
static double exact_p(const struct ranked *all, size_t n, size_t k, size_t w2)
{
    size_t twice[NL_RANK_TEST_EXACT];
    size_t sum = n * (n + 1); /* of all doubled ranks */
    double mean = (double)k * (double)(n + 1);
    double away = fabs((double)w2 - mean);
    double far = 0, total = 0;
    cleanup_free double *ways = NULL;

    for (size_t i = 0; i < n; i++)
        twice[i] = all[i].twice;
    ways = count_ways(twice, n, k, sum);
    for (size_t s = 0; s <= sum; s++) {
        total += ways[s];
        if (fabs((double)s - mean) >= away)
            far += ways[s];
    }
    return far / total;
}

static double normal_p(double u, double n_a, double n_b, double ties, double dependence)
{
    double n = n_a + n_b;
    double variance = n_a * n_b / 12 * (n + 1 - ties / (n * (n - 1))) * dependence;
    double away = fabs(u - n_a * n_b / 2) - 0.5;

    if (!(variance > 0) || away <= 0)
        return 1;
    return erfc(away / sqrt(2 * variance));
}

struct nl_rank_test nl_rank_test(const double *a, size_t n_a, const double *b, size_t n_b,
                                 double dependence)
{
    double ties;
    cleanup_free struct ranked *all = rank_all(a, n_a, b, n_b, &ties);
    struct nl_rank_test test = {.exact = n_a + n_b <= NL_RANK_TEST_EXACT && !(dependence > 1)};
    size_t sum_a = 0, sum_b = 0;

    for (size_t i = 0; i < n_a + n_b; i++)
        *(all[i].of_b ? &sum_b : &sum_a) += all[i].twice;
    test.u = (double)sum_b / 2 - (double)n_b * (double)(n_b + 1) / 2;
    if (test.exact)
        test.p = exact_p(all, n_a + n_b, n_a < n_b ? n_a : n_b, n_a < n_b ? sum_a : sum_b);
    else
        test.p = normal_p(test.u, (double)n_a, (double)n_b, ties, fmax(dependence, 1));
    return test;
}

double nl_rank_test_least_p(size_t n_a, size_t n_b)
{
    double n = (double)n_a, m = (double)n_b;

    return fmin(1, 2 * exp(lgamma(n + 1) + lgamma(m + 1) - lgamma(n + m + 1)));
}

/* x with P(Z > x) = TAIL for a standard normal Z. */
static double normal_quantile(double tail)
{
    double low = 0, high = 40;

    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;

        *(erfc(middle / M_SQRT2) / 2 > tail ? &low : &high) = middle;
    }
    return high;
}

/* The largest k with P(U < k) <= ALPHA / 2: how many of the ratios the interval leaves out on
   either side, and one. 0: there is no interval. */
static size_t order_of_ratios(size_t n_a, size_t n_b, double alpha, double dependence)
{
    size_t n = n_a + n_b, k = n_a < n_b ? n_a : n_b, least = k * (k + 1);
    double pairs = (double)n_a * (double)n_b, below = 0, total = 0;
    size_t twice[NL_RANK_TEST_EXACT], order = 0;
    cleanup_free double *ways = NULL;

    if (n > NL_RANK_TEST_EXACT || dependence > 1) {
        double half =
            normal_quantile(alpha / 2) * sqrt(fmax(dependence, 1) * pairs * (double)(n + 1) / 12);

        return half < pairs / 2 ? (size_t)(pairs / 2 - half) : 0;
    }
    for (size_t i = 0; i < n; i++)
        twice[i] = 2 * (i + 1);
    ways = count_ways(twice, n, k, n * (n + 1));
    for (size_t s = 0; s <= n * (n + 1); s++)
        total += ways[s];
    for (; order < n_a * n_b; order++) {
        below += ways[least + 2 * order] / total;
        if (below > alpha / 2)
            break;
    }
    return order;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double *sorted_copy(const double *numbers, size_t n)
{
    double *copy = room(n, sizeof(*copy));

    memcpy(copy, numbers, n * sizeof(*copy));
    qsort(copy, n, sizeof(*copy), by_size);
    return copy;
}

struct pairs {
    const double *a; /* sorted, above 0 */
    size_t n_a;
    const double *b;
    size_t n_b;
};

/* The Kth smallest of all ratios, from 1. By halving, since there may be billions of them: division
   rounds monotonously, so that this ends at one of them. */
static double ratio_of_order(const struct pairs *pairs, double k)
{
    double low = 0, high = pairs->b[pairs->n_b - 1] / pairs->a[0];

    for (;;) {
        double middle = low + (high - low) / 2;
        double below = 0;

        if (middle <= low || middle >= high)
            return high;
        for (size_t i = 0, j = 0; i < pairs->n_a; i++) {
            while (j < pairs->n_b && pairs->b[j] / pairs->a[i] <= middle)
                j++;
            below += (double)j;
        }
        *(below >= k ? &high : &low) = middle;
    }
}

struct nl_ratio nl_rank_ratio(const double *a, size_t n_a, const double *b, size_t n_b,
                              double alpha, double dependence)
{
    cleanup_free double *sorted_a = sorted_copy(a, n_a);
    cleanup_free double *sorted_b = sorted_copy(b, n_b);
    struct pairs pairs = {sorted_a, n_a, sorted_b, n_b};
    struct nl_ratio ratio = {.value = NAN, .interval = {NAN, NAN}};
    double n = (double)n_a * (double)n_b;
    size_t order = order_of_ratios(n_a, n_b, alpha, dependence);

    ratio.unstable = order == 0;
    if (!(sorted_a[0] > 0 && sorted_b[0] > 0 && isfinite(sorted_b[n_b - 1] / sorted_a[0])))
        return ratio;
    ratio.value =
        (ratio_of_order(&pairs, floor((n + 1) / 2)) + ratio_of_order(&pairs, ceil((n + 1) / 2))) /
        2;
    if (order > 0)
        ratio.interval = (struct nl_interval){ratio_of_order(&pairs, (double)order),
                                              ratio_of_order(&pairs, n + 1 - (double)order)};
    return ratio;
}

void nl_holm(double *p, size_t n)
{
    cleanup_free bool *done = room(n, sizeof(*done));
    double least = 0;

    for (size_t step = 0; step < n; step++) {
        size_t next = n;

        for (size_t i = 0; i < n; i++)
            if (!done[i] && (next == n || p[i] < p[next]))
                next = i;
        done[next] = true;
        least = fmax(least, fmin(1, p[next] * (double)(n - step)));
        p[next] = least;
    }
}
