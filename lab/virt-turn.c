/*
 * virt-turn.c - a lock for each connection, by its address: see virt-turn.h.
 */
#include "virt-turn.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* A domain whose QEMU hangs keeps a call for long, and is ended by another. */
#define PATIENCE_S 2

/* Never freed: an address is used again only when nobody refers to the connection it was of. */
struct nl_virt_turn {
    struct nl_virt_turn *next;
    virConnectPtr conn;
    pthread_mutex_t lock;
};

static struct nl_virt_turn *turns;
static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;

/* With the list locked. */
static struct nl_virt_turn *find(virConnectPtr conn)
{
    struct nl_virt_turn *turn;

    for (turn = turns; turn && turn->conn != conn; turn = turn->next)
        ;
    return turn;
}

void nl_virt_turn_make(virConnectPtr conn)
{
    struct nl_virt_turn *turn;

    pthread_mutex_lock(&list);
    if (!find(conn)) {
        turn = calloc(1, sizeof(*turn));
        if (!turn)
            abort();
        turn->conn = conn;
        pthread_mutex_init(&turn->lock, NULL);
        turn->next = turns;
        turns = turn;
    }
    pthread_mutex_unlock(&list);
}

struct nl_virt_turn *nl_virt_turn_take(virConnectPtr conn)
{
    struct nl_virt_turn *turn;
    struct timespec until;

    pthread_mutex_lock(&list);
    turn = find(conn);
    pthread_mutex_unlock(&list);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_S;
    if (turn && pthread_mutex_clocklock(&turn->lock, CLOCK_MONOTONIC, &until) == 0)
        return turn;
    return NULL;
}

void nl_virt_turn_give(struct nl_virt_turn **turn)
{
    if (*turn)
        pthread_mutex_unlock(&(*turn)->lock);
    *turn = NULL;
}
