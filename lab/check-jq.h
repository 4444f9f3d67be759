/*
 * check-jq.h - evaluate jq programs over a document, in a child process that a hanging, crashing or
 * greedy program cannot leave.
 */
#ifndef NL_CHECK_JQ_H
#define NL_CHECK_JQ_H

#include "error.h"

/* One evaluation. The program sees the document as `.`, and $layer (the layer's object, null for a
   check of the whole run), $below (the layer below it, or null), $layers, $lists and the functions
   of the prelude. Programs are compiled once for all evaluations that share the pointer. */
struct nl_jq_check {
    const char *program;
    int layer; /* index into the document's layers; -1: the whole run */
};

struct nl_jq_limits {
    double each_s;  /* for one evaluation */
    double total_s; /* for all of them */
};

/* Evaluate CHECKS in order. RESULTS gets an array of {"verdict": "pass" | "fail" | "error" |
   "skip", "message": string | null}, new reference. A program's outcome: true passes, false fails,
   a string fails with that message, {"verdict", "message", "evidence": [string]} is taken as it is
   ("evidence" is only there where the program gave some); anything else (null, nothing, several
   outputs, a jq error, no end within the limits) is the verdict "error". Fails only if no child can
   be had. */
int nl_jq_evaluate(const json_t *document, const json_t *lists, const char *prelude,
                   const struct nl_jq_check *checks, size_t n, const struct nl_jq_limits *limits,
                   json_t **results, struct nl_error **err);

/* Compile each of the N PROGRAMS, as nl_jq_evaluate would, and run none. RESULTS gets an array of
   {"verdict": "pass" | "error", "message": string | null}, new reference. */
int nl_jq_compile(const char *prelude, const char *const *programs, size_t n,
                  const struct nl_jq_limits *limits, json_t **results, struct nl_error **err);

#endif
