/*
 * deadline.c - deadlines and interrupts: see deadline.h.
 */
#include "deadline.h"
#include "call-stack.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

static int interrupt_fd = -1;
static pid_t interrupt_owner; /* the process that made it */
static atomic_bool interrupted;
static atomic_int shields;

int64_t nl_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

nl_deadline nl_deadline_in(double seconds)
{
    return nl_now_ms() + (int64_t)(seconds * 1000.0);
}

int nl_deadline_left_ms(nl_deadline deadline)
{
    int64_t left = deadline - nl_now_ms();

    if (left < 0)
        return 0;
    return left > INT_MAX ? INT_MAX : (int)left;
}

static void on_signal(int signal_number)
{
    int saved = errno;
    uint64_t one = 1;

    (void)signal_number;
    atomic_store(&interrupted, true);
    /* A failed write can only mean the counter is full: then the descriptor is readable already. */
    if (write(interrupt_fd, &one, sizeof(one)) < 0)
        errno = saved;
    errno = saved;
}

int nl_interrupt_catch(struct nl_error **err)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction old;

    if (interrupt_fd < 0 || interrupt_owner != getpid()) {
        /* What came before a fork is this process's news too, what comes after is not the other's.
         */
        interrupt_fd = eventfd(nl_interrupted() ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (interrupt_fd < 0)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make an event descriptor");
        interrupt_owner = getpid();
    }
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* Ignored from the start: nohup, which is there to let a run outlive its terminal. */
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
    return 0;
}

bool nl_interrupted(void)
{
    return atomic_load(&interrupted) && atomic_load(&shields) == 0;
}

int nl_interrupt_fd(void)
{
    return interrupt_fd;
}

void nl_interrupt_shield(bool on)
{
    atomic_fetch_add(&shields, on ? 1 : -1);
}

int nl_interrupt_check(struct nl_error **err)
{
    if (!nl_interrupted())
        return 0;
    return nl_fail(err, NL_EXIT_INTERRUPTED, "interrupted");
}

/* poll() FD (or nothing, if negative) and the interrupt until the deadline. */
static int wait_for(int fd, nl_deadline deadline, struct nl_error **err)
{
    for (;;) {
        struct pollfd fds[2] = {
            {.fd = fd, .events = POLLIN},
            {.fd = atomic_load(&shields) ? -1 : interrupt_fd, .events = POLLIN},
        };
        int n;

        if (nl_interrupt_check(err) < 0)
            return -1;
        n = poll(fds, 2, nl_deadline_left_ms(deadline));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot wait");
        if (fds[0].revents)
            return 1;
        if (n == 0)
            return 0;
    }
}

int nl_sleep(double seconds, struct nl_error **err)
{
    return wait_for(-1, nl_deadline_in(seconds), err) < 0 ? -1 : 0;
}

int nl_wait_readable(int fd, nl_deadline deadline, struct nl_error **err)
{
    return wait_for(fd, deadline, err);
}

/* A call in flight. Freed by the last of the two parties. */
struct call {
    void (*function)(void *arg);
    void *arg;
    void (*free_arg)(void *arg);
    void *stack;
    int done_fd;
    atomic_int references;
    atomic_bool abandoned;
};

static void call_release(struct call *call)
{
    if (atomic_fetch_sub(&call->references, 1) != 1)
        return;
    if (atomic_load(&call->abandoned) && call->free_arg)
        call->free_arg(call->arg);
    close(call->done_fd);
    free(call);
}

static void *call_thread(void *data)
{
    struct call *call = data;
    void *stack = call->stack;
    uint64_t one = 1;

    call->function(call->arg);
    if (write(call->done_fd, &one, sizeof(one)) < 0)
        abort(); /* an eventfd of ours that takes no 1 is a broken program */
    call_release(call);
    nl_call_stack_give(stack);
    return NULL;
}

/* A thread of its own, detached, on a stack of its own. Returns an errno. */
static int start_thread(struct call *call)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, old;
    int rc;

    call->stack = nl_call_stack_take();
    if (!call->stack)
        return errno;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, call->stack, NL_CALL_STACK_SIZE);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    /* Signals are for the main thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    rc = pthread_create(&thread, &attributes, call_thread, call);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    if (rc != 0)
        nl_call_stack_give(call->stack);
    return rc;
}

/* Two references: the thread's and the caller's. NULL: it could not start, and ARG is freed. */
static struct call *call_start(void (*function)(void *arg), void *arg, void (*free_arg)(void *arg),
                               struct nl_error **err)
{
    struct call *call = calloc(1, sizeof(*call));
    int rc;

    if (!call)
        abort();
    *call = (struct call){.function = function, .arg = arg, .free_arg = free_arg};
    atomic_store(&call->references, 2);
    call->done_fd = eventfd(0, EFD_CLOEXEC);
    rc = call->done_fd < 0 ? errno : 0;
    if (rc == 0)
        rc = start_thread(call);
    if (rc == 0)
        return call;
    nl_fail_errno(err, NL_EXIT_LAB, rc, "cannot start a thread");
    nl_cleanup_closep(&call->done_fd);
    free(call);
    if (free_arg)
        free_arg(arg);
    return NULL;
}

int nl_call_with_deadline(void (*function)(void *arg), void *arg, void (*free_arg)(void *arg),
                          nl_deadline deadline, const char *what, struct nl_error **err)
{
    struct call *call = call_start(function, arg, free_arg, err);
    int rc;

    if (!call)
        return nl_wrap(err, "%s", what);
    rc = wait_for(call->done_fd, deadline, err);
    if (rc == 1) {
        call_release(call);
        return 0;
    }
    atomic_store(&call->abandoned, true);
    call_release(call);
    if (rc == 0)
        return nl_fail(err, NL_EXIT_LAB, "%s: no answer before its deadline", what);
    return nl_wrap(err, "%s", what);
}
