/*
 * pump.c - the two threads of a stream: see pump.h.
 *
 * A library call under a carrier can hang without end (libvirt over a connection whose other end is
 * gone). Then the thread inside it is left behind at stop, holding a reference: whoever gives back
 * the last one closes the carrier.
 */
#include "pump.h"
#include "deadline.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#define READ_SIZE (64 * 1024)
#define STOP_THREADS_S 2.0
#define STOP_CARRIER_S 1.0

struct chunk {
    struct chunk *next;
    size_t length;
    char bytes[];
};

struct nl_pump {
    struct nl_carrier *carrier;
    nl_pump_bytes *on_bytes;
    void *data;
    size_t queue_limit;
    atomic_int references;
    atomic_int_fast64_t last_heard_ms;

    pthread_mutex_t deliver; /* held around on_bytes, and to silence it */
    bool silent;

    pthread_mutex_t lock; /* all below */
    pthread_cond_t changed;
    bool stopping;
    bool ended;
    bool deaf; /* it takes no more bytes; it may still deliver some */
    int threads;
    struct chunk *queue;
    struct chunk **queue_tail;
    size_t queued;
};

static void close_carrier(void *data)
{
    struct nl_pump *pump = data;

    if (pump->carrier)
        pump->carrier->free(pump->carrier);
    pump->carrier = NULL;
}

static void unref(void *data)
{
    struct nl_pump *pump = data;
    struct chunk *next;

    if (atomic_fetch_sub(&pump->references, 1) != 1)
        return;
    close_carrier(pump);
    for (struct chunk *c = pump->queue; c; c = next) {
        next = c->next;
        free(c);
    }
    pthread_mutex_destroy(&pump->deliver);
    pthread_mutex_destroy(&pump->lock);
    pthread_cond_destroy(&pump->changed);
    free(pump);
}

static void deliver(struct nl_pump *pump, const char *bytes, size_t length, const char *reason)
{
    pthread_mutex_lock(&pump->deliver);
    if (!pump->silent)
        pump->on_bytes(bytes, length, reason, pump->data);
    pthread_mutex_unlock(&pump->deliver);
}

static void mark_ended(struct nl_pump *pump)
{
    pthread_mutex_lock(&pump->lock);
    pump->ended = true;
    pthread_cond_broadcast(&pump->changed);
    pthread_mutex_unlock(&pump->lock);
}

static void thread_leave(struct nl_pump *pump)
{
    pthread_mutex_lock(&pump->lock);
    pump->threads--;
    pthread_cond_broadcast(&pump->changed);
    pthread_mutex_unlock(&pump->lock);
    unref(pump);
}

static void read_all(struct nl_pump *pump)
{
    cleanup_free char *buffer = malloc(READ_SIZE);
    cleanup_error struct nl_error *error = NULL;
    ssize_t n = -1;

    if (!buffer)
        nl_fail(&error, NL_EXIT_LAB, "out of memory");
    while (buffer && (n = pump->carrier->read(pump->carrier, buffer, READ_SIZE, &error)) > 0) {
        atomic_store(&pump->last_heard_ms, nl_now_ms());
        deliver(pump, buffer, (size_t)n, NULL);
    }
    mark_ended(pump);
    deliver(pump, NULL, 0, n < 0 ? nl_error_message(error) : NULL);
}

/* Who waits for it to leave may end the process next: by then it owns nothing any more. */
static void *read_thread(void *data)
{
    read_all(data);
    thread_leave(data);
    return NULL;
}

/* The next chunk to write, taken off the queue; NULL: no more. */
static struct chunk *take_chunk(struct nl_pump *pump)
{
    struct chunk *chunk = NULL;

    pthread_mutex_lock(&pump->lock);
    while (!pump->stopping && !pump->ended && !pump->queue)
        pthread_cond_wait(&pump->changed, &pump->lock);
    if (!pump->stopping && !pump->ended) {
        chunk = pump->queue;
        pump->queue = chunk->next;
        if (!pump->queue)
            pump->queue_tail = &pump->queue;
    }
    pthread_mutex_unlock(&pump->lock);
    return chunk;
}

static bool write_chunk(struct nl_pump *pump, const struct chunk *chunk)
{
    for (size_t done = 0; done < chunk->length;) {
        ssize_t n =
            pump->carrier->write(pump->carrier, chunk->bytes + done, chunk->length - done, NULL);

        if (n < 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static void *write_thread(void *data)
{
    struct nl_pump *pump = data;
    struct chunk *chunk;
    bool ok = true;

    while (ok && (chunk = take_chunk(pump))) {
        ok = write_chunk(pump, chunk);
        pthread_mutex_lock(&pump->lock);
        pump->queued -= chunk->length;
        pump->deaf = !ok;
        pthread_mutex_unlock(&pump->lock);
        free(chunk);
    }
    thread_leave(pump);
    return NULL;
}

static int start_thread(struct nl_pump *pump, void *(*main)(void *), struct nl_error **err)
{
    sigset_t all, old;
    pthread_t thread;
    int rc;

    atomic_fetch_add(&pump->references, 1);
    pthread_mutex_lock(&pump->lock);
    pump->threads++;
    pthread_mutex_unlock(&pump->lock);
    /* Signals are for the main thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    rc = pthread_create(&thread, NULL, main, pump);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0) {
        thread_leave(pump);
        return nl_fail_errno(err, NL_EXIT_LAB, rc, "cannot start a thread");
    }
    pthread_detach(thread);
    return 0;
}

int nl_pump_start(struct nl_carrier *carrier, size_t queue_limit, nl_pump_bytes *on_bytes,
                  void *data, struct nl_pump **out, struct nl_error **err)
{
    struct nl_pump *pump = calloc(1, sizeof(*pump));

    if (!pump) {
        carrier->free(carrier);
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    pump->carrier = carrier;
    pump->on_bytes = on_bytes;
    pump->data = data;
    pump->queue_limit = queue_limit;
    pump->queue_tail = &pump->queue;
    atomic_init(&pump->references, 1);
    pthread_mutex_init(&pump->deliver, NULL);
    pthread_mutex_init(&pump->lock, NULL);
    pthread_cond_init(&pump->changed, NULL);
    if (start_thread(pump, read_thread, err) < 0 || start_thread(pump, write_thread, err) < 0) {
        nl_pump_stop(&pump);
        return -1;
    }
    *out = pump;
    return 0;
}

static void enqueue(struct nl_pump *pump, struct chunk *chunk)
{
    *pump->queue_tail = chunk;
    pump->queue_tail = &chunk->next;
    pump->queued += chunk->length;
    pthread_cond_broadcast(&pump->changed);
}

int nl_pump_send(struct nl_pump *pump, const char *bytes, size_t length, struct nl_error **err)
{
    struct chunk *chunk = malloc(sizeof(*chunk) + length);
    const char *trouble = NULL;

    if (!chunk)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    chunk->next = NULL;
    chunk->length = length;
    memcpy(chunk->bytes, bytes, length);
    pthread_mutex_lock(&pump->lock);
    if (pump->ended || pump->stopping) {
        trouble = "the stream has ended";
    } else if (pump->deaf) {
        trouble = "the stream takes no more bytes";
    } else if (pump->queued + length > pump->queue_limit) {
        trouble = "the other side does not read what it is sent";
    } else {
        enqueue(pump, chunk);
    }
    pthread_mutex_unlock(&pump->lock);
    if (!trouble)
        return 0;
    free(chunk);
    return nl_fail(err, NL_EXIT_LAB, "%s", trouble);
}

int64_t nl_pump_last_heard_ms(struct nl_pump *pump)
{
    return atomic_load(&pump->last_heard_ms);
}

/* Whether both threads left within their time. */
static bool threads_left(struct nl_pump *pump)
{
    nl_deadline deadline = nl_deadline_in(STOP_THREADS_S);
    struct timespec until = {.tv_sec = deadline / 1000, .tv_nsec = deadline % 1000 * 1000000};
    bool left;

    pthread_mutex_lock(&pump->lock);
    while (pump->threads > 0 &&
           pthread_cond_clockwait(&pump->changed, &pump->lock, CLOCK_MONOTONIC, &until) == 0)
        ;
    left = pump->threads == 0;
    pthread_mutex_unlock(&pump->lock);
    return left;
}

void nl_pump_stop(struct nl_pump **out)
{
    struct nl_pump *pump = *out;

    if (!pump)
        return;
    *out = NULL;
    pthread_mutex_lock(&pump->lock);
    pump->stopping = true;
    pthread_cond_broadcast(&pump->changed);
    pthread_mutex_unlock(&pump->lock);
    pump->carrier->stop(pump->carrier);
    pthread_mutex_lock(&pump->deliver);
    pump->silent = true;
    pthread_mutex_unlock(&pump->deliver);
    if (!threads_left(pump)) {
        unref(pump);
        return;
    }
    nl_interrupt_shield(true);
    if (nl_call_with_deadline(close_carrier, pump, unref, nl_deadline_in(STOP_CARRIER_S),
                              "closing a stream", NULL) == 0)
        unref(pump);
    nl_interrupt_shield(false);
}
