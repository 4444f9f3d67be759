/*
 * call-stack.h - stacks for threads that make one call into libvirt and end.
 *
 * libvirt's client (CVE-2024-4418, not mended in Debian 12's 9.0.0) may leave an event source
 * behind that points into the stack of the thread that waited for an answer, and writes there when
 * the connection is used next. pthread_create() gives the stack of a thread that just ended to the
 * next one, which then dies of it. So a stack that was used rests for a while here.
 */
#ifndef NL_CALL_STACK_H
#define NL_CALL_STACK_H

#include <stddef.h>

#define NL_CALL_STACK_SIZE                                                                         \
    (8UL << 20) /* as pthread_create()'s; what is not touched costs nothing */

/* A stack of that size that nobody used for a minute, or a new one; NULL with errno. */
void *nl_call_stack_take(void);

/* The thread that runs on STACK is about to end. */
void nl_call_stack_give(void *stack);

#endif
