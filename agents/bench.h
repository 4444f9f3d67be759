/*
 * bench.h - the benchmarks as the rest of the agent sees them.
 *
 * Every benchmark runs in a child process with a deadline, so that one that crashes or hangs is an
 * error with a reason and never takes the agent with it.
 */
#ifndef AGENT_BENCH_H
#define AGENT_BENCH_H

#include <jansson.h>
#include <stdbool.h>

/* Run the benchmark NAME. ARGS (may be NULL): "samples" (default 20, at least 10), "warmup" (2),
   "precision" (0: as many samples as asked for), "budget_s" (5), "deadline_s" (3 * budget_s + 10),
   "extra_exits" (0: CPUIDs added to every operation; the result then says so), "guest" (paths:
   "emulator", "firmware", "kernel", "initrd"); other keys are ignored. Blocks up to
   deadline_s. Where the budget ends before 10 samples are taken it goes on, up to the deadline. 0:
   *RESULT is a new reference to an object as docs/document.md describes under "benchmarks", but
   "layer", which is the caller's to add. -1: *ERROR is a malloc'd sentence. */
int agent_bench(const char *name, const json_t *args, json_t **result, char **error);

/* The array that the operation "benches" returns as "benchmarks"; a new reference. */
json_t *agent_bench_list(void);

/* main() calls this before anything else and, if it says true, returns AGENT_BENCH_CHILD_EXIT at
   once: the benchmark "exec" executes this very program and waits for its end, so whatever main()
   did first would be measured too. */
bool agent_bench_child(int argc, char **argv);

#define AGENT_BENCH_CHILD_EXIT 42

/* Defined by the agent's core: a folder for scratch files, mounted when first asked for. NULL if
   there is none; then *WHY_NOT is a malloc'd reason. The core owns the string it returns. */
const char *agent_scratch_dir(char **why_not);

#endif
