/*
 * cmd-validate.c - `nestlab validate FILE...`: are these scenarios right, and what do they come to?
 */
#include "args-overrides.h"
#include "cmd.h"
#include "request.h"
#include "diagnosis.h"

struct validate_args {
    struct nl_override_args overrides;
    bool json;
    char **files; /* the operands within argv */
    int n_files;
};

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "Print the effective scenario, with defaults and options applied", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct validate_args *args = state->input;

    (void)arg;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->overrides;
        return 0;
    case 'j':
        args->json = true;
        return 0;
    case ARGP_KEY_ARGS:
        args->files = state->argv + state->next;
        args->n_files = state->argc - state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "name a scenario to check, for example scenarios/nested-boot.json");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int print_json(const struct nl_scenario *scenario, struct nl_error **err)
{
    cleanup_json json_t *json = nl_scenario_to_json(scenario);

    if (!json || json_dumpf(json, stdout, JSON_INDENT(2)) < 0 || putchar('\n') == EOF)
        return nl_fail(err, NL_EXIT_LAB, "cannot write the scenario to standard output");
    return 0;
}

static int validate(const char *file, const struct validate_args *args, struct nl_error **err)
{
    cleanup_scenario struct nl_scenario *scenario = NULL;

    if (nl_request_load(file, &args->overrides.overrides, &scenario, err) < 0)
        return -1;
    if (scenario->expect.diagnosis && nl_diagnosis_check_name(scenario->expect.diagnosis, err) < 0)
        return nl_wrap(err, "%s: expect.diagnosis", file);
    if (args->json)
        return print_json(scenario, err);
    printf("%s: OK: %s, %zu layer%s\n", file, scenario->name, scenario->n_layers,
           scenario->n_layers == 1 ? "" : "s");
    return 0;
}

int nl_cmd_validate(int argc, char **argv)
{
    static const struct argp_child children[] = {{.argp = &nl_overrides_argp}, {0}};
    static const struct argp argp = {
        .options = options,
        .parser = parse_option,
        .args_doc = "FILE...",
        .doc = "Check scenarios without booting anything. Exit status: 0 all are right, 2 one is "
               "not.\v"
               "docs/scenario.md describes scenarios.",
        .children = children,
    };
    struct validate_args args = {.overrides = NL_OVERRIDE_ARGS_INIT};
    enum nl_exit status = NL_EXIT_PASSED;

    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0)
        status = NL_EXIT_REQUEST;
    for (int i = 0; i < args.n_files; i++) {
        cleanup_error struct nl_error *err = NULL;
        if (validate(args.files[i], &args, &err) == 0)
            continue;
        nl_error_print(err);
        /* The lab's own trouble outweighs a wrong file. */
        if (nl_error_status(err) > status)
            status = nl_error_status(err);
    }
    nl_override_args_free(&args.overrides);
    return status;
}
