/*
 * cmd-down.c - `nestlab down`: take kept stacks down.
 */
#include "choose.h"
#include "cmd.h"
#include "dig.h"
#include "keeper-client.h"
#include "progress.h"
#include "rundir.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>

/* The keeper takes a stack down within 10 s. */
#define DOWN_S 15.0
#define CONNECT_S 3.0

struct down_args {
    const char *id;
    bool all;
    bool force;
};

static const struct argp_option options[] = {
    {"all", 'a', NULL, 0, "All stacks that are kept", 0},
    {"force", 'f', NULL, 0, "Also end a run in progress, and kill a keeper that does not answer",
     0},
    {"run", 'r', "ID", 0, "Same as the operand", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct down_args *args = state->input;

    switch (key) {
    case 'a':
        args->all = true;
        return 0;
    case 'f':
        args->force = true;
        return 0;
    case 'r':
    case ARGP_KEY_ARG:
        if (args->id)
            argp_error(state, "one stack at a time, or --all");
        args->id = arg;
        return 0;
    case ARGP_KEY_END:
        if (args->all && args->id)
            argp_error(state, "either an ID or --all");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int wait_until_gone(const char *id, double seconds, struct nl_error **err)
{
    nl_deadline deadline = nl_deadline_in(seconds);

    while (nl_rundir_alive(id)) {
        if (nl_deadline_left_ms(deadline) == 0)
            return nl_fail(err, NL_EXIT_LAB, "%s is not down after %.0f s", id, seconds);
        nl_progress_update("waiting");
        if (nl_sleep(0.05, err) < 0)
            return -1;
    }
    return 0;
}

static int ask_keeper(const json_t *run, struct nl_error **err)
{
    cleanup_close int fd = -1;

    if (nl_keeper_connect(nl_dig_string(run, "path", ""), nl_deadline_in(CONNECT_S), &fd, err) < 0)
        return -1;
    return nl_keeper_ask(fd, json_pack("{s:s}", "op", "down"), nl_deadline_in(CONNECT_S), NULL,
                         err);
}

/* SIGNAL_NUMBER to the owner of the run, whose process the state names. */
static int signal_owner(const json_t *run, int signal_number, struct nl_error **err)
{
    const char *id = nl_dig_string(run, "id", "?");
    double pid = nl_dig_number(run, "state.pid", 0);
    cleanup_close int pidfd = pid > 1 && pid < 1e9 ? pidfd_open((pid_t)pid, 0) : -1;

    /* Owned, after the descriptor was opened: so it is the owner's, not that of a later process. */
    if (pidfd < 0 || !nl_rundir_alive(id)) {
        if (!nl_rundir_alive(id))
            return 0;
        return nl_fail(err, NL_EXIT_LAB, "the process that owns %s is not known", id);
    }
    if (pidfd_send_signal(pidfd, signal_number, NULL, 0) < 0 && errno != ESRCH)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot signal the owner of %s", id);
    return 0;
}

static int end_by_force(const json_t *run, struct nl_error **err)
{
    const char *id = nl_dig_string(run, "id", "?");

    if (signal_owner(run, SIGTERM, err) < 0)
        return -1;
    if (wait_until_gone(id, DOWN_S, err) == 0)
        return 0;
    if (nl_interrupted())
        return -1;
    nl_error_free(err);
    if (signal_owner(run, SIGKILL, err) < 0)
        return -1;
    return wait_until_gone(id, CONNECT_S, err);
}

static int end_politely(const json_t *run, struct nl_error **err)
{
    const char *id = nl_dig_string(run, "id", "?");

    if (!nl_dig_true(run, "state.kept")) {
        cleanup_free char *phase = nl_choose_text(run, "state.phase", "starting");

        nl_fail(err, NL_EXIT_REQUEST, "%s is not kept, but a run in progress (%s)", id, phase);
        return nl_hint(err, "it ends by itself; `nestlab down --force %s` ends it now", id);
    }
    if ((ask_keeper(run, err) < 0 && nl_rundir_alive(id)) || wait_until_gone(id, DOWN_S, err) < 0)
        return nl_hint(err, "`nestlab down --force %s` kills the keeper", id);
    nl_error_free(err);
    return 0;
}

static int take_down(const json_t *run, bool force, struct nl_error **err)
{
    const char *id = nl_dig_string(run, "id", "?");
    int rc;

    nl_progress_begin("taking %s down", id);
    rc = force ? end_by_force(run, err) : end_politely(run, err);
    /* Of an owner that died the folder is still there. */
    if (rc == 0)
        rc = nl_rundir_collect_one(id, err);
    nl_progress_end(rc == 0 ? "down" : "failed");
    return rc;
}

static int take_all_down(bool force, struct nl_error **err)
{
    cleanup_json json_t *runs = NULL;
    json_t *run;
    int n = 0, rc = 0;
    size_t i;

    if (nl_rundir_list(&runs, err) < 0)
        return -1;
    json_array_foreach(runs, i, run)
    {
        cleanup_error struct nl_error *problem = NULL;

        if (!nl_dig_true(run, "alive") || (!force && !nl_dig_true(run, "state.kept")))
            continue;
        n++;
        if (take_down(run, force, rc == 0 ? err : &problem) < 0)
            rc = -1;
        if (problem)
            nl_error_print(problem);
    }
    if (n == 0)
        puts("no stack is up");
    return rc;
}

static int down(const struct down_args *args, struct nl_error **err)
{
    cleanup_json json_t *run = NULL;

    if (nl_interrupt_catch(err) < 0)
        return -1;
    if (args->all)
        return take_all_down(args->force, err);
    if (nl_choose_run(args->id, &run, err) < 0)
        return -1;
    return take_down(run, args->force, err);
}

int nl_cmd_down(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse_option,
        .args_doc = "[ID]",
        .doc = "Take down the stack ID (the beginning of its id is enough), or the only one that "
               "is up.",
    };
    cleanup_error struct nl_error *err = NULL;
    struct down_args args = {0};

    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0)
        return NL_EXIT_REQUEST;
    if (down(&args, &err) < 0) {
        nl_error_print(err);
        return nl_error_status(err);
    }
    return NL_EXIT_PASSED;
}
