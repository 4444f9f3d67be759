/*
 * cmd-run.c - `nestlab run FILE...` and `nestlab up FILE`: boot a scenario's stack; they differ in
 * what happens once it is up.
 */
#include "args-overrides.h"
#include "cmd.h"
#include "keeper.h"
#include "progress.h"
#include "run.h"

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
};

enum { OPTION_ENABLE_NESTING = 0x100 };

static const struct argp_option common_options[] = {
    {"out", 'o', "DIR", 0, "Folder for document, reports and logs (default: nestlab-out/ID)", 0},
    NL_OPTION_STORE,
    {"enable-nesting", OPTION_ENABLE_NESTING, NULL, 0,
     "Allow reloading this machine's KVM module with nested=1; it is put back afterwards", 0},
    {"quiet", 'q', NULL, 0, "No progress, only the report and errors", 0},
    {0},
};

static const struct argp_option run_only_options[] = {
    {"keep", 'k', NULL, 0, "Leave the stack running under its keeper (see `nestlab list`)", 0},
    {0},
};

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
    struct run_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->overrides;
        return 0;
    case 'o':
        args->out = arg;
        return 0;
    case 'q':
        nl_progress_quiet(true);
        return 0;
    case 'k':
        args->keep = true;
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

static const struct argp_child override_children[] = {{.argp = &nl_overrides_argp}, {0}};
static const struct argp common_argp = {
    .options = common_options, .parser = parse_common, .children = override_children};

static error_t parse_command(int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->input;
        return 0;
    case 'k':
        return parse_common(key, arg, state);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child command_children[] = {{.argp = &common_argp}, {0}};

/* Several scenarios share one --out by a folder each, named by their place and file. */
static char *out_folder(const struct run_args *args, int index)
{
    const char *name = strrchr(args->files[index], '/');
    char *folder = NULL;

    name = name ? name + 1 : args->files[index];
    if (!args->out)
        return NULL;
    if (args->n_files == 1)
        return strdup(args->out);
    if (asprintf(&folder, "%s/%d-%.*s", args->out, index + 1, (int)strcspn(name, "."), name) < 0)
        return NULL;
    return folder;
}

static enum nl_exit run_one(const struct run_args *args, int index, char **argv, bool demo)
{
    cleanup_free char *out = out_folder(args, index);
    struct nl_run_options options = {
        .scenario = args->files[index],
        .overrides = &args->overrides.overrides,
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

    if (args->n_files > 1) {
        nl_fail(&err, NL_EXIT_REQUEST, "one scenario at a time can be kept");
        nl_hint(&err, "start each with a `nestlab up` of its own");
        nl_error_print(err);
        return NL_EXIT_REQUEST;
    }
    if (nl_keeper_fork(&in_keeper, &status, &err) < 0) {
        nl_error_print(err);
        return nl_error_status(err);
    }
    return in_keeper ? run_one(args, 0, argv, demo) : (enum nl_exit)status;
}

/* The worst of two statuses: a failed check is what a user must hear of first, after an interrupt.
   A status that is none of ours (a sanitizer's) is the lab's failure. */
static enum nl_exit worse(int a, int b)
{
    static const enum nl_exit worst_first[] = {NL_EXIT_INTERRUPTED, NL_EXIT_CHECK_FAILED,
                                               NL_EXIT_REQUEST};

    for (size_t i = 0; i < sizeof(worst_first) / sizeof(worst_first[0]); i++)
        if (a == (int)worst_first[i] || b == (int)worst_first[i])
            return worst_first[i];
    return a == NL_EXIT_PASSED && b == NL_EXIT_PASSED ? NL_EXIT_PASSED : NL_EXIT_LAB;
}

/* One after the other, each in a process of its own: libvirt's embedded driver takes one root,
   which is in the run folder, and keeps it for the life of the process. */
static enum nl_exit run_all(const struct run_args *args, char **argv)
{
    enum nl_exit worst = NL_EXIT_PASSED;

    if (args->n_files == 1)
        return run_one(args, 0, argv, false);
    for (int i = 0; i < args->n_files && worst != NL_EXIT_INTERRUPTED; i++) {
        cleanup_error struct nl_error *err = NULL;
        bool in_child = false;
        int status = NL_EXIT_LAB;

        if (nl_keeper_fork(&in_child, &status, &err) < 0)
            nl_error_print(err);
        if (in_child)
            return run_one(args, i, argv, false);
        worst = worse(worst, status);
    }
    return worst;
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
        .parser = parse_command,
        .args_doc = "SCENARIO...",
        .doc = "Boot each scenario's stack, run its checks, benchmarks and commands, report, and "
               "take it down.\v"
               "Exit status: 0 all checks passed, 1 a check failed, 2 the request was wrong, 3 the "
               "lab could not do it, 130 interrupted.",
        .children = command_children,
    };
    struct run_args args = {.overrides = NL_OVERRIDE_ARGS_INIT};
    enum nl_exit status = NL_EXIT_PASSED;

    if (catch_interrupts() < 0)
        return NL_EXIT_LAB;
    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0)
        status = NL_EXIT_REQUEST;
    else if (args.keep)
        status = run_kept(&args, argv, false);
    else
        status = run_all(&args, argv);
    nl_override_args_free(&args.overrides);
    return status;
}

int nl_cmd_up(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = parse_command,
        .args_doc = "SCENARIO",
        .doc = "Boot a scenario's stack, check it, and leave it running: see `nestlab list`, "
               "`shell`, `console` and `down`.\v"
               "The scenario's benchmarks and commands are left out; `nestlab run --keep` does "
               "them first.",
        .children = command_children,
    };
    struct run_args args = {.overrides = NL_OVERRIDE_ARGS_INIT, .keep = true};
    enum nl_exit status;

    if (catch_interrupts() < 0)
        return NL_EXIT_LAB;
    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0)
        status = NL_EXIT_REQUEST;
    else
        status = run_kept(&args, argv, true);
    nl_override_args_free(&args.overrides);
    return status;
}
