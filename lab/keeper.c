/*
 * keeper.c - the keeper's socket: accepts clients, and ends them all when it is over. See keeper.h.
 */
#include "keeper.h"
#include "keeper-service.h"
#include "keeper-watch.h"
#include "virt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define CLIENTS_MAX 32
#define SEND_S 10
#define JOIN_S 3.0
#define LOOK_MS 1000
#define STACK_BYTES (256 * 1024)

struct seat {
    struct nl_keeper_client *client; /* NULL: free */
    pthread_t thread;
};

static int make_socket(const struct nl_rundir *rundir, struct nl_error **err)
{
    cleanup_free char *path = nl_rundir_file(rundir, "keeper.sock");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (strlen(path) >= sizeof(address.sun_path))
        return nl_fail(err, NL_EXIT_LAB, "the path %s is too long for a socket", path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    unlink(path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        chmod(path, 0600) < 0 || listen(fd, CLIENTS_MAX) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot listen at %s", path);
    return nl_steal_fd(&fd);
}

static void leave_seat(struct seat *seat)
{
    close(seat->client->fd);
    free(seat->client);
    seat->client = NULL;
}

/* Free the seats of those that have ended. */
static void reap(struct seat *seats)
{
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        if (!seats[i].client || !atomic_load(&seats[i].client->done))
            continue;
        pthread_join(seats[i].thread, NULL);
        leave_seat(&seats[i]);
    }
}

static int start_conversation(struct seat *seat, struct nl_keeper *keeper, int fd)
{
    struct nl_keeper_client *client = calloc(1, sizeof(*client));
    pthread_attr_t attributes;
    sigset_t all, old;
    int rc;

    if (!client)
        return -1;
    *client = (struct nl_keeper_client){.keeper = keeper, .fd = fd};
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    /* Signals are for the main thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    rc = pthread_create(&seat->thread, &attributes, nl_keeper_converse, client);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    if (rc != 0) {
        free(client);
        return -1;
    }
    seat->client = client;
    return 0;
}

static void accept_client(struct nl_keeper *keeper, struct seat *seats, int listener)
{
    static const char full[] =
        "{\"ok\":false,\"error\":{\"message\":\"the keeper has too many clients\"}}\n";
    struct timeval patience = {.tv_sec = SEND_S};
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0) {
        /* Out of descriptors or memory: the client waits in the queue, and the loop must not spin.
         */
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            usleep(100000);
        return;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        if (!seats[i].client && start_conversation(&seats[i], keeper, fd) == 0)
            return;
    send(fd, full, strlen(full), MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

/* End all conversations. Those that hang in a library call are left behind with what they use: the
   process ends soon. True when there are none. */
static bool dismiss(struct seat *seats)
{
    struct timespec until;
    bool all = true;

    for (size_t i = 0; i < CLIENTS_MAX; i++)
        if (seats[i].client)
            shutdown(seats[i].client->fd, SHUT_RDWR);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)JOIN_S;
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        if (!seats[i].client)
            continue;
        if (pthread_timedjoin_np(seats[i].thread, NULL, &until) == 0)
            leave_seat(&seats[i]);
        else
            all = false;
    }
    return all;
}

/* Has the outermost guest ended? Its console's end says so at no cost while it runs; a console may
   also be lost otherwise, so its libvirt has the last word. */
static bool outermost_ended(const struct nl_stack *stack)
{
    size_t outermost = nl_stack_outermost(stack);
    const struct nl_layer *layer = &stack->layers[outermost];
    int state, reason;

    if (outermost >= stack->n_layers || !layer->console || !nl_console_ended(layer->console))
        return false;
    return !layer->domain ||
           (nl_virt_state(layer->domain, nl_deadline_in(5), &state, &reason, NULL) == 0 &&
            (state == VIR_DOMAIN_SHUTOFF || state == VIR_DOMAIN_CRASHED));
}

/* Serve until it is over; why. */
static const char *serve(struct nl_keeper *keeper, struct seat *seats, int listener)
{
    for (;;) {
        struct pollfd fds[] = {
            {.fd = listener, .events = POLLIN},
            {.fd = keeper->down_fd, .events = POLLIN},
            {.fd = nl_interrupt_fd(), .events = POLLIN},
        };

        if (poll(fds, 3, LOOK_MS) < 0 && errno != EINTR)
            return "the keeper cannot wait for clients";
        reap(seats);
        if (fds[1].revents)
            return "asked to";
        if (nl_interrupted())
            return "a signal";
        if (outermost_ended(keeper->stack))
            return "the outermost guest ended";
        if (fds[0].revents)
            accept_client(keeper, seats, listener);
    }
}

/* What conversations share; only freed when none is left that could use it. */
static struct nl_keeper *new_keeper(struct nl_stack *stack, struct nl_error **err)
{
    struct nl_keeper *keeper = calloc(1, sizeof(*keeper));
    struct nl_keeper_busy *busy = calloc(stack->n_layers + 1, sizeof(*busy));
    int down_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (!keeper || !busy || down_fd < 0) {
        nl_cleanup_closep(&down_fd);
        free(busy);
        free(keeper);
        nl_fail(err, NL_EXIT_LAB, "no memory or descriptors for the keeper");
        return NULL;
    }
    keeper->stack = stack;
    keeper->busy = busy;
    keeper->down_fd = down_fd;
    pthread_mutex_init(&keeper->lock, NULL);
    return keeper;
}

static void free_keeper(struct nl_keeper *keeper)
{
    close(keeper->down_fd);
    pthread_mutex_destroy(&keeper->lock);
    free(keeper->busy);
    free(keeper);
}

int nl_keeper_serve(struct nl_stack *stack, const char **why, struct nl_error **err)
{
    /* Outlives this function if its thread hangs; the process ends soon then. */
    static struct nl_keeper_watch watch;
    struct seat seats[CLIENTS_MAX] = {0};
    cleanup_close int listener = -1;
    struct nl_keeper *keeper;
    struct timespec until;

    if (nl_interrupt_catch(err) < 0)
        return -1;
    listener = make_socket(stack->rundir, err);
    if (listener < 0)
        return -1;
    keeper = new_keeper(stack, err);
    if (!keeper)
        return -1;
    nl_keeper_watch_start(&watch, stack);
    *why = serve(keeper, seats, listener);
    /* Conversations that wait for a guest end with an interrupt, as everything that waits does. */
    if (!nl_interrupted())
        kill(getpid(), SIGTERM);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)JOIN_S;
    nl_keeper_watch_end(&watch, &until);
    if (dismiss(seats))
        free_keeper(keeper);
    return 0;
}
