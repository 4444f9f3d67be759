/*
 * scenario-rules.c - what must hold between the values of a scenario: which image may be where,
 * memory, names, references to layers.
 */
#include "fault-table.h"
#include "scenario-table.h"
#include "kernel-files.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

typedef int rule_function(const struct nl_scenario *scenario, const struct nl_json_place *root,
                          struct nl_error **err);

int nl_scenario_layer_index(const struct nl_scenario *scenario, const char *name)
{
    char *end;

    if (strcmp(name, "innermost") == 0)
        return (int)scenario->n_layers - 1;
    if (name[0] != 'L' || !isdigit((unsigned char)name[1]) || (name[1] == '0' && name[2]))
        return -1;
    errno = 0;
    unsigned long index = strtoul(name + 1, &end, 10);
    if (errno || *end || index >= scenario->n_layers)
        return -1;
    return (int)index;
}

char *nl_scenario_layer_names(const struct nl_scenario *scenario)
{
    size_t last = scenario->n_layers - 1;
    char *names = NULL;
    int length = last == 0 ? asprintf(&names, "allowed: L0, innermost")
                           : asprintf(&names, "allowed: L0 to L%zu, innermost", last);

    return length < 0 ? NULL : names;
}

const char *nl_layer_needs_guest(const struct nl_layer_spec *layer)
{
    const struct {
        const char *key;
        bool set;
    } needs[] = {
        {"cpu", layer->cpu},
        {"cpu_features", layer->cpu_features},
        {"virtualization", !layer->virtualization},
        {"nested", !layer->nested},
        {"modules", layer->modules},
        {"kernel_args", layer->kernel_args},
        {"kernel", layer->kernel.image || layer->kernel.modules || layer->kernel.deb},
        {"debs", layer->debs},
        {"disks", layer->disks},
        {"emulator", layer->emulator},
        {"machine", layer->machine},
    };

    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
        if (needs[i].set)
            return needs[i].key;
    return NULL;
}

const char *nl_scenario_needs_guest(const struct nl_scenario *scenario)
{
    for (size_t i = 0; i < scenario->n_faults; i++)
        if (nl_scenario_layer_index(scenario, scenario->faults[i].layer) == 0)
            return scenario->faults[i].fault;
    return nl_layer_needs_guest(&scenario->layers[0]);
}

/* The default: room for the layers within, and for an L0 and L1 that also run libvirt and QEMU. */
int nl_scenario_memory(const struct nl_scenario *scenario, size_t index)
{
    static const int by_position[] = {3072, 1536, 768, 512};
    size_t positions = sizeof(by_position) / sizeof(by_position[0]);

    if (scenario->layers[index].memory_mib)
        return scenario->layers[index].memory_mib;
    if (strcmp(scenario->layers[index].image, "leaf") == 0)
        return 256;
    int memory = by_position[index < positions ? index : positions - 1];
    if (index + 1 < scenario->n_layers) {
        int least = nl_scenario_memory(scenario, index + 1) + NL_MEMORY_STEP_MIB;
        memory = memory < least ? least : memory;
    }
    return memory;
}

/* Only the innermost layer can do without what boots another. */
static int rule_images(const struct nl_scenario *scenario, const struct nl_json_place *root,
                       struct nl_error **err)
{
    struct nl_json_place layers = nl_json_key(root, "layers");

    for (size_t i = 0; i + 1 < scenario->n_layers; i++) {
        struct nl_json_place layer = nl_json_index(&layers, i);
        struct nl_json_place image = nl_json_key(&layer, "image");
        if (strcmp(scenario->layers[i].image, "leaf") == 0)
            return nl_fail_at(err, &image,
                              "\"leaf\" cannot boot another layer; allowed: only for L%zu, the "
                              "innermost",
                              scenario->n_layers - 1);
    }
    return 0;
}

static int rule_memory(const struct nl_scenario *scenario, const struct nl_json_place *root,
                       struct nl_error **err)
{
    struct nl_json_place layers = nl_json_key(root, "layers");
    /* This machine's own memory is not the scenario's choice. */
    size_t first = strcmp(scenario->l0, "local") == 0 ? 1 : 0;

    for (size_t i = first; i + 1 < scenario->n_layers; i++) {
        struct nl_json_place layer = nl_json_index(&layers, i);
        struct nl_json_place place = nl_json_key(&layer, "memory_mib");
        int outer = nl_scenario_memory(scenario, i), inner = nl_scenario_memory(scenario, i + 1);
        if (outer < inner + NL_MEMORY_STEP_MIB)
            return nl_fail_at(
                err, &place,
                "L%zu has %d MiB, too little for L%zu with %d MiB inside it; allowed: "
                "at least %d, which is %d more than L%zu",
                i, outer, i + 1, inner, inner + NL_MEMORY_STEP_MIB, NL_MEMORY_STEP_MIB, i + 1);
    }
    return 0;
}

/* Modules of another release would not be found, or not load. */
static int check_modules(const struct nl_kernel_spec *kernel, const struct nl_json_place *at,
                         struct nl_error **err)
{
    struct nl_json_place place = nl_json_key(at, "modules");
    cleanup_free char *release = NULL, *modules = NULL;
    cleanup_error struct nl_error *found = NULL;

    if (nl_kernel_release(kernel->image, &release, &found) == 0 &&
        nl_kernel_modules(kernel->modules, release, &modules, &found) == 0)
        return 0;
    nl_fail_at(err, &place, "%s", nl_error_message(found));
    return nl_error_hint(found) ? nl_hint(err, "%s", nl_error_hint(found)) : -1;
}

static int rule_kernels(const struct nl_scenario *scenario, const struct nl_json_place *root,
                        struct nl_error **err)
{
    struct nl_json_place layers = nl_json_key(root, "layers");

    for (size_t i = 0; i < scenario->n_layers; i++) {
        const struct nl_kernel_spec *kernel = &scenario->layers[i].kernel;
        struct nl_json_place layer = nl_json_index(&layers, i);
        struct nl_json_place place = nl_json_key(&layer, "kernel");
        if (kernel->deb && (kernel->image || kernel->modules))
            return nl_fail_at(err, &place,
                              "\"deb\" excludes the others; allowed: \"deb\", or \"image\" with or "
                              "without \"modules\"");
        if (kernel->modules && !kernel->image)
            return nl_fail_at(err, &place,
                              "\"modules\" are for a kernel of one's own; allowed: only with "
                              "\"image\"");
        if (kernel->modules && check_modules(kernel, &place, err) < 0)
            return -1;
    }
    return 0;
}

static int rule_module_nested(const struct nl_scenario *scenario, const struct nl_json_place *root,
                              struct nl_error **err)
{
    static const char *const vendors[] = {"kvm_amd", "kvm_intel"};
    struct nl_json_place layers = nl_json_key(root, "layers");

    for (size_t i = 0; i < scenario->n_layers; i++) {
        struct nl_json_place layer = nl_json_index(&layers, i);
        struct nl_json_place modules = nl_json_key(&layer, "modules");
        for (size_t v = 0; v < 2; v++) {
            struct nl_json_place module = nl_json_key(&modules, vendors[v]);
            struct nl_json_place place = nl_json_key(&module, "nested");
            if (json_object_get(json_object_get(scenario->layers[i].modules, vendors[v]), "nested"))
                return nl_fail_at(err, &place,
                                  "belongs elsewhere; allowed: the layer's \"nested\", true or "
                                  "false, which sets it for AMD and Intel");
        }
    }
    return 0;
}

/* L0 runs under TCG or is this machine: neither can pass a host's CPU through to it. */
static int rule_l0(const struct nl_scenario *scenario, const struct nl_json_place *root,
                   struct nl_error **err)
{
    const struct nl_layer_spec *l0 = &scenario->layers[0];
    struct nl_json_place layers = nl_json_key(root, "layers");
    struct nl_json_place layer = nl_json_index(&layers, 0);
    const char *needs = nl_layer_needs_guest(l0);

    if (strcmp(scenario->l0, "local") == 0 && needs) {
        struct nl_json_place place = nl_json_key(&layer, needs);
        nl_fail_at(err, &place, "cannot be changed: with l0 \"local\", L0 is this machine");
        return nl_hint(err, "leave it out, or use l0 \"emulated\"");
    }
    if (l0->cpu && strncmp(l0->cpu, "host-", 5) == 0) {
        struct nl_json_place place = nl_json_key(&layer, "cpu");
        return nl_fail_at(err, &place,
                          "\"%s\" needs KVM, and an emulated L0 has none; allowed: a CPU model's "
                          "name, or \"maximum\"",
                          l0->cpu);
    }
    if (l0->emulator && access(l0->emulator, X_OK) < 0) {
        struct nl_json_place place = nl_json_key(&layer, "emulator");
        return nl_fail_at(err, &place, "%s: %s; allowed: a QEMU binary on this machine",
                          l0->emulator, strerror(errno));
    }
    return 0;
}

/* The meter counts what an emulated processor executes, and follows one. */
static int rule_meter(const struct nl_scenario *scenario, const struct nl_json_place *root,
                      struct nl_error **err)
{
    struct nl_json_place layers = nl_json_key(root, "layers");
    struct nl_json_place meter = nl_json_key(root, "meter");

    if (!scenario->meter.benchmarks)
        return 0;
    if (strcmp(scenario->l0, "local") == 0) {
        nl_fail_at(err, &meter, "cannot be: with l0 \"local\", instructions cannot be counted");
        return nl_hint(err, "use l0 \"emulated\", or leave the meter out");
    }
    for (size_t i = 0; i < scenario->n_layers; i++) {
        struct nl_json_place layer = nl_json_index(&layers, i);
        struct nl_json_place place = nl_json_key(&layer, "vcpus");
        if (scenario->layers[i].vcpus == 1)
            continue;
        nl_fail_at(err, &place, "L%zu has %d vCPUs, and the meter follows one; allowed: 1", i,
                   scenario->layers[i].vcpus);
        return nl_hint(err, "leave the meter out, or use --vcpus L%zu=1", i);
    }
    return 0;
}

/* One name space: a command's exit status is a check. */
static int rule_names(const struct nl_scenario *scenario, const struct nl_json_place *root,
                      struct nl_error **err)
{
    struct nl_json_place places[] = {nl_json_key(root, "checks"), nl_json_key(root, "commands")};
    size_t n = scenario->n_checks + scenario->n_commands;
    cleanup_free const char **names = calloc(n + 1, sizeof(*names));

    if (!names)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    for (size_t i = 0; i < n; i++) {
        bool command = i >= scenario->n_checks;
        size_t index = command ? i - scenario->n_checks : i;
        names[i] = command ? scenario->commands[index].name : scenario->checks[index].name;
        for (size_t j = 0; j < i; j++) {
            if (strcmp(names[i], names[j]) != 0)
                continue;
            struct nl_json_place element = nl_json_index(&places[command], index);
            struct nl_json_place place = nl_json_key(&element, "name");
            return nl_fail_at(err, &place,
                              "\"%s\" is also the name of another check or command; allowed: each "
                              "name once",
                              names[i]);
        }
    }
    return 0;
}

static int check_reference(const struct nl_scenario *scenario, const struct nl_json_place *place,
                           const char *name, struct nl_error **err)
{
    if (!name || nl_scenario_layer_index(scenario, name) >= 0)
        return 0;
    cleanup_free char *allowed = nl_scenario_layer_names(scenario);
    nl_fail_at(err, place, "there is no layer \"%s\"; %s", name, allowed ? allowed : "");
    return nl_hint(err, "\"innermost\" is the innermost layer at any --depth");
}

static int check_layers(const struct nl_scenario *scenario, const struct nl_json_place *at,
                        char *const *names, struct nl_error **err)
{
    struct nl_json_place layers = nl_json_key(at, "layers");

    for (size_t i = 0; names && names[i]; i++) {
        struct nl_json_place place = nl_json_index(&layers, i);
        if (check_reference(scenario, &place, names[i], err) < 0)
            return -1;
        for (size_t j = 0; j < i; j++)
            if (nl_scenario_layer_index(scenario, names[i]) ==
                nl_scenario_layer_index(scenario, names[j]))
                return nl_fail_at(err, &place, "\"%s\" is there twice; allowed: each layer once",
                                  names[i]);
    }
    return 0;
}

static int rule_references(const struct nl_scenario *scenario, const struct nl_json_place *root,
                           struct nl_error **err)
{
    struct nl_json_place commands = nl_json_key(root, "commands");
    struct nl_json_place checks = nl_json_key(root, "checks");
    struct nl_json_place benchmarks = nl_json_key(root, "benchmarks");
    struct nl_json_place meter = nl_json_key(root, "meter");
    struct nl_json_place expect = nl_json_key(root, "expect");
    struct nl_json_place expected = nl_json_key(&expect, "layer");

    for (size_t i = 0; i < scenario->n_commands; i++) {
        struct nl_json_place element = nl_json_index(&commands, i);
        struct nl_json_place place = nl_json_key(&element, "layer");
        if (check_reference(scenario, &place, scenario->commands[i].layer, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < scenario->n_checks; i++) {
        struct nl_json_place element = nl_json_index(&checks, i);
        struct nl_json_place place = nl_json_key(&element, "layer");
        if (check_reference(scenario, &place, scenario->checks[i].layer, err) < 0)
            return -1;
    }
    if (check_reference(scenario, &expected, scenario->expect.layer, err) < 0)
        return -1;
    if (check_layers(scenario, &benchmarks, scenario->benchmarks.layers, err) < 0)
        return -1;
    return check_layers(scenario, &meter, scenario->meter.layers, err);
}

static int rule_programs(const struct nl_scenario *scenario, const struct nl_json_place *root,
                         struct nl_error **err)
{
    struct nl_json_place commands = nl_json_key(root, "commands");

    for (size_t i = 0; i < scenario->n_commands; i++) {
        struct nl_json_place element = nl_json_index(&commands, i);
        struct nl_json_place argv = nl_json_key(&element, "argv");
        struct nl_json_place place = nl_json_index(&argv, 0);
        if (!*scenario->commands[i].argv[0])
            return nl_fail_at(err, &place, "is empty; allowed: a program's name or path");
    }
    return 0;
}

/* The files of a command all go into one folder. */
static int rule_files(const struct nl_scenario *scenario, const struct nl_json_place *root,
                      struct nl_error **err)
{
    struct nl_json_place commands = nl_json_key(root, "commands");

    for (size_t i = 0; i < scenario->n_commands; i++) {
        struct nl_json_place element = nl_json_index(&commands, i);
        struct nl_json_place files = nl_json_key(&element, "files");
        char *const *paths = scenario->commands[i].files;
        for (size_t j = 0; paths && paths[j]; j++) {
            struct nl_json_place place = nl_json_index(&files, j);
            for (size_t k = 0; k < j; k++) {
                if (strcmp(strrchr(paths[j], '/'), strrchr(paths[k], '/')) == 0)
                    return nl_fail_at(err, &place,
                                      "two files of one command are called \"%s\"; allowed: each "
                                      "name once",
                                      strrchr(paths[j], '/') + 1);
            }
        }
    }
    return 0;
}

static int check_fault(const struct nl_scenario *scenario, size_t index,
                       const struct nl_json_place *element, struct nl_error **err)
{
    const struct nl_fault_spec *spec = &scenario->faults[index];
    const struct nl_fault *fault = nl_fault_find(spec->fault);
    struct nl_json_place place = nl_json_key(element, "fault");
    struct nl_json_place layer = nl_json_key(element, "layer");
    int at = nl_scenario_layer_index(scenario, spec->layer);

    if (!fault) {
        cleanup_free char *allowed = nl_fault_names();
        const char *near = nl_fault_near(spec->fault);
        nl_fail_at(err, &place, "there is no fault \"%s\"%s%s%s", spec->fault,
                   near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
        return nl_hint(err, "%s", allowed ? allowed : "");
    }
    if (check_reference(scenario, &layer, spec->layer, err) < 0)
        return -1;
    if (fault->disk && strcmp(scenario->layers[at].image, "leaf") == 0)
        return nl_fail_at(err, &layer,
                          "%s is a leaf, and has nothing for \"%s\"; allowed: a layer "
                          "with another image",
                          scenario->layers[at].name, fault->name);
    if (fault->inside && (size_t)at + 1 == scenario->n_layers)
        return nl_fail_at(err, &layer,
                          "%s has no layer inside it, which \"%s\" is about; allowed: "
                          "a layer that boots another",
                          scenario->layers[at].name, fault->name);
    for (size_t i = 0; i < index; i++)
        if (strcmp(scenario->faults[i].fault, spec->fault) == 0 &&
            nl_scenario_layer_index(scenario, scenario->faults[i].layer) == at)
            return nl_fail_at(err, &place, "\"%s\" at %s is there twice; allowed: each fault once",
                              spec->fault, scenario->layers[at].name);
    return 0;
}

static int rule_faults(const struct nl_scenario *scenario, const struct nl_json_place *root,
                       struct nl_error **err)
{
    struct nl_json_place faults = nl_json_key(root, "faults");

    for (size_t i = 0; i < scenario->n_faults; i++) {
        struct nl_json_place element = nl_json_index(&faults, i);
        struct nl_json_place layer = nl_json_key(&element, "layer");
        if (check_fault(scenario, i, &element, err) < 0)
            return -1;
        if (strcmp(scenario->l0, "local") == 0 &&
            nl_scenario_layer_index(scenario, scenario->faults[i].layer) == 0) {
            nl_fail_at(err, &layer,
                       "L0 is this machine (l0 \"local\"), and no fault is injected "
                       "into it");
            return nl_hint(err, "choose a layer further in, or use l0 \"emulated\"");
        }
    }
    return 0;
}

static rule_function *const rules[] = {
    rule_images,     rule_memory,   rule_kernels, rule_module_nested, rule_l0,    rule_names,
    rule_references, rule_programs, rule_files,   rule_faults,        rule_meter,
};

int nl_scenario_check(const struct nl_scenario *scenario, const struct nl_json_place *root,
                      struct nl_error **err)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (rules[i](scenario, root, err) < 0)
            return -1;
    return 0;
}
