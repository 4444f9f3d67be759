/*
 * change-point.c - where a series changes its level: see change-point.h.
 */
#include "change-point.h"
#include "cleanup.h"
#include "random.h"

#include <math.h>
#include <stdbool.h>

/* So many orders that look as changed end the drawing: p is known to about a fifth then. */
#define ENOUGH 20

/* What is printed is p: it must not be coarse where the level is not small. */
#define ORDERS_MIN 20000

/* Two sums that are equal may differ in their last digit. */
#define EQUAL (1 - 1e-12)

static int by_number(const void *a, const void *b)
{
    double x = **(const double *const *)a, y = **(const double *const *)b;

    return (x > y) - (x < y);
}

/* Twice the rank less twice the mean rank, whole numbers also with ties; false if all are equal. */
static bool find_ranks(const double *numbers, size_t n, long *ranks)
{
    cleanup_free const double **sorted = calloc(n, sizeof(*sorted));

    if (!sorted)
        abort();
    for (size_t i = 0; i < n; i++)
        sorted[i] = &numbers[i];
    qsort(sorted, n, sizeof(*sorted), by_number);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && *sorted[end] == *sorted[i]; end++)
            ;
        for (size_t k = i; k < end; k++)
            ranks[sorted[k] - numbers] = (long)(i + 1 + end) - (long)(n + 1);
    }
    return *sorted[0] != *sorted[n - 1];
}

/* The greatest square of the sum of the first ranks over its variance, but for a factor that all
   orders have. */
static double greatest(const long *ranks, size_t n, size_t *place)
{
    double most = -1;
    long sum = 0;

    *place = 0;

    for (size_t k = 1; k + NL_CHANGE_LEVEL_MIN <= n; k++) {
        sum += ranks[k - 1];
        double size = (double)sum * (double)sum / ((double)k * (double)(n - k));

        if (k < NL_CHANGE_LEVEL_MIN || size <= most)
            continue;
        most = size;
        *place = k;
    }
    return most;
}

/* costs[k]: the distances of the first K numbers from their median, all together. STEP -1 begins at
   the other end. */
static void find_costs(const double *numbers, size_t n, int step, double *costs)
{
    cleanup_free double *sorted = calloc(n, sizeof(*sorted));

    if (!sorted)
        abort();
    costs[0] = 0;
    for (size_t k = 0; k < n; k++) {
        double number = numbers[step > 0 ? k : n - 1 - k];
        size_t at = k;

        for (; at > 0 && sorted[at - 1] > number; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = number;
        costs[k + 1] = 0;
        for (size_t i = 0; i <= k; i++)
            costs[k + 1] += fabs(sorted[i] - sorted[k / 2]);
    }
}

/* Where two levels fit best. Ranks know nothing of sizes, and would be some runs off; but where one
   level fits as well as two, it is theirs that differs the most: BY_RANKS. */
static size_t find_place(const double *numbers, size_t n, size_t by_ranks)
{
    cleanup_free double *before = calloc(n + 1, sizeof(*before));
    cleanup_free double *after = calloc(n + 1, sizeof(*after));
    size_t place = NL_CHANGE_LEVEL_MIN;

    if (!before || !after)
        abort();
    find_costs(numbers, n, 1, before);
    find_costs(numbers, n, -1, after);
    for (size_t k = place; k + NL_CHANGE_LEVEL_MIN <= n; k++)
        if (before[k] + after[n - k] < before[place] + after[n - place])
            place = k;
    return before[place] + after[n - place] < before[n] * EQUAL ? place : by_ranks;
}

static void shuffle(long *ranks, size_t n, uint64_t *seed)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = nl_random(seed) % i;
        long kept = ranks[i - 1];

        ranks[i - 1] = ranks[k];
        ranks[k] = kept;
    }
}

static size_t orders_for(double level)
{
    double orders = ceil(ENOUGH / level);

    return orders < NL_CHANGE_ORDERS_MAX ? (size_t)fmax(orders, ORDERS_MIN) : NL_CHANGE_ORDERS_MAX;
}

struct nl_change_point nl_change_point(const double *numbers, size_t n, double level)
{
    cleanup_free long *ranks = calloc(n ? n : 1, sizeof(*ranks));
    struct nl_change_point change = {0, 1};
    uint64_t seed = 1;
    size_t orders = orders_for(level), as_changed = 0, drawn = 0, place;
    double seen;

    if (!ranks)
        abort();
    if (n < 2 * NL_CHANGE_LEVEL_MIN || !find_ranks(numbers, n, ranks))
        return change;
    seen = greatest(ranks, n, &place);
    change.at = find_place(numbers, n, place);
    while (drawn < orders - 1 && as_changed < ENOUGH) {
        shuffle(ranks, n, &seed);
        as_changed += greatest(ranks, n, &place) >= seen * EQUAL;
        drawn++;
    }
    /* Where all were drawn the order that was seen is one of them. */
    change.p = as_changed == ENOUGH ? (double)as_changed / (double)drawn
                                    : (double)(as_changed + 1) / (double)orders;
    return change;
}

double nl_change_point_least_p(size_t n)
{
    size_t half = n / 2;
    double ways = 1;

    if (n < 2 * NL_CHANGE_LEVEL_MIN)
        return 1;
    for (size_t i = 1; i <= half; i++)
        ways *= (double)(n - half + i) / (double)i;
    /* Up or down, and where N is odd the middle number may be on either side. */
    return fmax((n % 2 ? 4 : 2) / ways, 1.0 / NL_CHANGE_ORDERS_MAX);
}

/* Numbers from FROM up to END, inside of changes with a p of P at least. */
struct part {
    size_t from;
    size_t end;
    double p;
    double weight;
};

struct search {
    const double *numbers;
    double alpha;
    struct nl_change_point *changes;
    size_t n;
    size_t max;
};

static void look_into(struct search *search, struct part part);

static void found(struct search *search, struct part part, size_t at, double p)
{
    double weight = 4 * part.weight;

    p = fmin(1, fmax(part.p, p * part.weight));
    if (at == 0 || p > search->alpha)
        return;
    look_into(search, (struct part){part.from, part.from + at, p, weight});
    if (search->n < search->max)
        search->changes[search->n++] = (struct nl_change_point){part.from + at, p};
    look_into(search, (struct part){part.from + at, part.end, p, weight});
}

static void look_into(struct search *search, struct part part)
{
    struct nl_change_point change = nl_change_point(
        search->numbers + part.from, part.end - part.from, search->alpha / part.weight);

    found(search, part, change.at, change.p);
}

size_t nl_change_points(const double *numbers, size_t n, struct nl_change_point first,
                        double weight, double alpha, struct nl_change_point *changes, size_t max)
{
    struct search search = {numbers, alpha, changes, 0, max};

    found(&search, (struct part){0, n, 0, weight}, first.at, first.p);
    return search.n;
}
