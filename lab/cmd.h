/*
 * cmd.h - the subcommands: each parses its own options (argp), prints its own errors, and returns
 * the program's exit status (enum nl_exit). argv[0] is the name for messages, "nestlab run".
 */
#ifndef NL_CMD_H
#define NL_CMD_H

/* The options that several commands have, the same everywhere; a short option has one meaning in
   all of nestlab. */
#define NL_OPTION_STORE                                                                            \
    {                                                                                              \
        "store", 's', "DIR", 0, "Folder of the image store (default: ~/.cache/nestlab)", 0         \
    }

int nl_cmd_build(int argc, char **argv);
int nl_cmd_validate(int argc, char **argv);
int nl_cmd_run(int argc, char **argv);
int nl_cmd_up(int argc, char **argv);
int nl_cmd_report(int argc, char **argv);
int nl_cmd_compare(int argc, char **argv);
int nl_cmd_history(int argc, char **argv);
int nl_cmd_diagnose(int argc, char **argv);
int nl_cmd_list(int argc, char **argv);
int nl_cmd_shell(int argc, char **argv);
int nl_cmd_console(int argc, char **argv);
int nl_cmd_down(int argc, char **argv);
int nl_cmd_gc(int argc, char **argv);
int nl_cmd_profile(int argc, char **argv);
int nl_cmd_doctor(int argc, char **argv);

#endif
