/*
 * bench.c - the table of benchmarks: list them, find one, run it if it can run at this layer.
 */
#include "bench.h"
#include "bench-run.h"
#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct benchmark *const families[] = {
    agent_bench_kernel, agent_bench_process, agent_bench_paging, agent_bench_exit, agent_bench_kvm,
    agent_bench_wakeup, agent_bench_compute, agent_bench_memory, agent_bench_disk, agent_bench_boot,
};

#define FAMILIES (sizeof families / sizeof *families)

static void list_one(json_t *list, const struct benchmark *benchmark)
{
    json_array_append_new(list,
                          json_pack("{s:s, s:s, s:s, s:i, s:i, s:b, s:b}", "name", benchmark->name,
                                    "unit", benchmark->unit, "about", benchmark->about, "version",
                                    benchmark->version, "needs_vcpus", benchmark->needs_vcpus,
                                    "needs_hypervisor", benchmark->needs_hypervisor,
                                    "higher_is_better", benchmark->higher_is_better));
}

json_t *agent_bench_list(void)
{
    json_t *list = json_array();

    for (size_t i = 0; i < FAMILIES; i++)
        for (const struct benchmark *b = families[i]; b->name; b++)
            list_one(list, b);
    return list;
}

static const struct benchmark *find(const char *name)
{
    for (size_t i = 0; i < FAMILIES; i++)
        for (const struct benchmark *b = families[i]; b->name; b++)
            if (!strcmp(b->name, name))
                return b;
    return NULL;
}

/* "no benchmark X; there are a, b, c" */
static char *unknown(const char *name)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const char *separator = "";

    if (!out)
        return NULL;
    /* Whatever else was asked for is not quoted: it may be anything. */
    if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] || strlen(name) > 100)
        name = "of that name";
    fprintf(out, "no benchmark %s; there are ", name);
    for (size_t i = 0; i < FAMILIES; i++)
        for (const struct benchmark *b = families[i]; b->name; b++) {
            fprintf(out, "%s%s", separator, b->name);
            separator = ", ";
        }
    fclose(out);
    return text;
}

/* KVM's own signature is at 0x40000000, or further up where it also offers Hyper-V's. */
static void hypervisor_signature(char signature[13])
{
    uint32_t registers[4];

    signature[0] = '\0';
    agent_bench_cpuid(1, registers);
    if (!(registers[2] & (1U << 31)))
        return;
    for (uint32_t leaf = 0x40000000; leaf < 0x40001000; leaf += 0x100) {
        agent_bench_cpuid(leaf, registers);
        if (leaf == 0x40000000 || !memcmp(&registers[1], "KVMKVMKVM\0\0", 12))
            memcpy(signature, &registers[1], 12);
    }
    signature[12] = '\0';
    for (char *c = signature; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

char *agent_bench_unfit(const struct benchmark *benchmark, int vcpus, const char *signature)
{
    char *reason = NULL;
    int length = 0;

    if (vcpus < benchmark->needs_vcpus)
        length = asprintf(&reason, "needs %d vCPUs, and this layer has %d to use",
                          benchmark->needs_vcpus, vcpus);
    else if (benchmark->needs_hypervisor && !signature[0])
        reason = strdup("needs KVM below, and this layer has no hypervisor leaf in CPUID");
    else if (benchmark->needs_hypervisor && strcmp(signature, "KVMKVMKVM") != 0)
        length = asprintf(&reason, "needs KVM below, and this layer's hypervisor is %s", signature);
    return length < 0 ? NULL : reason;
}

static int get_number(const json_t *args, const char *key, double low, double high, double *value,
                      char **error)
{
    const json_t *given = json_object_get(args, key);

    if (!given)
        return 0;
    *value = json_number_value(given);
    if (json_is_number(given) && *value >= low && *value <= high)
        return 0;
    if (asprintf(error, "\"%s\" must be a number from %g to %g", key, low, high) < 0)
        *error = NULL;
    return -1;
}

static int get_options(const json_t *args, struct bench_options *options, char **error)
{
    double samples = 20, warmup = 2, extra_exits = 0;
    const json_t *guest = json_object_get(args, "guest");

    options->budget_s = 5;
    options->precision = 0;
    if (get_number(args, "samples", NL_PROTOCOL_SAMPLES_MIN, NL_PROTOCOL_SAMPLES_MAX, &samples,
                   error) ||
        get_number(args, "precision", 0, 1, &options->precision, error) ||
        get_number(args, "warmup", 0, NL_PROTOCOL_SAMPLES_MAX, &warmup, error) ||
        get_number(args, "budget_s", 0.01, 600, &options->budget_s, error) ||
        get_number(args, "extra_exits", 0, AGENT_BENCH_EXTRA_EXITS_MAX, &extra_exits, error))
        return -1;
    if (samples != floor(samples) || warmup != floor(warmup) || extra_exits != floor(extra_exits)) {
        *error = strdup("\"samples\", \"warmup\" and \"extra_exits\" must be whole numbers");
        return -1;
    }
    options->deadline_s = options->budget_s * 3 + 10;
    if (get_number(args, "deadline_s", 0.01, 86400, &options->deadline_s, error))
        return -1;
    options->guest = (struct bench_guest){
        .emulator = json_string_value(json_object_get(guest, "emulator")),
        .firmware = json_string_value(json_object_get(guest, "firmware")),
        .kernel = json_string_value(json_object_get(guest, "kernel")),
        .initrd = json_string_value(json_object_get(guest, "initrd")),
    };
    options->metered = json_is_true(json_object_get(args, "metered"));
    options->samples = (long)samples;
    options->warmup = (long)warmup;
    options->extra_exits = (unsigned long)extra_exits;
    return 0;
}

/* Why it cannot run here, or NULL and where its scratch files go. */
static char *find_obstacle(const struct benchmark *benchmark, const char **scratch)
{
    char signature[13];
    char *reason;

    hypervisor_signature(signature);
    reason = agent_bench_unfit(benchmark, agent_bench_vcpus(), signature);
    if (!reason && benchmark->needs_scratch) {
        *scratch = agent_scratch_dir(&reason);
        if (!*scratch && !reason)
            reason = strdup("there is no folder for scratch files");
    }
    return reason;
}

int agent_bench(const char *name, const json_t *args, json_t **result, char **error)
{
    const struct benchmark *benchmark = find(name);
    const char *scratch = NULL;
    struct bench_options options;
    cleanup_free char *obstacle = NULL;

    *result = NULL;
    *error = NULL;
    if (!benchmark) {
        *error = unknown(name);
        return -1;
    }
    if (get_options(args, &options, error))
        return -1;
    obstacle = find_obstacle(benchmark, &scratch);
    if (obstacle)
        *result = agent_bench_skipped(benchmark, obstacle);
    else if (agent_bench_run(benchmark, &options, scratch, result, error))
        return -1;
    if (options.extra_exits > 0)
        json_object_set_new(*result, "extra_exits", json_integer((json_int_t)options.extra_exits));
    return 0;
}

bool agent_bench_child(int argc, char **argv)
{
    return argc == 1 && !strcmp(argv[0], AGENT_BENCH_CHILD_NAME);
}
