/*
 * scenario.h - a scenario: what stack to boot and what to do with it. The only place that knows the
 * JSON shape of a scenario; everybody else reads the structures below.
 */
#ifndef NL_SCENARIO_H
#define NL_SCENARIO_H

#include "error.h"

#include <stdbool.h>

/* A kernel of the user's own: a bzImage and (optional) the folder that holds lib/modules/VERSION or
   is that folder, or a Debian package. All NULL: the image's kernel. Absolute paths. */
struct nl_kernel_spec {
    char *image;
    char *modules;
    char *deb;
};

struct nl_layer_spec {
    char *name;  /* "L0", "L1", ...: its index in the stack */
    char *image; /* recipe: "hypervisor", "leaf", ... */
    int vcpus;
    int memory_mib;
    char *cpu;           /* NULL: the default (host-passthrough under KVM, EPYC under TCG), or
                            "host-passthrough", "host-model", "maximum", or a model's name */
    char **cpu_features; /* "+name" or "-name", NULL-terminated, may be NULL */
    bool virtualization; /* SVM or VMX exposed to this layer */
    bool nested;         /* nested=1 for kvm_amd and kvm_intel in this layer */
    json_t *modules;     /* object: module -> object: parameter -> string; may be NULL */
    char **kernel_args;  /* appended to the kernel command line; may be NULL */
    struct nl_kernel_spec kernel;
    char **debs;    /* Debian packages (absolute paths) installed over the image; may be NULL */
    char **disks;   /* raw disk images (absolute paths) that the layer gets read-only, with the
                       serials   nl-LN-0, nl-LN-1, ...; may be NULL */
    char *emulator; /* NULL, or the QEMU binary that runs this layer: an absolute path in the
                       layer below */
    char *machine;  /* NULL, or the machine type this layer gets */
};

/* A command to run at a layer; its exit status is a check. */
struct nl_command_spec {
    char *name;
    char *layer;     /* "L2": "innermost" has been replaced by its name here and below */
    char **argv;     /* NULL-terminated, at least one */
    char **files;    /* absolute paths, put into the command's working directory; may be NULL */
    int *skip_codes; /* exit statuses that mean "skipped" */
    size_t n_skip_codes;
    double timeout_s;
};

/* A check in the scenario: a jq program over the document. */
struct nl_check_spec {
    char *name;
    char *layer; /* NULL: about the whole run */
    char *program;
    char *explanation;
};

/* A fault to inject: fault-table.h. */
struct nl_fault_spec {
    char *layer;
    char *fault;
};

struct nl_benchmark_spec {
    char **names;      /* NULL: none; {"all", NULL}: all */
    char **layers;     /* NULL: every layer */
    int samples;       /* per benchmark, after warm-up; at least 10 */
    double precision;  /* of the median: more samples until it is reached; 0: no more */
    double budget_s;   /* per benchmark and layer */
    int extra_exits;   /* CPUIDs added to every operation, to test comparisons */
    bool exit_reasons; /* also count VM exits by reason, in a round of its own */
};

/* What the meter counts: single operations, in instructions, by layer. Only with an emulated L0. */
struct nl_meter_spec {
    char **benchmarks; /* NULL: none, and no meter; {"all", NULL}: all */
    char **layers;     /* NULL: every layer */
    int samples;       /* operations of each benchmark at each layer, after warm-up */
    double budget_s;   /* per benchmark and layer */
    bool profile;      /* also which functions execute the instructions */
    int extra_exits;   /* CPUIDs added to every operation, to test comparisons */
};

/* What must be found wrong: for scenarios with a fault in them. */
struct nl_expect_spec {
    char *diagnosis; /* its name; NULL: nothing is expected, and the checks decide */
    char *layer;     /* NULL: the diagnosis is of the whole run */
};

struct nl_timeouts {
    double boot_s;      /* a guest's start until its agent answers */
    double services_s;  /* from there until its services are up and libvirt is connected */
    double agent_s;     /* one question to an agent */
    double benchmark_s; /* one benchmark at one layer */
    double total_s;     /* the whole run */
};

/* More layers than anybody has booted; bounds disk letters, PCI slots and ports. */
#define NL_LAYERS_MAX 16
#define NL_LAYER_DISKS_MAX 4

struct nl_scenario {
    char *path; /* where it came from */
    char *name;
    char *description;
    char *l0; /* "emulated", "local" or "auto" */
    struct nl_layer_spec *layers;
    size_t n_layers;
    bool default_checks;
    char **without_checks; /* names of default checks left out; may be NULL */
    struct nl_check_spec *checks;
    size_t n_checks;
    struct nl_benchmark_spec benchmarks;
    struct nl_meter_spec meter;
    struct nl_command_spec *commands;
    size_t n_commands;
    struct nl_fault_spec *faults;
    size_t n_faults;
    struct nl_expect_spec expect;
    struct nl_timeouts timeouts;
};

/* What the command line changes; NULL, 0 and negative values mean "as the scenario says". */
struct nl_overrides {
    const char *l0;     /* --l0 */
    int depth;          /* --depth N: index of the innermost layer; < 0: unset */
    double timeout_s;   /* --timeout: total_s */
    char **assignments; /* --kernel L1=PATH and the like as "kernel:L1=PATH"; keys: kernel, modules,
                           kernel-arg, deb, qemu, machine, cpu, memory, vcpus; may be NULL */
    bool no_benchmarks; /* --no-benchmarks */
    bool exit_reasons;  /* --exit-reasons */
    const char *meter; /* --meter: names with commas between; "": as the scenario's meter says, else
                          what it benchmarks, else all */
    const char *profile_at; /* a layer: only there, with a profile; NULL: as the scenario says */
};

/* What OVERRIDES' meter is called in messages: the option, or the operand of `nestlab profile`. */
const char *nl_overrides_meter_name(const struct nl_overrides *overrides);

/* The text of the scenario's file at PATH, of LENGTH bytes and a NUL; the caller's. */
int nl_scenario_read(const char *path, char **text, size_t *length, struct nl_error **err);

/* Validate TEXT (LENGTH bytes) of the file PATH, whose folder relative names in it are relative to,
   and apply OVERRIDES (may be NULL). Whether what it names is there is for request.h. Errors
   (NL_EXIT_REQUEST) name file and line or JSON path, what is wrong and what is allowed. The result
   is the caller's: nl_scenario_free(). */
int nl_scenario_parse(const char *text, size_t length, const char *path,
                      const struct nl_overrides *overrides, struct nl_scenario **scenario,
                      struct nl_error **err);

/* The effective scenario as JSON, complete: loading it again gives the same. New reference. */
json_t *nl_scenario_to_json(const struct nl_scenario *scenario);

/* The key of LAYER that can only be had where the layer is a guest, or NULL: L0 can be this machine
   ("local") only if this says NULL for it. */
const char *nl_layer_needs_guest(const struct nl_layer_spec *layer);

/* What of the scenario can only be had where L0 is a guest: a key of L0, or a fault that is
   injected into it; NULL: nothing. */
const char *nl_scenario_needs_guest(const struct nl_scenario *scenario);

void nl_scenario_free(struct nl_scenario **scenario);
#define cleanup_scenario NL_CLEANUP(nl_scenario_free)

#endif
