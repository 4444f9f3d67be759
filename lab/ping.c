/*
 * ping.c - pings of an agent: see ping.h.
 */
#include "ping.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>

struct nl_ping {
    int wake_fd; /* readable when an answer is there or the stream has ended */
    pthread_mutex_t lock;
    char prefix[32]; /* of the ids: an earlier holder of the stream had another one */
    unsigned count;
    json_t *pong;
    bool ended;
};

int nl_ping_new(struct nl_ping **out, struct nl_error **err)
{
    struct nl_ping *ping = calloc(1, sizeof(*ping));
    uint32_t value = 0;

    if (!ping)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    ping->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ping->wake_fd < 0) {
        nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make an event descriptor");
        free(ping);
        return -1;
    }
    if (getrandom(&value, sizeof(value), GRND_NONBLOCK) < 0)
        value = (uint32_t)nl_now_ms();
    snprintf(ping->prefix, sizeof(ping->prefix), "ping-%08x-", value);
    pthread_mutex_init(&ping->lock, NULL);
    *out = ping;
    return 0;
}

void nl_ping_free(struct nl_ping **ping)
{
    if (!*ping)
        return;
    json_decref((*ping)->pong);
    nl_cleanup_closep(&(*ping)->wake_fd);
    pthread_mutex_destroy(&(*ping)->lock);
    free(*ping);
    *ping = NULL;
}

json_t *nl_ping_begin(struct nl_ping *ping)
{
    json_t *id;

    pthread_mutex_lock(&ping->lock);
    json_decref(ping->pong);
    ping->pong = NULL;
    id = json_sprintf("%s%u", ping->prefix, ping->count++);
    pthread_mutex_unlock(&ping->lock);
    return id;
}

bool nl_ping_take(struct nl_ping *ping, json_t *object)
{
    const char *id = json_string_value(json_object_get(object, "id"));

    if (!id || strncmp(id, ping->prefix, strlen(ping->prefix)) != 0)
        return false;
    pthread_mutex_lock(&ping->lock);
    json_decref(ping->pong);
    ping->pong = json_incref(object);
    eventfd_write(ping->wake_fd, 1);
    pthread_mutex_unlock(&ping->lock);
    return true;
}

void nl_ping_end(struct nl_ping *ping)
{
    pthread_mutex_lock(&ping->lock);
    ping->ended = true;
    eventfd_write(ping->wake_fd, 1);
    pthread_mutex_unlock(&ping->lock);
}

int nl_ping_wait(struct nl_ping *ping, nl_deadline deadline, json_t **pong, struct nl_error **err)
{
    for (;;) {
        bool ended;
        int rc;

        pthread_mutex_lock(&ping->lock);
        *pong = nl_steal(&ping->pong);
        ended = ping->ended;
        pthread_mutex_unlock(&ping->lock);
        if (*pong)
            return 1;
        if (ended)
            return nl_fail(err, NL_EXIT_LAB, "the agent's stream ended");
        rc = nl_wait_readable(ping->wake_fd, deadline, err);
        if (rc != 1)
            return rc;
        eventfd_read(ping->wake_fd, &(eventfd_t){0});
    }
}
