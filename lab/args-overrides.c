/*
 * args-overrides.c - the options that change a scenario: see args-overrides.h.
 */
#include "args-overrides.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Keys of options without a short form: beyond any character. Each user of this child has to choose
   its own numbers elsewhere, so these start high. */
enum {
    KEY_L0 = 0x4000,
    KEY_DEPTH,
    KEY_TIMEOUT,
    KEY_NO_BENCHMARKS,
    KEY_METER,
    KEY_EXIT_REASONS,
    KEY_ASSIGNMENT, /* the first of the options about one layer; the rest follow */
};

/* In the order of the option keys from KEY_ASSIGNMENT on. */
static const char *const assignments[] = {"kernel",  "modules", "kernel-arg", "deb",  "qemu",
                                          "machine", "cpu",     "memory",     "vcpus"};

#define N_ASSIGNMENTS (sizeof(assignments) / sizeof(assignments[0]))

static const struct argp_option l0_options[] = {
    {"l0", KEY_L0, "WHERE", 0,
     "Where L0 is: emulated, local (this machine), or auto: local if KVM here proves to be fit", 0},
    {0},
};

static const struct argp_option measure_options[] = {
    {"no-benchmarks", KEY_NO_BENCHMARKS, NULL, 0,
     "Checks and commands only: leave out what the scenario benchmarks and meters", 0},
    {"meter", KEY_METER, "NAME,...", OPTION_ARG_OPTIONAL,
     "Count, with an emulated L0, what operations of these benchmarks cost in instructions by "
     "layer; \"all\" is every benchmark; without names, those that the scenario meters, else "
     "benchmarks, else all",
     0},
    {"exit-reasons", KEY_EXIT_REASONS, NULL, 0,
     "Count VM exits of the scenario's benchmarks by reason, too, with the tracepoints of the "
     "layers' kernels",
     0},
    {0},
};

/* The same for who does not take them: not in the help, but known. */
#define REFUSED(option, key, value)                                                                \
    {                                                                                              \
        option, key, value, OPTION_HIDDEN | (value ? OPTION_ARG_OPTIONAL : 0), NULL, 0             \
    }
static const struct argp_option refused_measure_options[] = {
    REFUSED("no-benchmarks", KEY_NO_BENCHMARKS, NULL),
    REFUSED("meter", KEY_METER, "NAME,..."),
    REFUSED("exit-reasons", KEY_EXIT_REASONS, NULL),
    {0},
};
static const struct argp_option refused_l0_options[] = {
    REFUSED("l0", KEY_L0, "WHERE"),
    {0},
};

static const struct argp_option stack_options[] = {
    {"depth", KEY_DEPTH, "N", 0,
     "Boot L0 to LN: leaves out hypervisor layers, or adds copies of the innermost of them", 0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0,
     "Deadline of the whole run (default: the scenario's, else 1800)", 0},
    {NULL, 0, NULL, 0,
     "What is tested at a layer; LN is L0, L1, ... or innermost (--memory L1=2G):", 1},
    {"kernel", KEY_ASSIGNMENT, "LN=PATH", 0, "A kernel of your own: a bzImage or a .deb", 1},
    {"modules", KEY_ASSIGNMENT + 1, "LN=FOLDER", 0, "The modules of that bzImage", 1},
    {"kernel-arg", KEY_ASSIGNMENT + 2, "LN=ARGUMENT", 0,
     "One more kernel argument; may be repeated", 1},
    {"deb", KEY_ASSIGNMENT + 3, "LN=PATH", 0,
     "A Debian package to install over the image; may be repeated", 1},
    {"qemu", KEY_ASSIGNMENT + 4, "LN=PATH", 0,
     "The QEMU binary that runs LN: an absolute path in the layer below", 1},
    {"machine", KEY_ASSIGNMENT + 5, "LN=TYPE", 0, "Machine type", 1},
    {"cpu", KEY_ASSIGNMENT + 6, "LN=MODEL", 0, "CPU model", 1},
    {"memory", KEY_ASSIGNMENT + 7, "LN=SIZE", 0, "Memory: MiB, or GiB as in 2G", 1},
    {"vcpus", KEY_ASSIGNMENT + 8, "LN=N", 0, "Number of vCPUs", 1},
    {0},
};

static int add_assignment(struct nl_override_args *args, const char *key, const char *value)
{
    char **grown =
        reallocarray(args->overrides.assignments, args->n_assignments + 2, sizeof(char *));

    if (!grown)
        return ENOMEM;
    args->overrides.assignments = grown;
    grown[args->n_assignments] = NULL;
    if (asprintf(&grown[args->n_assignments], "%s:%s", key, value) < 0) {
        grown[args->n_assignments] = NULL;
        return ENOMEM;
    }
    grown[++args->n_assignments] = NULL;
    return 0;
}

static error_t parse_depth(const char *arg, struct argp_state *state, int *depth)
{
    char *end;

    errno = 0;
    long number = strtol(arg, &end, 10);
    if (errno || end == arg || *end || number < 0 || number >= NL_LAYERS_MAX) {
        argp_error(state, "--depth %s: must be a whole number; allowed: 0 to %d", arg,
                   NL_LAYERS_MAX - 1);
        return EINVAL;
    }
    *depth = (int)number;
    return 0;
}

static error_t parse_timeout(const char *arg, struct argp_state *state, double *timeout_s)
{
    char *end;
    double number = strtod(arg, &end);

    if (end == arg || *end || !isfinite(number) || number <= 0) {
        argp_error(state, "--timeout %s: must be a number of seconds above 0", arg);
        return EINVAL;
    }
    *timeout_s = number;
    return 0;
}

/* ARG is NULL without a "=". */
static error_t parse_meter(const char *arg, struct argp_state *state, const char **meter)
{
    if (arg && !*arg) {
        argp_error(state, "--meter=: names no benchmark; allowed: --meter alone, names as in "
                          "--meter=cpuid,syscall, or --meter=all");
        return EINVAL;
    }
    *meter = arg ? arg : "";
    return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct nl_override_args *args = state->input;

    switch (key) {
    case KEY_L0:
        args->overrides.l0 = arg;
        return 0;
    case KEY_DEPTH:
        return parse_depth(arg, state, &args->overrides.depth);
    case KEY_TIMEOUT:
        return parse_timeout(arg, state, &args->overrides.timeout_s);
    case KEY_NO_BENCHMARKS:
        args->overrides.no_benchmarks = true;
        return 0;
    case KEY_METER:
        return parse_meter(arg, state, &args->overrides.meter);
    case KEY_EXIT_REASONS:
        args->overrides.exit_reasons = true;
        return 0;
    default:
        if (key < KEY_ASSIGNMENT || key >= KEY_ASSIGNMENT + (int)N_ASSIGNMENTS)
            return ARGP_ERR_UNKNOWN;
        return add_assignment(args, assignments[key - KEY_ASSIGNMENT], arg);
    }
}

/* Both children take the same input. */
static error_t pass_on(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = state->child_inputs[1] = state->input;
    return 0;
}

static const char *refused_name(int key)
{
    const struct argp_option *option = refused_measure_options;

    while (option->name && option->key != key)
        option++;
    return option->name ? option->name : refused_l0_options[0].name;
}

static error_t refuse(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key < KEY_L0 || key > KEY_EXIT_REASONS)
        return ARGP_ERR_UNKNOWN;
    argp_error(state, "--%s is not for this command: %s", refused_name(key),
               (const char *)state->input);
    return EINVAL;
}

static const struct argp l0_argp = {.options = l0_options, .parser = parse_option};
static const struct argp measure_argp = {.options = measure_options, .parser = parse_option};
const struct argp nl_stack_overrides_argp = {.options = stack_options, .parser = parse_option};
static const struct argp_child boot_children[] = {
    {.argp = &l0_argp}, {.argp = &nl_stack_overrides_argp}, {0}};
const struct argp nl_boot_overrides_argp = {.parser = pass_on, .children = boot_children};
static const struct argp_child all_children[] = {
    {.argp = &nl_boot_overrides_argp}, {.argp = &measure_argp}, {0}};
const struct argp nl_overrides_argp = {.parser = pass_on, .children = all_children};

const struct argp nl_refuse_measure_argp = {.options = refused_measure_options, .parser = refuse};
const struct argp nl_refuse_l0_argp = {.options = refused_l0_options, .parser = refuse};

void nl_override_args_free(struct nl_override_args *args)
{
    nl_strv_free(args->overrides.assignments);
    *args = (struct nl_override_args)NL_OVERRIDE_ARGS_INIT;
}
