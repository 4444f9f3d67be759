/*
 * command.h - for tests: a command of nestlab's, called as a user calls it. After cmocka.h.
 */
#ifndef NL_TEST_COMMAND_H
#define NL_TEST_COMMAND_H

#include "error.h"

#include <argp.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct command_call {
    int (*command)(int argc, char **argv);
    const char *name;   /* "nestlab report" */
    const char *input;  /* what its standard input is; NULL: the test's */
    const char *output; /* where what it prints goes */
    bool silent;        /* its messages go nowhere, and not there as well */
};

/* The exit status with ARGS, ended by a NULL or MAX of them. In a child, since argp ends the
   process on a wrong request. Never inlined: what only a caller's frame points at would be a leak
   in the child, in which nothing of the caller runs any more. */
static __attribute__((noinline, unused)) int call_command(const struct command_call *call,
                                                          const char *const *args, int max)
{
    char **argv = calloc((size_t)max + 2, sizeof(*argv));
    int argc = 1, status;
    pid_t pid;

    assert_non_null(argv);
    argv[0] = (char *)call->name;
    for (; argc <= max && args[argc - 1]; argc++)
        argv[argc] = (char *)args[argc - 1];
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        int fd = open(call->output, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        if (call->input)
            dup2(open(call->input, O_RDONLY | O_CLOEXEC), 0);
        dup2(fd, 1);
        dup2(call->silent ? open("/dev/null", O_WRONLY) : fd, 2);
        argp_err_exit_status = NL_EXIT_REQUEST; /* as main.c sets it */
        exit(call->command(argc, argv));
    }
    free(argv);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#endif
