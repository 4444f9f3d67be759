/*
 * cmd-run.c - `nestlab run FILE...` and `nestlab up FILE`: boot a scenario's stack; they differ in
 * what happens once it is up.
 */
#include "args-overrides.h"
#include "cmd.h"
#include "keeper.h"
#include "progress.h"
#include "request.h"
#include "run.h"
#include "statuses.h"

#include <errno.h>
#include <string.h>

struct run_args {
    struct nl_override_args overrides;
    const char *store;
    const char *out;
    bool keep;
    bool enable_nesting;
    char **files; /* the operands within argv */
    int n_files;
    struct nl_scenario **scenarios; /* as many; owned, and NULL until they are read */
};

enum { OPTION_ENABLE_NESTING = 0x100 };

static const struct argp_option common_options[] = {
    {"out", 'o', "DIR", 0,
     "Folder for document, reports and logs (default: nestlab-out/ID, where the run says its "
     "ID); several scenarios get a folder in it each; results of an earlier run in it are replaced",
     0},
    NL_OPTION_STORE,
    {"enable-nesting", OPTION_ENABLE_NESTING, NULL, 0,
     "Allow reloading this machine's KVM module with nested=1; it is put back afterwards", 0},
    {"quiet", 'q', NULL, 0, "No progress, only the report and errors", 0},
    {0},
};

static const struct argp_option run_only_options[] = {
    {"keep", 'k', NULL, 0, "Leave the stack running after the report (see `nestlab list`)", 0},
    {0},
};

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
    struct run_args *args = state->input;

    switch (key) {
    case 'o':
        args->out = arg;
        return 0;
    case 'q':
        nl_progress_quiet(true);
        return 0;
    case 's':
        args->store = arg;
        return 0;
    case OPTION_ENABLE_NESTING:
        args->enable_nesting = true;
        return 0;
    case ARGP_KEY_ARGS:
        args->files = state->argv + state->next;
        args->n_files = state->argc - state->next;
        return 0;
    /* Here, since argp tells every parser that has taken no operand of its own. */
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "name a scenario, for example scenarios/nested-boot.json");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The options that both commands have, beside those of the scenario. */
static const struct argp common_argp = {.options = common_options, .parser = parse_common};

static error_t parse_run(int key, char *arg, struct argp_state *state)
{
    struct run_args *args = state->input;

    (void)arg;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args;
        state->child_inputs[1] = &args->overrides;
        return 0;
    case 'k':
        args->keep = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child run_children[] = {
    {.argp = &common_argp}, {.argp = &nl_overrides_argp}, {0}};

static error_t parse_up(int key, char *arg, struct argp_state *state)
{
    struct run_args *args = state->input;

    (void)arg;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = args;
    state->child_inputs[1] = &args->overrides;
    state->child_inputs[2] =
        (char *)"it measures nothing; `nestlab run --keep` does, and leaves the stack running";
    return 0;
}

static const struct argp_child up_children[] = {{.argp = &common_argp},
                                                {.argp = &nl_boot_overrides_argp},
                                                {.argp = &nl_refuse_measure_argp},
                                                {0}};

/* Several scenarios share one --out by a folder each, named by their place and file. */
static char *out_folder(const struct run_args *args, int index)
{
    const char *name = strrchr(args->files[index], '/');
    char *folder = NULL;

    name = name ? name + 1 : args->files[index];
    if (!args->out)
        return NULL;
    /* Without a name, which is refused, these folders would be the machine's. */
    if (args->n_files == 1 || !args->out[0])
        return strdup(args->out);
    if (asprintf(&folder, "%s/%d-%.*s", args->out, index + 1, (int)strcspn(name, "."), name) < 0)
        return NULL;
    return folder;
}

static void free_args(struct run_args *args)
{
    for (int i = 0; args->scenarios && i < args->n_files; i++)
        nl_scenario_free(&args->scenarios[i]);
    free(args->scenarios);
    nl_override_args_free(&args->overrides);
}

/* ---- Everything that can be refused, before anything runs ---- */

static int refuse_keeping_several(struct nl_error **err)
{
    nl_fail(err, NL_EXIT_REQUEST, "one scenario at a time can be kept");
    return nl_hint(err, "start each with a `nestlab up` of its own");
}

static int read_one(struct run_args *args, int index, struct nl_error **err)
{
    cleanup_free char *out = out_folder(args, index);

    if (nl_request_load(args->files[index], &args->overrides.overrides, &args->scenarios[index],
                        err) < 0)
        return -1;
    return nl_run_check_out(out, err);
}

/* All scenarios, and where their reports go: a run takes minutes, and what is wrong with the last
   one is to be known at once. Prints its errors; the status that they lead to. */
static enum nl_exit read_all(struct run_args *args)
{
    cleanup_error struct nl_error *err = NULL;
    enum nl_exit status = NL_EXIT_PASSED;

    args->scenarios = calloc((size_t)args->n_files, sizeof(*args->scenarios));
    if (!args->scenarios)
        nl_fail(&err, NL_EXIT_LAB, "out of memory");
    else if (args->keep && args->n_files > 1)
        refuse_keeping_several(&err);
    for (int i = 0; !err && i < args->n_files && status != NL_EXIT_INTERRUPTED; i++) {
        if (read_one(args, i, &err) == 0)
            continue;
        nl_error_print(err);
        status = nl_status_worse((int)status, (int)nl_error_status(err));
        nl_error_free(&err);
    }
    if (!err)
        return status;
    nl_error_print(err);
    return nl_error_status(err);
}

/* ---- The runs ---- */

static enum nl_exit run_one(const struct run_args *args, int index, char **argv, bool demo)
{
    cleanup_free char *out = out_folder(args, index);
    struct nl_run_options options = {
        .scenario = args->scenarios[index],
        .store = args->store,
        .out = out,
        .argv = argv,
        .demo = demo,
        .enable_nesting = args->enable_nesting,
        .kept = args->keep,
    };

    return nl_run(&options);
}

/* In the user's process until the stack is up, then on in the background. */
static enum nl_exit run_kept(const struct run_args *args, char **argv, bool demo)
{
    cleanup_error struct nl_error *err = NULL;
    bool in_keeper = false;
    int status = NL_EXIT_LAB;

    if (nl_keeper_fork(&in_keeper, &status, &err) < 0) {
        nl_error_print(err);
        return nl_error_status(err);
    }
    return in_keeper ? run_one(args, 0, argv, demo) : (enum nl_exit)status;
}

/* In a process of its own: libvirt's embedded driver takes one root, which is in the run folder,
   and keeps it for the life of the process. IN_CHILD: this is that process, and it is over. */
static enum nl_exit run_apart(const struct run_args *args, int index, char **argv, bool *in_child)
{
    cleanup_error struct nl_error *err = NULL;
    int status = NL_EXIT_LAB;

    *in_child = false;
    if (nl_keeper_fork(in_child, &status, &err) < 0)
        nl_error_print(err);
    return *in_child ? run_one(args, index, argv, false) : (enum nl_exit)status;
}

/* Also with --quiet: among several reports it is not to be seen which one decided. */
static void tell_status(const struct nl_status_of *runs, size_t n)
{
    cleanup_free char *why = nl_statuses_why(runs, n);

    if (why)
        fprintf(stderr, "nestlab: %s\n", why);
}

/* One after the other. */
static enum nl_exit run_all(const struct run_args *args, char **argv)
{
    size_t n = (size_t)args->n_files;
    cleanup_free struct nl_status_of *runs = calloc(n, sizeof(*runs));
    enum nl_exit worst = NL_EXIT_PASSED;

    if (!runs)
        abort();
    for (size_t i = 0; i < n; i++)
        runs[i].scenario = args->files[i];
    for (size_t i = 0; i < n && worst != NL_EXIT_INTERRUPTED; i++) {
        bool in_child;

        runs[i].status = run_apart(args, (int)i, argv, &in_child);
        if (in_child)
            return (enum nl_exit)runs[i].status;
        runs[i].ran = true;
        worst = nl_statuses_worst(runs, n);
    }
    tell_status(runs, n);
    return worst;
}

static enum nl_exit run(struct run_args *args, char **argv, bool demo)
{
    enum nl_exit status = read_all(args);

    if (status != NL_EXIT_PASSED)
        return status;
    if (args->keep)
        return run_kept(args, argv, demo);
    return args->n_files == 1 ? run_one(args, 0, argv, demo) : run_all(args, argv);
}

/* From the first moment: an interrupt at any time leads to the same exit status. */
static int catch_interrupts(void)
{
    cleanup_error struct nl_error *err = NULL;

    if (nl_interrupt_catch(&err) == 0)
        return 0;
    nl_error_print(err);
    return -1;
}

int nl_cmd_run(int argc, char **argv)
{
    static const struct argp argp = {
        .options = run_only_options,
        .parser = parse_run,
        .args_doc = "SCENARIO...",
        .doc = "Boot each scenario's stack, run its checks, benchmarks and commands, report, and "
               "take it down.\v"
               "A scenario is a JSON file: in scenarios/, nested-boot.json sees whether nesting "
               "works, slowdown.json measures what each layer costs, and docs/scenario.md says how "
               "to write one. --meter and --exit-reasons are explained in docs/measuring.md, the "
               "benchmarks in docs/benchmarks.md.\n\n"
               "Exit status: 0 all checks passed, 1 a check failed, 2 the request was wrong, 3 the "
               "lab could not do it, 130 interrupted.",
        .children = run_children,
    };
    struct run_args args = {.overrides = NL_OVERRIDE_ARGS_INIT};
    enum nl_exit status = NL_EXIT_PASSED;

    if (catch_interrupts() < 0)
        return NL_EXIT_LAB;
    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0)
        status = NL_EXIT_REQUEST;
    else
        status = run(&args, argv, false);
    free_args(&args);
    return status;
}

int nl_cmd_up(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = parse_up,
        .args_doc = "SCENARIO",
        .doc = "Boot a scenario's stack, check it, and leave it running: see `nestlab list`, "
               "`shell`, `console` and `down`.\v"
               "The scenario's benchmarks and commands are left out; `nestlab run --keep` does "
               "them first.",
        .children = up_children,
    };
    struct run_args args = {.overrides = NL_OVERRIDE_ARGS_INIT, .keep = true};
    enum nl_exit status;

    if (catch_interrupts() < 0)
        return NL_EXIT_LAB;
    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0)
        status = NL_EXIT_REQUEST;
    else
        status = run(&args, argv, true);
    free_args(&args);
    return status;
}
