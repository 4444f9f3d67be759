/*
 * deadline.h - monotonic time, deadlines, and the flag that SIGINT and SIGTERM set.
 *
 * Anything that waits takes a deadline. An interrupt wakes every wait that polls nl_interrupt_fd().
 */
#ifndef NL_DEADLINE_H
#define NL_DEADLINE_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

/* CLOCK_MONOTONIC in milliseconds. */
int64_t nl_now_ms(void);

/* A point on that clock. */
typedef int64_t nl_deadline;

nl_deadline nl_deadline_in(double seconds);

/* Milliseconds left, 0 when expired, at most INT_MAX: fit for poll(). */
int nl_deadline_left_ms(nl_deadline deadline);

/* Catch SIGINT and SIGTERM from now on: they set a flag and make nl_interrupt_fd() readable for
   good; SIGPIPE is ignored. A second SIGINT does not kill: teardown has its own deadline. A process
   that was forked calls it again. */
int nl_interrupt_catch(struct nl_error **err);

bool nl_interrupted(void);

/* Readable once interrupted; -1 before nl_interrupt_catch(). */
int nl_interrupt_fd(void);

/* Teardown must run although the user interrupted: waits do not see the interrupt while this is
   held. Nests. */
void nl_interrupt_shield(bool on);

/* Fails with NL_EXIT_INTERRUPTED once interrupted (and not shielded). */
int nl_interrupt_check(struct nl_error **err);

/* Sleep, at most SECONDS; wakes on an interrupt and then fails as nl_interrupt_check does. */
int nl_sleep(double seconds, struct nl_error **err);

/* Wait until FD is readable. 1 readable, 0 deadline passed, -1 error or interrupted. */
int nl_wait_readable(int fd, nl_deadline deadline, struct nl_error **err);

/* Run FUNCTION(ARG) in a thread of its own and wait for it until DEADLINE: for library calls that
   can block without end on a guest that hangs. Returns 0 when it has returned: ARG is the caller's
   again. On expiry or interrupt it fails with WHAT in the message, and the thread is left behind
   with ARG, which is no longer the caller's: FREE_ARG (may be NULL) is called on it once the
   function has returned, or at once if no thread could be started. */
int nl_call_with_deadline(void (*function)(void *arg), void *arg, void (*free_arg)(void *arg),
                          nl_deadline deadline, const char *what, struct nl_error **err);

#endif
