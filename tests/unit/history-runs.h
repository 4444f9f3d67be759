/*
 * history-runs.h - for tests: documents of runs on many days.
 */
#ifndef NL_TEST_HISTORY_RUNS_H
#define NL_TEST_HISTORY_RUNS_H

#include "random.h"

#include <jansson.h>
#include <stdio.h>

/* What one run is to say. */
struct run {
    int day;            /* from 0: when it began, and its id */
    const char *kernel; /* of L1 */
    const char *cpu;    /* of this machine */
    double cpuid;       /* around what its samples at L1 are */
    int count;          /* instructions, 0: not metered */
    double create;      /* seconds of a phase of L1 */
    double repeats;     /* the part that its count is known to be equal within; 0: not known */
};

static inline json_t *run_layer(size_t k, const struct run *run)
{
    return json_pack("{s:o, s:i, s:s, s:{s:s}, s:{s:i, s:{s:s}, s:{s:s}, s:{s:s}}, s:[], s:[]}",
                     "name", json_sprintf("L%zu", k), "index", (int)k, "state", "up", "domain",
                     "type", "kvm", "facts", "vcpus", 1, "clock_source", "current", "kvm-clock",
                     "cpuid", "brand", "Test", "kernel", "release", k ? run->kernel : "6.1",
                     "benchmarks", "metered");
}

static inline json_t *run_samples(double around, uint64_t *seed)
{
    json_t *samples = json_array();

    for (int i = 0; i < 20; i++)
        json_array_append_new(
            samples, json_real(around * (1 + 0.1 * (double)(nl_random(seed) % 1000) / 1000)));
    return samples;
}

static inline json_t *run_document(const struct run *run, uint64_t *seed)
{
    json_t *layers = json_array();
    json_t *inner;

    for (size_t k = 0; k < 2; k++)
        json_array_append_new(layers, run_layer(k, run));
    inner = json_array_get(layers, 1);
    for (size_t k = 0; k < 2; k++)
        json_array_append_new(json_object_get(json_array_get(layers, k), "benchmarks"),
                              json_pack("{s:s, s:s, s:i, s:s, s:s, s:i, s:o, s:n}", "name", "cpuid",
                                        "unit", "ns", "version", 1, "clock", "CLOCK_MONOTONIC",
                                        "clock_source", "kvm-clock", "vcpus", 1, "samples",
                                        run_samples(k ? run->cpuid : 10, seed), "skipped"));
    if (run->count > 0)
        json_array_append_new(
            json_object_get(inner, "metered"),
            json_pack("{s:s, s:i, s:i, s:n, s:s, s:i, s:i, s:i, s:i, s:i, s:[i,i], s:[i,i], "
                      "s:o, s:[]}",
                      "name", "cpuid", "version", 1, "operations", 101, "skipped", "estimate",
                      "mode", "undisturbed", 100, "agreeing", 100, "total", run->count, "low",
                      run->count, "high", run->count + 50, "instructions", run->count - 19, 19,
                      "vmruns", 1, 0, "repeats",
                      run->repeats > 0 ? json_real(run->repeats) : json_null(), "samples"));
    return json_pack(
        "{s:{s:i}, s:{s:o, s:o, s:f, s:{s:s}, s:{s:s}}, s:{s:s}, "
        "s:[{s:s, s:s, s:f, s:f}, {s:n, s:s, s:f, s:f}], s:o, s:[], s:[], s:[], s:n, "
        "s:{s:s, s:i, s:s}}",
        "nestlab", "document", 1, "run", "id", json_sprintf("run-%03d", run->day), "started",
        json_sprintf("2026-%02d-%02dT10:15:00Z", 1 + run->day / 28, 1 + run->day % 28), "seconds",
        60.5, "l0", "taken", "emulated", "host", "cpu", run->cpu, "scenario", "name", "daily",
        "phases", "layer", "L1", "name", "create", "start_s", 1.0, "seconds", run->create, "layer",
        "name", "down", "start_s", 50.0, "seconds", 1.5, "layers", layers, "commands", "checks",
        "slowdown", "failure", "verdict", "status", "passed", "exit", 0, "summary", "");
}

#endif
