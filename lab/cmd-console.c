/*
 * cmd-console.c - `nestlab console LN`: a layer's serial console, its last lines and then live.
 */
#include "choose.h"
#include "cmd.h"
#include "deadline.h"
#include "dig.h"
#include "follow.h"
#include "keeper-client.h"
#include "rundir.h"
#include "terminal.h"

#include <argp.h>
#include <errno.h>
#include <sys/stat.h>

#define KEEPER_S 3.0
#define LINES_MAX 1000000

struct console_args {
    const char *run;
    const char *layer;
    int lines;
    bool no_follow;
};

enum { OPTION_NO_FOLLOW = 0x100 };

static const struct argp_option options[] = {
    {"run", 'r', "ID", 0, "The stack, by its id or the beginning of it", 0},
    {"lines", 'n', "N", 0, "How many of the last lines come first (default 20)", 0},
    {"no-follow", OPTION_NO_FOLLOW, NULL, 0, "Print those and end", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct console_args *args = state->input;
    char *end;
    long lines;

    switch (key) {
    case 'r':
        args->run = arg;
        return 0;
    case 'n':
        lines = strtol(arg, &end, 10);
        if (end == arg || *end || lines < 0 || lines > LINES_MAX)
            argp_error(state, "--lines takes a number from 0 to %d", LINES_MAX);
        args->lines = (int)lines;
        return 0;
    case OPTION_NO_FOLLOW:
        args->no_follow = true;
        return 0;
    case ARGP_KEY_ARG:
        if (args->layer)
            argp_error(state, "one layer at a time");
        args->layer = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_usage(state);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* A connection that types into the console; -1 (and why, on standard error) when there is none. */
static int open_typing(const json_t *run, const char *layer)
{
    cleanup_error struct nl_error *err = NULL;
    int fd = -1;

    if (!nl_dig_true(run, "state.kept")) {
        fputs("nestlab: a run in progress: typing goes nowhere\n", stderr);
        return -1;
    }
    if (nl_keeper_connect(nl_dig_string(run, "path", ""), nl_deadline_in(KEEPER_S), &fd, &err) ==
            0 &&
        nl_keeper_ask(fd, json_pack("{s:s, s:s}", "op", "console", "layer", layer),
                      nl_deadline_in(KEEPER_S), NULL, &err) == 0)
        return fd;
    nl_error_print(err);
    nl_cleanup_closep(&fd);
    return -1;
}

/* What is followed, and why it has ended. */
struct subject {
    const json_t *run;
    const char *layer;
    bool stack_gone, layer_gone;
};

/* What the keeper says of the layer; one that does not answer says nothing. */
static bool is_layer_gone(const struct subject *subject)
{
    cleanup_error struct nl_error *err = NULL;
    cleanup_json json_t *status = NULL;
    cleanup_close int fd = -1;
    size_t i;
    json_t *layer;

    if (nl_keeper_connect(nl_dig_string(subject->run, "path", ""), nl_deadline_in(KEEPER_S), &fd,
                          &err) < 0 ||
        nl_keeper_ask(fd, json_pack("{s:s}", "op", "status"), nl_deadline_in(KEEPER_S), &status,
                      &err) < 0)
        return false;
    json_array_foreach(json_object_get(status, "layers"), i, layer)
    {
        if (nl_dig_is(layer, "name", subject->layer))
            return nl_dig_is(layer, "state", "gone");
    }
    return false;
}

static bool has_ended(void *data)
{
    struct subject *subject = data;

    subject->stack_gone = !nl_rundir_alive(nl_dig_string(subject->run, "id", ""));
    if (!subject->stack_gone && nl_dig_true(subject->run, "state.kept"))
        subject->layer_gone = is_layer_gone(subject);
    return subject->stack_gone || subject->layer_gone;
}

static int follow(int fd, struct subject *subject, struct nl_error **err)
{
    const struct nl_follow following = {.fd = fd, .ended = has_ended, .data = subject};
    const char *id = nl_dig_string(subject->run, "id", "");
    cleanup_close int keeper = -1;
    int rc;

    if (nl_interrupt_catch(err) < 0)
        return -1;
    if (nl_terminal_present()) {
        fprintf(stderr, "nestlab: console of %s; Ctrl-] leaves\n", subject->layer);
        keeper = open_typing(subject->run, subject->layer);
        rc = nl_follow_terminal(&following, keeper, err);
    } else {
        rc = nl_follow_plain(&following, err);
    }
    if (rc == 0 && subject->layer_gone)
        fprintf(stderr, "nestlab: %s of the stack %s is gone\n", subject->layer, id);
    else if (rc == 0)
        fprintf(stderr, "nestlab: the stack %s is gone\n", id);
    else if (rc > 0)
        fputs("\nnestlab: left\n", stderr);
    return rc < 0 ? -1 : 0;
}

static int console(const struct console_args *args, struct nl_error **err)
{
    cleanup_json json_t *run = NULL;
    const json_t *layer = NULL;
    cleanup_close int fd = -1;
    const char *name, *file;
    struct stat st;

    if (nl_choose_run(args->run, &run, err) < 0 ||
        nl_choose_layer(run, args->layer, &layer, err) < 0)
        return -1;
    name = nl_dig_string(layer, "name", args->layer);
    file = nl_dig_string(layer, "console_file", NULL);
    if (!file)
        return nl_fail(err, NL_EXIT_REQUEST, "%s has no serial console%s", name,
                       nl_dig_true(layer, "local") ? ": it is this machine" : " yet");
    if (nl_follow_open(file, args->lines, &fd, err) < 0)
        return -1;
    if (fstat(fd, &st) == 0 && st.st_size == 0)
        fprintf(stderr, "nestlab: %s has printed nothing on its console so far\n", name);
    return args->no_follow ? 0 : follow(fd, &(struct subject){.run = run, .layer = name}, err);
}

int nl_cmd_console(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse_option,
        .args_doc = "LN",
        .doc = "Show the serial console of layer LN of a stack that is up or of a run in progress: "
               "its last lines, then what comes. On a terminal, what is typed goes into it when "
               "the stack is kept, and Ctrl-] leaves. Ends when the layer or its stack is gone.",
    };
    struct console_args args = {.lines = 20};
    cleanup_error struct nl_error *err = NULL;

    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0)
        return NL_EXIT_REQUEST;
    if (console(&args, &err) < 0) {
        nl_error_print(err);
        return nl_error_status(err);
    }
    return NL_EXIT_PASSED;
}
