/*
 * change-point.h - where a series of figures, one of each run in their order, changes its level: by
 * ranks alone, because nobody knows how runs scatter.
 */
#ifndef NL_CHANGE_POINT_H
#define NL_CHANGE_POINT_H

#include <stddef.h>

/* A level is what so many runs have: one odd run is none. */
#define NL_CHANGE_LEVEL_MIN 3

/* No more orders than these are drawn, and no p is less than one of them. */
#define NL_CHANGE_ORDERS_MAX 1000000

struct nl_change_point {
    size_t at; /* the first number of the new level; 0: nothing can be told */
    double p;  /* that a series whose order is chance looks as changed as this somewhere; else 1 */
};

/* The likeliest change in N numbers. Whether there is one: by the greatest standardised difference
   of mean ranks before and after any place, the statistic of Mann and Whitney, as Pettitt's test
   (Applied Statistics 28, 1979) but standardised, so that a change near an end counts as much as
   one in the middle. Its p is by random orders of these very numbers, so that it is right also with
   ties and with the choice of the place; drawing ends early where p is not small (Besag and
   Clifford, Biometrika 78, 1991). So many orders are drawn that the least p is a twentieth of
   LEVEL, what p will be compared with, but for NL_CHANGE_ORDERS_MAX. The seed is fixed: the same
   numbers and level give the same p. Where it is: where the distances from the medians before and
   after are the least, all together.

   It takes the numbers to be independent of each other: where neighbours are alike (a machine that
   is slower for a week) it finds changes that are none of what is measured. */
struct nl_change_point nl_change_point(const double *numbers, size_t n, double level);

/* The least p that N numbers can give, if no two are equal. */
double nl_change_point_least_p(size_t n);

/* All changes in N numbers, of which FIRST is the likeliest: what is before and after a change is
   looked at again (binary segmentation), as long as p, times WEIGHT and times 4 for each change
   that a part is inside of, is at most ALPHA. WEIGHT is what FIRST's p was multiplied with to
   correct for other series. So the chance of a change too many, of all parts together, is at most
   that of FIRST's own test, as far as the parts begin and end where the level really changed.

   Puts up to MAX into CHANGES, sorted, with p so multiplied; returns how many. */
size_t nl_change_points(const double *numbers, size_t n, struct nl_change_point first,
                        double weight, double alpha, struct nl_change_point *changes, size_t max);

#endif
