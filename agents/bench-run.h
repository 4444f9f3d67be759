/*
 * bench-run.h - how a benchmark is run: how many samples, and a process with a deadline around it.
 */
#ifndef AGENT_BENCH_RUN_H
#define AGENT_BENCH_RUN_H

#include "benchmark.h"
#include "protocol.h"

#include <jansson.h>

struct bench_options {
    long samples;     /* at least; with a precision up to AGENT_BENCH_MORE times as many */
    double precision; /* go on until half the width of the median's interval is at most this part of
                         the median, or the budget ends; 0: do not go on */
    long warmup;
    double budget_s;   /* for calibration, warm-up and samples; preparation is outside it. The
                          least number of samples is taken beyond it, too */
    double deadline_s; /* for all of it: then the process is killed */
    struct bench_guest guest;
    bool metered; /* single operations between marks, for the meter; nothing is timed */
    unsigned long extra_exits; /* CPUIDs that are added to every operation */
};

#define AGENT_BENCH_EXTRA_EXITS_MAX 1000

/* What is not precise after so many times the samples that were asked for varies by nature: no
   budget makes it precise, and all samples are kept in the document. */
#define AGENT_BENCH_MORE 10

/* A sample in the benchmark's unit from a batch of N that took ELAPSED_NS. */
double agent_bench_value(const struct benchmark *benchmark, double elapsed_ns, unsigned long n);

/* NULL, or the malloc'd reason why BENCHMARK cannot run at this layer. SIGNATURE is the
   hypervisor's CPUID signature, "" without one; VCPUS those that this process may use. */
char *agent_bench_unfit(const struct benchmark *benchmark, int vcpus, const char *signature);

/* A result without samples, and why. */
json_t *agent_bench_skipped(const struct benchmark *benchmark, const char *reason);

/* How many vCPUs this process may use. */
int agent_bench_vcpus(void);

/* Run it in a process of its own. SCRATCH may be NULL for a benchmark that does not need it.
   Returns as agent_bench() does. */
int agent_bench_run(const struct benchmark *benchmark, const struct bench_options *options,
                    const char *scratch, json_t **result, char **error);

#endif
