/*
 * cmd-list.c - `nestlab list`: the stacks that are up, how far they are, and how to get in.
 */
#include "choose.h"
#include "cmd.h"
#include "dig.h"
#include "keeper-client.h"
#include "rundir.h"

#include <argp.h>

/* A keeper that hangs must not hold up the list for long. */
#define ASK_S 2.0

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "Print JSON", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    bool *json = state->input;

    (void)arg;
    if (key != 'j')
        return ARGP_ERR_UNKNOWN;
    *json = true;
    return 0;
}

/* Copy the state of each layer that the keeper knows into the run's. */
static void merge_states(json_t *run, const json_t *status)
{
    const json_t *known = nl_dig(status, "layers");
    json_t *layers = json_object_get(json_object_get(run, "state"), "layers");
    json_t *layer;
    size_t i;

    json_array_foreach(layers, i, layer)
    {
        json_t *state = json_object_get(json_array_get(known, i), "state");

        if (json_is_string(state) && json_is_object(layer))
            json_object_set(layer, "state", state);
    }
}

/* What state.json says of a kept stack was true when it came up; the keeper knows better. */
static void ask_keeper(json_t *run)
{
    cleanup_error struct nl_error *err = NULL;
    cleanup_json json_t *status = NULL;
    cleanup_close int fd = -1;

    if (!nl_dig_true(run, "alive") || !nl_dig_true(run, "state.kept"))
        return;
    if (nl_keeper_connect(nl_dig_string(run, "path", ""), nl_deadline_in(ASK_S), &fd, &err) < 0 ||
        nl_keeper_ask(fd, json_pack("{s:s}", "op", "status"), nl_deadline_in(ASK_S), &status,
                      &err) < 0)
        json_object_set_new(run, "trouble", json_string(nl_error_message(err)));
    else
        merge_states(run, status);
}

static void print_layer(const json_t *layer)
{
    cleanup_free char *name = nl_choose_text(layer, "name", "?");
    cleanup_free char *state = nl_choose_text(layer, "state", "?");
    cleanup_free char *image = nl_choose_text(layer, "image", "");
    int port = (int)nl_dig_integer(layer, "ssh_port", 0);

    printf("    %-4s %-12s ", name, state);
    if (nl_dig_true(layer, "local"))
        puts("this machine");
    else if (port > 0)
        printf("%-12s ssh on port %d\n", image, port);
    else
        puts(image);
}

static void print_run(const json_t *run)
{
    cleanup_free char *scenario = nl_choose_text(run, "state.scenario", "?");
    cleanup_free char *status = nl_choose_text(run, "state.status", "starting");
    cleanup_free char *phase = nl_choose_text(run, "state.phase", "");
    cleanup_free char *l0 = nl_choose_text(run, "state.l0", "?");
    cleanup_free char *started = nl_choose_text(run, "state.started", "?");
    cleanup_free char *out = nl_choose_text(run, "state.out", "");
    const char *trouble = nl_dig_string(run, "trouble", NULL);
    const char *id = nl_dig_string(run, "id", "?");
    const json_t *layers = nl_dig(run, "state.layers");
    json_t *layer;
    size_t i;

    if (!nl_dig_true(run, "alive")) {
        printf("%s: left behind by a run that was killed; `nestlab gc` removes it\n", id);
        return;
    }
    printf("%s: %s%s%s, scenario %s, L0 %s, since %s, process %d\n", id, status,
           phase[0] ? " " : "", phase, scenario, l0, started,
           (int)nl_dig_integer(run, "state.pid", 0));
    if (out[0])
        printf("    document, reports and logs: %s\n", out);
    if (trouble)
        printf("    %s\n", trouble);
    json_array_foreach(layers, i, layer)
    {
        print_layer(layer);
    }
}

static int list(bool json, struct nl_error **err)
{
    cleanup_json json_t *runs = NULL;
    json_t *run;
    size_t i;

    if (nl_rundir_list(&runs, err) < 0)
        return -1;
    json_array_foreach(runs, i, run)
    {
        ask_keeper(run);
    }
    if (json) {
        json_dumpf(runs, stdout, JSON_INDENT(2));
        putchar('\n');
        return 0;
    }
    if (json_array_size(runs) == 0)
        puts("no stack is up");
    json_array_foreach(runs, i, run)
    {
        print_run(run);
    }
    return 0;
}

int nl_cmd_list(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse_option,
        .doc = "List the stacks that are up: kept ones and runs in progress.",
    };
    cleanup_error struct nl_error *err = NULL;
    bool json = false;

    if (argp_parse(&argp, argc, argv, 0, NULL, &json) != 0)
        return NL_EXIT_REQUEST;
    if (list(json, &err) < 0) {
        nl_error_print(err);
        return nl_error_status(err);
    }
    return NL_EXIT_PASSED;
}
