/*
 * work-tally.h - how many of a run's rows are good for something: a row is a benchmark at a layer,
 * timed or metered.
 */
#ifndef NL_WORK_TALLY_H
#define NL_WORK_TALLY_H

#include <jansson.h>
#include <stddef.h>

struct nl_work_tally {
    size_t rows;
    size_t failed;    /* there is no result */
    size_t skipped;   /* the benchmark does not fit the layer */
    size_t few;       /* too few samples to judge by */
    size_t disturbed; /* metered: no operation without an interrupt is known */
    size_t brief;     /* fewer samples than asked for, and enough */
};

/* ROW: an element of a layer's "benchmarks" or "metered" (docs/document.md). */
void nl_work_tally_add(struct nl_work_tally *tally, const json_t *row);

/* A row that has no result. */
void nl_work_tally_failed(struct nl_work_tally *tally);

/* "6 rows: 4 whole, 1 with too few samples to judge by, 1 skipped". The caller's; aborts when out
   of memory. */
char *nl_work_tally_text(const struct nl_work_tally *tally);

#endif
