/*
 * scenario-override.c - what the command line changes in a scenario: depth, where L0 is, and what
 * is tested at a layer.
 */
#include "scenario-table.h"
#include "suggest.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct assignment {
    const char *option; /* for messages: "--kernel L1=PATH" as it was given */
    const char *value;
    const char *folder;
    struct nl_layer_spec *layer;
};

struct option {
    const char *key;  /* before the colon of an assignment, and after the "--" of the option */
    const char *what; /* after the "=" */
    int (*assign)(const struct assignment *a, const char *field, struct nl_error **err);
    const char *field;
};

static struct nl_json_source option_source(const struct assignment *a)
{
    return (struct nl_json_source){.name = a->option, .option = true, .folder = a->folder};
}

/* By the table's field, so that an option is checked exactly as the scenario's key is. */
static int decode(const struct assignment *a, const struct nl_record *record, const char *key,
                  json_t *value, void *into, struct nl_error **err)
{
    cleanup_json json_t *owned = value;
    struct nl_json_source source = option_source(a);
    struct nl_json_place root = nl_json_root(&source);

    if (!owned)
        return nl_fail(err, NL_EXIT_REQUEST, "%s: is not UTF-8 text", a->option);
    return nl_field_decode(nl_record_field(record, key), &root, owned, into, err);
}

static int assign_text(const struct assignment *a, const char *field, struct nl_error **err)
{
    return decode(a, &nl_layer_record, field, json_string(a->value), a->layer, err);
}

static int assign_element(const struct assignment *a, const char *field, struct nl_error **err)
{
    json_t *value = json_string(a->value);

    return decode(a, &nl_layer_record, field, value ? json_pack("[o]", value) : NULL, a->layer,
                  err);
}

static int assign_kernel(const struct assignment *a, const char *field, struct nl_error **err)
{
    size_t length = strlen(a->value);
    bool deb = length > 4 && strcmp(a->value + length - 4, ".deb") == 0;

    (void)field;
    /* Modules that the scenario named belong to the kernel that it named. */
    nl_record_release(&nl_kernel_record, &a->layer->kernel);
    return decode(a, &nl_kernel_record, deb ? "deb" : "image", json_string(a->value),
                  &a->layer->kernel, err);
}

static int assign_modules(const struct assignment *a, const char *field, struct nl_error **err)
{
    if (!a->layer->kernel.image) {
        nl_fail(err, NL_EXIT_REQUEST, "%s: %s has no bzImage of your own that they would belong to",
                a->option, a->layer->name);
        return a->layer->kernel.deb
                   ? nl_hint(err, "a kernel's Debian package brings its modules: leave them out")
                   : nl_hint(err, "add --kernel %s=BZIMAGE", a->layer->name);
    }
    return decode(a, &nl_kernel_record, field, json_string(a->value), &a->layer->kernel, err);
}

static int assign_number(const struct assignment *a, const char *field, struct nl_error **err)
{
    char *end;

    errno = 0;
    long number = strtol(a->value, &end, 10);
    if (errno || end == a->value || *end)
        return nl_fail(err, NL_EXIT_REQUEST, "%s: must be a whole number", a->option);
    return decode(a, &nl_layer_record, field, json_integer(number), a->layer, err);
}

static int assign_memory(const struct assignment *a, const char *field, struct nl_error **err)
{
    char *end;

    errno = 0;
    long mib = strtol(a->value, &end, 10);
    if (!errno && end > a->value && strcmp(end, "G") == 0 && mib <= LONG_MAX / 1024)
        mib = mib * 1024, end++;
    else if (end > a->value && strcmp(end, "M") == 0)
        end++;
    if (errno || end == a->value || *end)
        return nl_fail(err, NL_EXIT_REQUEST,
                       "%s: is not a size; allowed: MiB, such as 1536 or 1536M, or GiB, such as 2G",
                       a->option);
    return decode(a, &nl_layer_record, field, json_integer(mib), a->layer, err);
}

/* Applied in this order, whatever the order they were given in: modules after the kernel that they
   belong to. */
static const struct option options[] = {
    {"kernel", "PATH", assign_kernel, NULL},
    {"modules", "FOLDER", assign_modules, "modules"},
    {"kernel-arg", "ARGUMENT", assign_element, "kernel_args"},
    {"deb", "PATH", assign_element, "debs"},
    {"qemu", "PATH", assign_text, "emulator"},
    {"machine", "TYPE", assign_text, "machine"},
    {"cpu", "MODEL", assign_text, "cpu"},
    {"memory", "SIZE", assign_memory, "memory_mib"},
    {"vcpus", "N", assign_number, "vcpus"},
};

#define N_OPTIONS (sizeof(options) / sizeof(options[0]))

static bool is_key(const char *assignment, const char *key)
{
    size_t length = strlen(key);

    return strncmp(assignment, key, length) == 0 && assignment[length] == ':';
}

static int apply_option(struct nl_scenario *scenario, const struct option *option,
                        const char *argument, const char *folder, struct nl_error **err)
{
    cleanup_free char *shown = NULL;
    const char *equals = strchr(argument, '=');
    cleanup_free char *layer = equals ? strndup(argument, (size_t)(equals - argument)) : NULL;
    cleanup_free char *allowed = nl_scenario_layer_names(scenario);

    if (asprintf(&shown, "--%s %s", option->key, argument) < 0) {
        shown = NULL;
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    if (!layer)
        return nl_fail(err, NL_EXIT_REQUEST,
                       "%s: names no layer; allowed: --%s LAYER=%s, such as L1=%s", shown,
                       option->key, option->what, option->what);
    int index = nl_scenario_layer_index(scenario, layer);
    if (index < 0)
        return nl_fail(err, NL_EXIT_REQUEST, "%s: there is no layer \"%s\"; %s", shown, layer,
                       allowed ? allowed : "");
    const struct assignment a = {shown, equals + 1, folder, &scenario->layers[index]};
    return option->assign(&a, option->field, err);
}

static int check_keys(char *const *assignments, struct nl_error **err)
{
    for (; assignments && *assignments; assignments++) {
        bool known = false;
        for (size_t i = 0; i < N_OPTIONS; i++)
            known = known || is_key(*assignments, options[i].key);
        if (!known)
            return nl_fail(err, NL_EXIT_REQUEST, "\"%s\" is no assignment to a layer",
                           *assignments);
    }
    return 0;
}

static int apply_assignments(struct nl_scenario *scenario, char *const *assignments,
                             struct nl_error **err)
{
    cleanup_free char *folder = getcwd(NULL, 0);

    if (!folder)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "the working directory");
    if (check_keys(assignments, err) < 0)
        return -1;
    for (size_t i = 0; i < N_OPTIONS; i++) {
        for (char *const *a = assignments; a && *a; a++) {
            if (is_key(*a, options[i].key) &&
                apply_option(scenario, &options[i], strchr(*a, ':') + 1, folder, err) < 0)
                return -1;
        }
    }
    return 0;
}

static void release_layer(struct nl_layer_spec *layer)
{
    free(layer->name);
    layer->name = NULL;
    nl_record_release(&nl_layer_record, layer);
}

/* The innermost stays, hypervisors go from the inside; L0 goes never. */
static void make_shallower(struct nl_scenario *scenario, size_t depth)
{
    struct nl_layer_spec *layers = scenario->layers;
    size_t last = scenario->n_layers - 1;

    for (size_t i = depth ? depth : 1; i < last; i++)
        release_layer(&layers[i]);
    if (depth)
        layers[depth] = layers[last];
    else
        release_layer(&layers[last]);
    scenario->n_layers = depth + 1;
}

static int copy_layer(const struct nl_layer_spec *from, bool from_l0, struct nl_layer_spec *to,
                      struct nl_error **err)
{
    static const char *const only_l0[] = {"cpu", "cpu_features", "emulator", "machine"};
    cleanup_json json_t *json = nl_record_encode(&nl_layer_record, from);
    const struct nl_json_source source = {.name = "--depth"};
    const struct nl_json_place root = nl_json_root(&source);

    /* The default for its new position, which fits its neighbours. */
    json_object_del(json, "memory_mib");
    /* Under TCG a CPU and a machine are chosen for TCG, and L0's QEMU is a file on this machine. */
    for (size_t i = 0; from_l0 && i < sizeof(only_l0) / sizeof(only_l0[0]); i++)
        json_object_del(json, only_l0[i]);
    return nl_record_decode(&nl_layer_record, &root, json, to, err);
}

/* Copies of the innermost hypervisor layer go in before the innermost layer. */
static int make_deeper(struct nl_scenario *scenario, size_t depth, struct nl_error **err)
{
    size_t last = scenario->n_layers - 1;
    struct nl_layer_spec *grown;

    if (last == 0)
        return nl_fail(err, NL_EXIT_REQUEST,
                       "--depth %zu: %s has only L0, nothing to make copies of; allowed: 0", depth,
                       scenario->path);
    grown = reallocarray(scenario->layers, depth + 1, sizeof(*grown));
    if (!grown)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    scenario->layers = grown;
    memset(&grown[last + 1], 0, (depth - last) * sizeof(*grown));
    for (size_t i = last + 1; i <= depth; i++) {
        struct nl_layer_spec innermost = grown[i - 1];
        memset(&grown[i - 1], 0, sizeof(*grown));
        grown[i] = innermost;
        scenario->n_layers = i + 1;
        if (copy_layer(&grown[last - 1], last == 1, &grown[i - 1], err) < 0)
            return -1;
    }
    for (size_t i = depth; i-- > 0;) {
        int least = nl_scenario_memory(scenario, i + 1) + NL_MEMORY_STEP_MIB;
        if (grown[i].memory_mib && grown[i].memory_mib < least)
            grown[i].memory_mib = least;
    }
    return 0;
}

static int apply_depth(struct nl_scenario *scenario, int depth, struct nl_error **err)
{
    size_t last = scenario->n_layers - 1;

    if (depth >= NL_LAYERS_MAX)
        return nl_fail(err, NL_EXIT_REQUEST, "--depth %d: is too deep; allowed: 0 to %d", depth,
                       NL_LAYERS_MAX - 1);
    if ((size_t)depth < last)
        make_shallower(scenario, (size_t)depth);
    else if ((size_t)depth > last && make_deeper(scenario, (size_t)depth, err) < 0)
        return -1;
    return nl_scenario_name_layers(scenario, err);
}

/* An option that is a key of the scenario's own. */
static int set_key(const struct nl_record *record, const char *key, const char *option,
                   json_t *value, void *into, struct nl_error **err)
{
    const struct assignment a = {.option = option};

    return decode(&a, record, key, value, into, err);
}

/* What --meter=NAMES names, or else what the scenario benchmarks, or else all. */
static json_t *metered_benchmarks(const struct nl_scenario *scenario, const char *names)
{
    char *const *benchmarked = scenario->benchmarks.names;
    cleanup_free char *copy = strdup(names);
    json_t *array;
    char *rest = NULL;

    if (!copy || strcmp(names, "all") == 0 ||
        (!*names && (!benchmarked || strcmp(*benchmarked, "all") == 0)))
        return json_string("all");
    array = json_array();
    rest = *names ? copy : NULL;
    for (char *name = strsep(&rest, ","); name; name = strsep(&rest, ","))
        json_array_append_new(array, json_string(name));
    for (; !*names && *benchmarked; benchmarked++)
        json_array_append_new(array, json_string(*benchmarked));
    return array;
}

const char *nl_overrides_meter_name(const struct nl_overrides *overrides)
{
    return overrides->profile_at ? "the benchmark" : "--meter";
}

/* "l1" for "L1". Another number is another layer, and is no slip. Returns -1. */
static int hint_layer(const struct nl_scenario *scenario, const char *name, struct nl_error **err)
{
    char names[NL_LAYERS_MAX][8];
    const char *known[NL_LAYERS_MAX + 2] = {"innermost"};
    const char *near;

    for (size_t k = 0; k < scenario->n_layers && k < NL_LAYERS_MAX; k++) {
        snprintf(names[k], sizeof(names[k]), "L%zu", k);
        known[1 + k] = names[k];
    }
    near = nl_suggest(name, known);
    if (near && (near == known[0] || strcasecmp(near, name) == 0))
        nl_hint(err, "did you mean %s?", near);
    return -1;
}

static int check_profile(const struct nl_scenario *scenario, const char *names,
                         const char *profile_at, struct nl_error **err)
{
    cleanup_free char *allowed = NULL;

    if (strcmp(names, "all") == 0 || strchr(names, ','))
        return nl_fail(err, NL_EXIT_REQUEST, "%s: is not the name of one benchmark", names);
    if (nl_scenario_layer_index(scenario, profile_at) >= 0)
        return 0;
    allowed = nl_scenario_layer_names(scenario);
    nl_fail(err, NL_EXIT_REQUEST, "--at %s: there is no such layer; %s", profile_at,
            allowed ? allowed : "");
    return hint_layer(scenario, profile_at, err);
}

/* --meter, and what `nestlab profile` asks for. Other keys stay as the scenario has them. */
static int apply_meter(struct nl_scenario *scenario, const struct nl_overrides *overrides,
                       struct nl_error **err)
{
    const char *names = overrides->meter, *profile_at = overrides->profile_at;
    const struct nl_record *record = nl_record_field(&nl_scenario_record, "meter")->record;
    struct nl_json_source source = {.name = nl_overrides_meter_name(overrides), .option = true};
    struct nl_json_place root = nl_json_root(&source);
    cleanup_json json_t *meter = NULL;

    if (!*names && scenario->meter.benchmarks)
        return 0;
    if (profile_at && check_profile(scenario, names, profile_at, err) < 0)
        return -1;
    meter = nl_record_encode(record, &scenario->meter);
    if (!scenario->meter.benchmarks)
        json_object_clear(meter); /* not there, so it has no defaults yet */
    json_object_set_new(meter, "benchmarks", metered_benchmarks(scenario, names));
    if (profile_at) {
        json_object_set_new(meter, "layers", json_pack("[s]", profile_at));
        json_object_set_new(meter, "profile", json_true());
    }
    nl_record_release(record, &scenario->meter);
    return nl_record_decode(record, &root, meter, &scenario->meter, err);
}

/* Is there a benchmark at a layer that is somebody's guest? */
static int check_exit_reasons(const struct nl_scenario *scenario, bool no_benchmarks,
                              struct nl_error **err)
{
    const struct nl_benchmark_spec *spec = &scenario->benchmarks;
    bool at_guest = !spec->layers && scenario->n_layers > 1;

    if (!spec->names) {
        nl_fail(err, NL_EXIT_REQUEST,
                "--exit-reasons: nothing would be counted: no benchmark is to be run");
        return nl_hint(err,
                       no_benchmarks
                           ? "--no-benchmarks leaves out those whose exits it counts: leave "
                             "out one of the two options"
                           : "give the scenario the key \"benchmarks\", as slowdown.json has it");
    }
    for (char *const *name = spec->layers; name && *name; name++)
        at_guest |= nl_scenario_layer_index(scenario, *name) > 0;
    if (at_guest)
        return 0;
    nl_fail(err, NL_EXIT_REQUEST,
            "--exit-reasons: nothing would be counted: benchmarks run at L0 only");
    return nl_hint(err, "VM exits are those of guests: run benchmarks at L1 or further in");
}

int nl_scenario_override(struct nl_scenario *scenario, const struct nl_overrides *overrides,
                         struct nl_error **err)
{
    const struct nl_field *timeouts = nl_record_field(&nl_scenario_record, "timeouts");

    if (overrides->l0 &&
        set_key(&nl_scenario_record, "l0", "--l0", json_string(overrides->l0), scenario, err) < 0)
        return -1;
    if (overrides->timeout_s > 0 &&
        set_key(timeouts->record, "total_s", "--timeout", json_real(overrides->timeout_s),
                &scenario->timeouts, err) < 0)
        return -1;
    if (overrides->depth >= 0 && apply_depth(scenario, overrides->depth, err) < 0)
        return -1;
    if (overrides->no_benchmarks && !overrides->meter)
        nl_strv_free(nl_steal(&scenario->meter.benchmarks));
    if (overrides->meter && apply_meter(scenario, overrides, err) < 0)
        return -1;
    if (overrides->no_benchmarks)
        nl_strv_free(nl_steal(&scenario->benchmarks.names));
    if (overrides->exit_reasons && check_exit_reasons(scenario, overrides->no_benchmarks, err) < 0)
        return -1;
    scenario->benchmarks.exit_reasons |= overrides->exit_reasons;
    return apply_assignments(scenario, overrides->assignments, err);
}
