/*
 * error.h - what went wrong: a message, the chain of what was being done, and a hint for the user.
 *
 * Every fallible function returns 0 or a negative number and takes a `struct nl_error **` as its
 * last argument. The pointer must point to NULL on entry. On failure the callee sets it; the caller
 * either adds context with nl_wrap() and returns, or prints and frees it.
 */
#ifndef NL_ERROR_H
#define NL_ERROR_H

#include "cleanup.h"

/* Exit statuses of the program; an error carries the one it leads to. */
enum nl_exit {
    NL_EXIT_PASSED = 0,        /* all checks passed */
    NL_EXIT_CHECK_FAILED = 1,  /* the lab worked and found something wrong */
    NL_EXIT_REQUEST = 2,       /* the request was wrong: option, scenario, input file */
    NL_EXIT_LAB = 3,           /* the lab could not do it */
    NL_EXIT_INTERRUPTED = 130, /* SIGINT or SIGTERM */
};

struct nl_error;

/* Each of these returns -1, so that `return nl_fail(err, ...)` reads well. ERR may be NULL. */

/* Start an error. STATUS is what the program exits with if nothing handles it. */
int nl_fail(struct nl_error **err, enum nl_exit status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As nl_fail, with ": strerror(ERRNUM)" after the message. */
int nl_fail_errno(struct nl_error **err, enum nl_exit status, int errnum, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Say what was being done when *ERR happened: "FORMAT: earlier message". */
int nl_wrap(struct nl_error **err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Say what the user can do about it; the innermost hint stays. */
int nl_hint(struct nl_error **err, const char *format, ...) __attribute__((format(printf, 2, 3)));

const char *
nl_error_message(const struct nl_error *err);          /* the whole chain, one line; never NULL */
const char *nl_error_hint(const struct nl_error *err); /* or NULL */
enum nl_exit nl_error_status(const struct nl_error *err);

/* "nestlab: MESSAGE" and, if there is one, "nestlab: hint: HINT" on standard error. Control
   characters are made visible: a message may quote guests and files that nobody vouches for. */
void nl_error_print(const struct nl_error *err);

void nl_error_free(struct nl_error **err); /* frees and sets to NULL; also the cleanup function */

#define cleanup_error NL_CLEANUP(nl_error_free)

#endif
