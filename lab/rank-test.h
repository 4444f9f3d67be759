/*
 * rank-test.h - are two groups of numbers different, and by what factor: by ranks alone, because
 * nobody knows the distributions of timings.
 */
#ifndef NL_RANK_TEST_H
#define NL_RANK_TEST_H

#include "stats.h"

/* As many numbers as the exact distribution is worked out for. In its tails the normal
   approximation gives a somewhat larger p: at 25 against 25 by an eighth where p is 0.005. */
#define NL_RANK_TEST_EXACT 50

struct nl_rank_test {
    double u; /* pairs in which B's number is greater than A's; equal ones count half */
    double p; /* two-sided, at most 1 */
    bool exact;
};

/* Mann and Whitney's test of A (N_A > 0 numbers) against B. Exact, also with ties (the distribution
   of the rank sum over all ways to part these very numbers in two groups), for up to
   NL_RANK_TEST_EXACT numbers; else the normal approximation with corrections for ties and
   continuity (Conover, Practical Nonparametric Statistics, 3rd ed., 5.1).

   DEPENDENCE is 1 for independent numbers. Where neighbours are alike it is the factor by which
   that widens the variance of a mean, (1 + r) / (1 - r) for a lag-1 autocorrelation r; then the
   normal approximation is taken, with its variance multiplied by it. */
struct nl_rank_test nl_rank_test(const double *a, size_t n_a, const double *b, size_t n_b,
                                 double dependence);

/* The least p that groups of these sizes can give, however far apart they are. */
double nl_rank_test_least_p(size_t n_a, size_t n_b);

/* B's numbers over A's: the median of all N_A * N_B ratios (Hodges and Lehmann's estimate, of a
   factor instead of a shift), with the interval of level 1 - ALPHA that belongs to the test: it
   leaves out 1 where p is below ALPHA (Conover, 5.4, on logarithms). All numbers must be above 0,
   else the value is NAN; the interval is NAN where there are too few for ALPHA. */
struct nl_ratio nl_rank_ratio(const double *a, size_t n_a, const double *b, size_t n_b,
                              double alpha, double dependence);

/* Holm's step-down correction (1979) for N tests at once: each p becomes the least level of the
   whole family at which it is significant, so that the chance of any false alarm stays below that
   level. */
void nl_holm(double *p, size_t n);

#endif
