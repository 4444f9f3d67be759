/*
 * link-serial.c - the carrier over a libvirt stream: a guest's virtio-serial port or console.
 *
 * The stream is non-blocking and told by libvirt's event loop when to go on. A blocking one would
 * not do: in the embedded driver virStreamRecv() holds the stream's lock while it waits, so that
 * sending and closing wait for the guest to say something.
 */
#include "link-internal.h"
#include "carrier.h"
#include "deadline.h"
#include "virt-turn.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>

#define OPEN_S 30.0

/* The longest wait for an event before the stream is asked anyway: bounds what a lost event, or a
   connection that died without a word, can cost. */
#define IDLE_MS 1000

/* libvirt's remote protocol refuses more than about 256 KiB in one piece. */
#define SEND_MAX (64 * 1024)

struct stream_carrier {
    struct nl_carrier carrier;
    virConnectPtr conn;
    virStreamPtr stream;
    atomic_int references; /* the owner, and libvirt's callback */
    atomic_bool stopped;
    pthread_mutex_t lock;
    int events; /* what the callback is subscribed for, under lock */
    int readable_fd;
    int writable_fd;
};

static void unref(void *data)
{
    struct stream_carrier *self = data;

    if (atomic_fetch_sub(&self->references, 1) != 1)
        return;
    if (self->stream)
        virStreamFree(self->stream);
    if (self->conn)
        virConnectClose(self->conn);
    nl_cleanup_closep(&self->readable_fd);
    nl_cleanup_closep(&self->writable_fd);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

static void wake(int fd)
{
    /* Fails only when the counter is full: then the other side is awake. */
    if (eventfd_write(fd, 1) < 0)
        return;
}

/* Events stay raised until the cause is gone, so each is unsubscribed here and subscribed again by
   the thread that acted on it and found nothing more to do. */
static void on_event(virStreamPtr stream, int events, void *data)
{
    struct stream_carrier *self = data;
    bool broken = events & (VIR_STREAM_EVENT_HANGUP | VIR_STREAM_EVENT_ERROR);

    pthread_mutex_lock(&self->lock);
    self->events = broken ? 0 : self->events & ~events;
    virStreamEventUpdateCallback(stream, self->events);
    pthread_mutex_unlock(&self->lock);
    if (broken || (events & VIR_STREAM_EVENT_READABLE))
        wake(self->readable_fd);
    if (broken || (events & VIR_STREAM_EVENT_WRITABLE))
        wake(self->writable_fd);
}

/* Wait for EVENT (or for long enough), signalled on FD. */
static void await(struct stream_carrier *self, int event, int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    eventfd_t count;

    pthread_mutex_lock(&self->lock);
    if (!(self->events & event) && !atomic_load(&self->stopped)) {
        self->events |= event;
        virStreamEventUpdateCallback(self->stream, self->events);
    }
    pthread_mutex_unlock(&self->lock);
    if (poll(&poll_fd, 1, IDLE_MS) > 0 && !atomic_load(&self->stopped) &&
        eventfd_read(fd, &count) < 0)
        return;
}

static int broke(const char *what, struct nl_error **err)
{
    const char *message = virGetLastErrorMessage();

    return nl_fail(err, NL_EXIT_LAB, "%s: %s", what, message ? message : "unknown libvirt error");
}

static ssize_t stream_read(struct nl_carrier *carrier, char *buffer, size_t size,
                           struct nl_error **err)
{
    struct stream_carrier *self = (struct stream_carrier *)carrier;

    while (!atomic_load(&self->stopped)) {
        int n = virStreamRecv(self->stream, buffer, size);

        if (n >= 0)
            return n;
        if (n != -2)
            return broke("reading", err);
        if (virConnectIsAlive(self->conn) == 0)
            return nl_fail(err, NL_EXIT_LAB, "the connection to libvirt is gone");
        await(self, VIR_STREAM_EVENT_READABLE, self->readable_fd);
    }
    return 0;
}

static ssize_t stream_write(struct nl_carrier *carrier, const char *bytes, size_t length,
                            struct nl_error **err)
{
    struct stream_carrier *self = (struct stream_carrier *)carrier;

    if (length > SEND_MAX)
        length = SEND_MAX;
    while (!atomic_load(&self->stopped)) {
        struct nl_virt_turn *turn = nl_virt_turn_take(self->conn);
        int n = virStreamSend(self->stream, bytes, length);

        nl_virt_turn_give(&turn);
        if (n >= 0)
            return n;
        if (n != -2)
            return broke("writing", err);
        await(self, VIR_STREAM_EVENT_WRITABLE, self->writable_fd);
    }
    return nl_fail(err, NL_EXIT_LAB, "the stream was closed");
}

static void stream_stop(struct nl_carrier *carrier)
{
    struct stream_carrier *self = (struct stream_carrier *)carrier;

    atomic_store(&self->stopped, true);
    wake(self->readable_fd);
    wake(self->writable_fd);
}

static void stream_free(struct nl_carrier *carrier)
{
    struct stream_carrier *self = (struct stream_carrier *)carrier;
    cleanup_turn struct nl_virt_turn *turn = nl_virt_turn_take(self->conn);

    virStreamEventRemoveCallback(self->stream);
    virStreamAbort(self->stream);
    unref(self);
}

/* The arguments and the result of an opening that may be left behind. */
struct opening {
    virDomainPtr domain;
    char *port;
    struct stream_carrier *self; /* NULL once it is handed over */
    char *trouble;
};

static void free_opening(void *data)
{
    struct opening *opening = data;

    if (opening->self)
        stream_free(&opening->self->carrier);
    virDomainFree(opening->domain);
    free(opening->port);
    free(opening->trouble);
    free(opening);
}

static int open_stream(struct opening *opening)
{
    struct stream_carrier *self = opening->self;
    const char *port = opening->port;

    if (port ? virDomainOpenChannel(opening->domain, port, self->stream, VIR_DOMAIN_CHANNEL_FORCE)
             : virDomainOpenConsole(opening->domain, NULL, self->stream, VIR_DOMAIN_CONSOLE_FORCE))
        return -1;
    atomic_fetch_add(&self->references, 1);
    if (virStreamEventAddCallback(self->stream, 0, on_event, self, unref) == 0)
        return 0;
    atomic_fetch_sub(&self->references, 1);
    return -1;
}

static void run_opening(void *data)
{
    struct opening *opening = data;
    cleanup_turn struct nl_virt_turn *turn =
        nl_virt_turn_take(virDomainGetConnect(opening->domain));
    const char *message;

    virResetLastError();
    if (open_stream(opening) == 0)
        return;
    message = virGetLastErrorMessage();
    opening->trouble = strdup(message ? message : "unknown libvirt error");
}

static struct stream_carrier *new_carrier(virDomainPtr domain)
{
    struct stream_carrier *self = calloc(1, sizeof(*self));
    virConnectPtr conn = virDomainGetConnect(domain);

    if (!self)
        return NULL;
    self->carrier = (struct nl_carrier){stream_read, stream_write, stream_stop, stream_free};
    atomic_init(&self->references, 1);
    pthread_mutex_init(&self->lock, NULL);
    self->readable_fd = eventfd(0, EFD_CLOEXEC);
    self->writable_fd = eventfd(0, EFD_CLOEXEC);
    self->stream = virStreamNew(conn, VIR_STREAM_NONBLOCK);
    if (virConnectRef(conn) == 0)
        self->conn = conn;
    if (self->readable_fd >= 0 && self->writable_fd >= 0 && self->stream && self->conn)
        return self;
    unref(self);
    return NULL;
}

int nl_carrier_open_stream(virDomainPtr domain, const char *port, struct nl_carrier **carrier,
                           struct nl_error **err)
{
    struct opening *opening = calloc(1, sizeof(*opening));
    const char *what = port ? port : "the console";
    int rc = 0;

    if (!opening || virDomainRef(domain) < 0) {
        free(opening);
        return nl_fail(err, NL_EXIT_LAB, "cannot open %s", what);
    }
    opening->domain = domain;
    opening->port = port ? strdup(port) : NULL;
    opening->self = new_carrier(domain);
    if (!opening->self || (port && !opening->port)) {
        free_opening(opening);
        return nl_fail(err, NL_EXIT_LAB, "cannot make a libvirt stream for %s", what);
    }
    if (nl_call_with_deadline(run_opening, opening, free_opening, nl_deadline_in(OPEN_S), what,
                              err) < 0)
        return nl_wrap(err, "cannot open");
    if (opening->trouble)
        rc = nl_fail(err, NL_EXIT_LAB, "cannot open %s: %s", what, opening->trouble);
    else
        *carrier = &nl_steal(&opening->self)->carrier;
    free_opening(opening);
    return rc;
}

int nl_link_open_serial(virDomainPtr domain, const char *port, nl_link_event *on_event_function,
                        void *data, struct nl_link **link, struct nl_error **err)
{
    struct nl_carrier *carrier = NULL;

    if (nl_carrier_open_stream(domain, port, &carrier, err) < 0)
        return -1;
    return nl_link_start(carrier, on_event_function, data, link, err);
}
