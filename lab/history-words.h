/*
 * history-words.h - words for what a history says: the same on a terminal and in a page.
 */
#ifndef NL_HISTORY_WORDS_H
#define NL_HISTORY_WORDS_H

#include <jansson.h>
#include <stdbool.h>

/* "11-30 10:15", when the run of that index began (UTC). */
struct nl_history_when {
    char text[24];
};
struct nl_history_when nl_history_when(const json_t *history, json_int_t run);

/* Its id, borrowed. */
const char *nl_history_run(const json_t *history, json_int_t run);

/* A value of SERIES: counts to the last digit, else four significant ones. */
void nl_history_number(char text[32], const json_t *series, double value);

/* The median of all its values. */
double nl_history_median(const json_t *series);

/* Has the lane any series? */
bool nl_history_lane_used(const json_t *history, size_t lane);

/* What differs with any change of the lane that begins at RUN. New reference. */
json_t *nl_history_differences(const json_t *history, size_t lane, json_int_t run);

/* Each of these is the caller's; NULL when out of memory. */

/* "nested-boot, L0 to L2, metered: counts of 12 runs" */
char *nl_history_lane(const json_t *lane);

/* "L0: kernel: 6.1.0 -> 6.9.0" of a difference or of what sets a lane apart. */
char *nl_history_difference(const json_t *difference);

/* "cpuid at L1: 1200 -> 1290 ns (7.5 % more), p 0.0012" */
char *nl_history_change(const json_t *series, const json_t *change);

/* How many series changed, how sure that is, and how many could not be judged. */
char *nl_history_sum(const json_t *history);

#endif
