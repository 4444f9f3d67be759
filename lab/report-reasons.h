/*
 * report-reasons.h - VM exits by reason, in the words that text and page share.
 */
#ifndef NL_REPORT_REASONS_H
#define NL_REPORT_REASONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The exits of one layer's vCPU to the layer below it, while a benchmark ran. */
/* Below the lines, in both reports: why they do not add up. */
#define NL_EXIT_REASONS_NOTE                                                                       \
    "Every layer counts in a time of its own, which is longer than the round: with the exits of "  \
    "ticks, of waiting and of asking, each line is an upper bound by itself."

struct nl_exit_line {
    const char *benchmark;
    const char *at; /* the layer that ran it */
    double operations;
    bool first;          /* of this benchmark at this layer */
    const char *skipped; /* NULL, or why a layer counted nothing; the rest is not set then */
    const char *way;     /* "L2>L1"; "L2+>L0": of L2 and what is inside it, which L0 cannot tell */
    double total;        /* per operation */
    const char *reasons; /* "vmload 1.00, vmrun 1.00, ..." per operation, most frequent first */
};

typedef void nl_exit_visit(const struct nl_exit_line *line, void *data);

/* Every line of DOCUMENT, benchmark by benchmark; its strings live as long as the call. */
void nl_exit_lines(const json_t *document, nl_exit_visit *visit, void *data);

/* Is there any? */
bool nl_exit_reasons_counted(const json_t *document);

#endif
