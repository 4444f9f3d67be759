/*
 * main.c - the program's entry: finds the subcommand in a table and hands over.
 */
#include "cmd.h"
#include "error.h"
#include "streams.h"
#include "suggest.h"

#include <argp.h>
#include <signal.h>
#include <string.h>

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *about;
} commands[] = {
    {"run", nl_cmd_run, "boot scenarios, check, measure, report, take down"},
    {"up", nl_cmd_up, "boot a scenario's stack and leave it running"},
    {"list", nl_cmd_list, "the stacks that are up"},
    {"shell", nl_cmd_shell, "a shell, or one command, in a layer"},
    {"console", nl_cmd_console, "a layer's serial console, live"},
    {"down", nl_cmd_down, "take a stack down"},
    {"doctor", nl_cmd_doctor, "what nesting needs of this machine, and what is there"},
    {"profile", nl_cmd_profile, "which functions of which layer an operation spends its time in"},
    {"gc", nl_cmd_gc, "remove what killed runs left behind"},
    {"build", nl_cmd_build, "build images"},
    {"validate", nl_cmd_validate, "check scenarios without booting anything"},
    {"report", nl_cmd_report, "report again from a run's document"},
    {"compare", nl_cmd_compare, "what changed between two runs, or two sets of runs"},
    {"history", nl_cmd_history, "keep documents over time, and see what changed when"},
    {"diagnose", nl_cmd_diagnose, "say what is wrong, from logs and files of any machine"},
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *out)
{
    fputs(
        "Usage: nestlab COMMAND [OPTION...] [ARGUMENT...]\n"
        "Boots KVM-on-KVM stacks, proves that nesting works, measures what each layer costs.\n\n"
        "A stack has layers: L0, which is this machine or an emulated one, L1, a guest in it, L2, "
        "a\n"
        "guest in L1, and so on. A scenario, a JSON file, says what to boot and what to do there.\n"
        "To begin with: `nestlab doctor`, then `nestlab run scenarios/nested-boot.json`.\n\n",
        out);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].about);
    fputs("\n`nestlab help COMMAND` tells more; nestlab(1) is the manual.\n"
          "Exit status: 0 all checks passed, 1 a check failed, 2 the request was wrong, 3 the lab\n"
          "could not do it, 130 interrupted.\n",
          out);
}

static int unknown_command(const char *name)
{
    const char *names[N_COMMANDS + 1] = {NULL};
    cleanup_error struct nl_error *err = NULL;
    const char *near;

    for (size_t i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i].name;
    near = nl_suggest(name, names);
    nl_fail(&err, NL_EXIT_REQUEST, "unknown command: %s", name);
    if (near)
        nl_hint(&err, "did you mean `nestlab %s`? `nestlab --help` lists all", near);
    else
        nl_hint(&err, "`nestlab --help` lists the commands");
    nl_error_print(err);
    return NL_EXIT_REQUEST;
}

/* ARGV[0] is the command's name. */
static int run_command(int argc, char **argv)
{
    char name[64];

    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(argv[0], commands[i].name) != 0)
            continue;
        /* argp takes the program's name for messages from argv[0]. */
        snprintf(name, sizeof(name), "nestlab %s", commands[i].name);
        argv[0] = name;
        return commands[i].run(argc, argv);
    }
    return unknown_command(argv[0]);
}

/* `nestlab help COMMAND` is `nestlab COMMAND --help`. */
static int help_on(char *command)
{
    char help[] = "--help";

    return run_command(2, (char *[]){command, help, NULL});
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return NL_EXIT_REQUEST;
    }
    if (!strcmp(argv[1], "help") && argc > 2)
        return help_on(argv[2]);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_help(stdout);
        return NL_EXIT_PASSED;
    }
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
        puts("nestlab " NL_VERSION);
        return NL_EXIT_PASSED;
    }
    return run_command(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    argp_err_exit_status = NL_EXIT_REQUEST;
    /* A limit of file sizes is an error of the write then, which is told. */
    signal(SIGXFSZ, SIG_IGN);
    nl_streams_open();
    return nl_streams_finish(run(argc, argv));
}
