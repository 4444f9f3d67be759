/*
 * stability.h - may a series of samples be taken for independent samples of one thing? Looks at
 * their order, which medians and intervals do not see.
 */
#ifndef NL_STABILITY_H
#define NL_STABILITY_H

#include "stats.h"

/* The level of both tests: with sixty series in a document a few would be called unstable for
   nothing at 5 %. */
#define NL_STABILITY_LEVEL 0.01

/* A drift of less than this part of the median from the first to the last sample matters no more
   than an interval that wide. */
#define NL_STABILITY_DRIFT 0.05

struct nl_stability {
    bool wide;           /* the interval, or there is none: see stats.h */
    bool drifts;         /* Mann-Kendall, and by more than NL_STABILITY_DRIFT */
    bool autocorrelated; /* Bartels, and with what that costs the interval is wide */
    double lag1;         /* rank serial correlation of neighbours, -1 to 1 */
    double lag1_p;       /* that independent samples are as alike as this; one-sided */
    double drift;        /* by Theil-Sen's slope, over all samples, as a part of the median */
    double drift_p;      /* two-sided */
};

/* N > 0 SAMPLES in the order in which they were taken; SUMMARY is theirs. Tests are by ranks:
   Mann-Kendall's of a trend with correction for ties (Kendall, Rank Correlation Methods, 4th ed.;
   Sen, JASA 63, 1968, for the slope) and Bartels' rank version of von Neumann's ratio (JASA 77,
   1982). Fewer than NL_STATS_MIN_SAMPLES neither drift nor correlate: nobody could tell. */
struct nl_stability nl_stability(const double *samples, size_t n, const struct nl_summary *summary);

/* (1 + r) / (1 - r): by how much fewer the independent samples are than those taken. 1 where
   nothing shows that they depend on each other. */
double nl_dependence(const struct nl_stability *stability);

#endif
