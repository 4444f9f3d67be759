/*
 * cmd-profile.c - `nestlab profile BENCHMARK`: where the instructions of an operation are spent.
 */
#include "args-overrides.h"
#include "cmd.h"
#include "deadline.h"
#include "paths.h"
#include "progress.h"
#include "request.h"
#include "run.h"

#include <errno.h>
#include <string.h>

#define DEFAULT_SCENARIO "scenarios/nested-boot.json"
#define DEFAULT_LAYER "innermost"

struct profile_args {
    struct nl_override_args overrides;
    const char *at;
    const char *store;
    const char *out;
    const char *benchmark;
    const char *scenario; /* NULL: the default one */
};

enum { OPTION_AT = 0x100 };

static const struct argp_option options[] = {
    {"at", OPTION_AT, "LN", 0, "The layer that does the operations (default: the innermost)", 0},
    {"out", 'o', "DIR", 0, "Folder for document, reports and logs (default: nestlab-out/ID)", 0},
    NL_OPTION_STORE,
    {"quiet", 'q', NULL, 0, "No progress, only the report and errors", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct profile_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->overrides;
        state->child_inputs[1] = state->child_inputs[2] =
            (char *)"it meters the one benchmark that it is given, with an emulated L0";
        return 0;
    case OPTION_AT:
        args->at = arg;
        return 0;
    case 'o':
        args->out = arg;
        return 0;
    case 's':
        args->store = arg;
        return 0;
    case 'q':
        nl_progress_quiet(true);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1)
            argp_error(state, "one benchmark and one scenario at a time");
        *(state->arg_num == 0 ? &args->benchmark : &args->scenario) = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "name a benchmark, such as cpuid");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum nl_exit profile(struct profile_args *args, char **argv)
{
    struct nl_overrides *overrides = &args->overrides.overrides;
    cleanup_scenario struct nl_scenario *scenario = NULL;
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *path = NULL;

    overrides->meter = args->benchmark;
    overrides->profile_at = args->at;
    overrides->no_benchmarks = true;
    overrides->l0 =
        "auto"; /* emulated where something is metered; also if the scenario says local */
    if (nl_interrupt_catch(&err) < 0 ||
        (!args->scenario && nl_data_path(DEFAULT_SCENARIO, &path, &err) < 0) ||
        nl_request_load(path ? path : args->scenario, overrides, &scenario, &err) < 0 ||
        nl_run_check_out(args->out, &err) < 0) {
        nl_error_print(err);
        return nl_error_status(err);
    }
    return nl_run(&(struct nl_run_options){
        .scenario = scenario,
        .store = args->store,
        .out = args->out,
        .argv = argv,
        .profile = true,
    });
}

int nl_cmd_profile(int argc, char **argv)
{
    static const struct argp_child children[] = {{.argp = &nl_stack_overrides_argp},
                                                 {.argp = &nl_refuse_measure_argp},
                                                 {.argp = &nl_refuse_l0_argp},
                                                 {0}};
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "BENCHMARK [SCENARIO]",
        .doc =
            "Count in which functions of which layer an operation of a benchmark spends its "
            "instructions: boots the stack of SCENARIO (default: scenarios/nested-boot.json) "
            "with an emulated L0. docs/benchmarks.md lists benchmarks.\v"
            "Beside the document is profile-BENCHMARK-LN.folded, for programs that draw flame "
            "graphs. Exit status: as of `nestlab run`, and 3 if there is no profile, as where the "
            "benchmark cannot run at that layer.",
        .children = children,
    };
    struct profile_args args = {.overrides = NL_OVERRIDE_ARGS_INIT, .at = DEFAULT_LAYER};
    enum nl_exit status = NL_EXIT_REQUEST;

    if (argp_parse(&argp, argc, argv, 0, NULL, &args) == 0)
        status = profile(&args, argv);
    nl_override_args_free(&args.overrides);
    return status;
}
