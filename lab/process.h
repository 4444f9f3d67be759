/*
 * process.h - run another program by argument vector, never through a shell, with a deadline.
 */
#ifndef NL_PROCESS_H
#define NL_PROCESS_H

#include "deadline.h"

#include <stdbool.h>
#include <sys/types.h>

struct nl_process {
    const char *const *argv;        /* NULL-terminated; argv[0] is looked up in PATH */
    const char *const *environment; /* NULL, or extra NAME=VALUE strings, NULL-terminated */
    const char *directory;          /* NULL, or the working directory */
    const char *log;                /* NULL, or a file that its standard error (and, unless
                                       captured, its output) is appended to */
    const char *input;              /* NULL for /dev/null, or text for its standard input */
    size_t output_limit;            /* bytes of standard output to capture; 0: do not capture */
    double timeout;                 /* seconds; 0 means the default of 60 */
    double grace;                   /* on timeout or interrupt, seconds between SIGTERM to its
                                       group and SIGKILL; 0: SIGKILL at once */
    bool guard;                     /* should the runner be killed, its whole group is, too: for
                                       programs that start others */
    bool inherit_error;             /* standard error is the runner's own (log is not used) */
};

/* Run it to its end. The child gets a process group of its own, and dies with the runner; on
   timeout or interrupt the whole group is killed. A non-zero exit status is an error that quotes
   the last line of standard error. OUTPUT (may be NULL) receives the captured, zero-terminated
   text, the caller's to free; more than the limit is an error. */
int nl_process_run(const struct nl_process *process, char **output, struct nl_error **err);

/* Is there no process with that number, of whomever? Another may get it at any time. */
bool nl_process_is_gone(pid_t pid);

#endif
