/*
 * cmd-doctor.c - `nestlab doctor`: what nested virtualization needs, what is there, what to do.
 */
#include "cmd.h"
#include "deadline.h"
#include "doctor.h"
#include "report.h"

#include <argp.h>

struct doctor_args {
    const char *layer;
    const char *store;
    const char *operand; /* a stack with --in, else a URI; NULL: this machine */
    bool json;
};

enum { KEY_JSON = 'j', KEY_IN = 'i' };

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "Print JSON: what was gathered, and how it is judged", 0},
    {"in", KEY_IN, "LN", 0, "Look inside layer LN of a kept stack: STACK, or the only one", 0},
    NL_OPTION_STORE,
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct doctor_args *args = state->input;

    switch (key) {
    case KEY_JSON:
        args->json = true;
        return 0;
    case KEY_IN:
        args->layer = arg;
        return 0;
    case 's':
        args->store = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (args->operand)
            argp_error(state, "one STACK or URI at a time");
        args->operand = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int look(const struct doctor_args *args, json_t **gathered, struct nl_error **err)
{
    if (nl_interrupt_catch(err) < 0)
        return -1;
    if (args->layer)
        return nl_doctor_layer(args->layer, args->operand, gathered, err);
    return args->operand ? nl_doctor_uri(args->operand, gathered, err)
                         : nl_doctor_machine(args->store, gathered, err);
}

int nl_cmd_doctor(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse_option,
        .args_doc = "[STACK | URI]",
        .doc = "Look at this machine, at a layer, or at the host behind a libvirt URI: what nested "
               "virtualization needs, what is there, and what to do about the difference. Changes "
               "nothing.\v"
               "Exit status: 0 a run is possible, 1 it is not, 2 the request was wrong, 3 it "
               "cannot be "
               "told, 130 interrupted. docs/doctor.md explains the rows.",
    };
    cleanup_error struct nl_error *err = NULL;
    cleanup_json json_t *gathered = NULL;
    cleanup_json json_t *judged = NULL;
    struct doctor_args args = {0};

    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0)
        return NL_EXIT_REQUEST;
    if (look(&args, &gathered, &err) < 0) {
        nl_error_print(err);
        return nl_error_status(err);
    }
    judged = nl_doctor_judge(gathered);
    if (args.json) {
        json_object_set(gathered, "judged", judged);
        json_dumpf(gathered, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
        putchar('\n');
    } else {
        nl_doctor_print(gathered, judged, stdout, nl_report_wants_colour(stdout));
    }
    return nl_doctor_status(judged);
}
