/*
 * cmd-shell.c - `nestlab shell LN [COMMAND...]`: a shell, or one command, in a layer. By SSH where
 * the layer has an sshd, on this machine for a local L0, else by the agent, whom the keeper asks.
 */
#include "choose.h"
#include "cmd.h"
#include "dig.h"
#include "keeper-client.h"
#include "ssh.h"
#include "terminal.h"

#include <argp.h>
#include <errno.h>
#include <string.h>

#define CONNECT_S 20.0
#define KEEPER_S 3.0
#define OPEN_S 20.0
#define TIMEOUT_S 300.0

struct shell_args {
    const char *run;
    const char *layer;
    char **command; /* NULL: a login shell */
    double timeout;
    bool print;
};

static const struct argp_option options[] = {
    {"run", 'r', "ID", 0, "The stack, by its id or the beginning of it", 0},
    {"print", 'p', NULL, 0, "Only print the equivalent ssh command", 0},
    {"timeout", 't', "SECONDS", 0,
     "For a COMMAND in a layer without sshd: end it after this (default 300)", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct shell_args *args = state->input;
    char *end;

    switch (key) {
    case 'r':
        args->run = arg;
        return 0;
    case 'p':
        args->print = true;
        return 0;
    case 't':
        args->timeout = strtod(arg, &end);
        if (end == arg || *end || !(args->timeout > 0) || args->timeout > 86400)
            argp_error(state, "--timeout takes seconds, above 0 and at most 86400");
        return 0;
    case ARGP_KEY_ARG:
        if (!args->layer) {
            args->layer = arg;
            return 0;
        }
        /* The rest is the command's, its options too. */
        args->command = &state->argv[state->next - 1];
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_usage(state);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Words quoted for a POSIX shell, joined by spaces; NULL for no words. The caller's. */
static char *quote_words(char *const *words)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = words ? open_memstream(&text, &length) : NULL;

    if (!out)
        return NULL;
    for (char *const *word = words; *word; word++) {
        fputs(word == words ? "'" : " '", out);
        for (const char *c = *word; *c; c++)
            fputs(*c == '\'' ? "'\\''" : (const char[]){*c, '\0'}, out);
        fputc('\'', out);
    }
    fclose(out);
    return text;
}

static int ssh_port(const json_t *layer)
{
    double port = nl_dig_number(layer, "ssh_port", 0);

    return port >= 1 && port <= 65535 ? (int)port : 0;
}

static int print_ssh(const struct shell_args *args, const json_t *run, const json_t *layer,
                     struct nl_error **err)
{
    const char *name = nl_dig_string(layer, "name", "LN");
    cleanup_free char *command = quote_words(args->command);
    cleanup_free char *known_hosts = NULL;
    cleanup_free char *port = NULL;
    cleanup_free char *line = NULL;

    if (!ssh_port(layer)) {
        nl_fail(err, NL_EXIT_REQUEST, "%s has no sshd", name);
        return nl_hint(err, "`nestlab shell %s` gets in without", name);
    }
    if (asprintf(&port, "%d", ssh_port(layer)) < 0 ||
        asprintf(&known_hosts, "UserKnownHostsFile=%s/known_hosts",
                 nl_dig_string(run, "path", "")) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    line = quote_words(
        (char *const[]){(char *)"ssh", (char *)"-i", (char *)nl_dig_string(run, "state.key", ""),
                        (char *)"-o", (char *)"IdentitiesOnly=yes", (char *)"-o", known_hosts,
                        (char *)"-p", port, (char *)"root@127.0.0.1", command, NULL});
    if (!line)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    puts(line);
    return 0;
}

static int by_ssh(const struct shell_args *args, const json_t *run, const json_t *layer,
                  int *exit_status, struct nl_error **err)
{
    struct nl_ssh_target target = {
        .port = ssh_port(layer),
        .key = nl_dig_string(run, "state.key", ""),
        .host_key = nl_dig_string(run, "state.host_key", ""),
    };
    cleanup_free char *command = quote_words(args->command);
    cleanup_ssh struct nl_ssh *ssh = NULL;
    cleanup_free char *state = NULL;

    if (nl_ssh_open(&target, nl_deadline_in(CONNECT_S), &ssh, err) == 0)
        return nl_ssh_shell(ssh, command, exit_status, err);
    state = nl_choose_text(layer, "state", "?");
    return nl_hint(err, "%s was last known as %s: see `nestlab list` and `nestlab console %s`",
                   args->layer, state, args->layer);
}

static int on_this_machine(const struct shell_args *args, struct nl_error **err)
{
    const char *shell = getenv("SHELL");
    char *words[] = {(char *)(shell && *shell ? shell : "/bin/sh"), NULL};
    char **argv = args->command ? args->command : words;

    execvp(argv[0], argv);
    return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot run %s", argv[0]);
}

/* The agent's reply to "exec", as if the command had run here. */
static int show_reply(const json_t *reply, int *exit_status, struct nl_error **err)
{
    json_int_t signal_number = nl_dig_integer(reply, "signal", 0);
    json_int_t exited = nl_dig_integer(reply, "exit", 1);

    fputs(nl_dig_string(reply, "stdout", ""), stdout);
    fflush(stdout);
    fputs(nl_dig_string(reply, "stderr", ""), stderr);
    if (nl_dig_true(reply, "timed_out")) {
        nl_fail(err, NL_EXIT_LAB, "the command did not end in time");
        return nl_hint(err, "--timeout SECONDS gives it longer");
    }
    if (nl_dig_true(reply, "truncated"))
        fputs("nestlab: there was more output than is passed on\n", stderr);
    *exit_status = signal_number > 0 ? 128 + (int)(signal_number & 0x7f) : (int)(exited & 0xff);
    return 0;
}

static int by_agent(const struct shell_args *args, const json_t *run, int *exit_status,
                    struct nl_error **err)
{
    const char *id = nl_dig_string(run, "id", "?");
    json_t *argv = args->command ? json_array() : NULL;
    cleanup_json json_t *request =
        json_pack("{s:s, s:s, s:o*, s:f}", "op", argv ? "exec" : "shell", "layer", args->layer,
                  "argv", argv, "timeout_s", args->timeout);
    cleanup_json json_t *reply = NULL;
    cleanup_close int fd = -1;

    for (char **word = args->command; word && *word; word++)
        if (json_array_append_new(argv, json_string(*word)) < 0)
            return nl_fail(err, NL_EXIT_REQUEST, "the command is not UTF-8");
    if (!nl_dig_true(run, "state.kept")) {
        nl_fail(err, NL_EXIT_REQUEST, "%s of %s can be entered only when the stack is kept",
                args->layer, id);
        return nl_hint(err, "start it with `nestlab up` or `nestlab run --keep`");
    }
    if (nl_keeper_connect(nl_dig_string(run, "path", ""), nl_deadline_in(KEEPER_S), &fd, err) < 0 ||
        nl_keeper_ask(fd, json_incref(request),
                      nl_deadline_in(argv ? args->timeout + OPEN_S : OPEN_S), &reply, err) < 0)
        return nl_hint(err, "`nestlab list` tells whether %s is still there", args->layer);
    if (argv)
        return show_reply(reply, exit_status, err);
    if (nl_terminal_present())
        fprintf(stderr, "nestlab: a shell in %s; Ctrl-] leaves\n", args->layer);
    return nl_terminal_relay(fd, NL_RELAY_SHELL, exit_status, err) < 0 ? -1 : 0;
}

static int shell(struct shell_args *args, int *exit_status, struct nl_error **err)
{
    cleanup_json json_t *run = NULL;
    const json_t *layer = NULL;

    if (nl_choose_run(args->run, &run, err) < 0 ||
        nl_choose_layer(run, args->layer, &layer, err) < 0)
        return -1;
    args->layer = nl_dig_string(layer, "name", args->layer);
    if (args->print)
        return print_ssh(args, run, layer, err);
    if (nl_dig_true(layer, "local"))
        return on_this_machine(args, err);
    if (nl_interrupt_catch(err) < 0)
        return -1;
    return ssh_port(layer) ? by_ssh(args, run, layer, exit_status, err)
                           : by_agent(args, run, exit_status, err);
}

int nl_cmd_shell(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse_option,
        .args_doc = "LN [COMMAND...]",
        .doc = "A shell in layer LN of a stack that is up, or COMMAND run there. On a terminal "
               "Ctrl-] leaves.\v"
               "The exit status is that of the shell or COMMAND (128 + N when signal N ended it), "
               "or 2 or 3 as for every command of nestlab.",
    };
    struct shell_args args = {.timeout = TIMEOUT_S};
    cleanup_error struct nl_error *err = NULL;
    int status = 0;

    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &args) != 0)
        return NL_EXIT_REQUEST;
    if (shell(&args, &status, &err) < 0) {
        nl_error_print(err);
        return nl_error_status(err);
    }
    return status < 0 ? NL_EXIT_PASSED : status;
}
