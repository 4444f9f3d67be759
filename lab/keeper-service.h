/*
 * keeper-service.h - the keeper's conversation with one client, in a thread of its own.
 */
#ifndef NL_KEEPER_SERVICE_H
#define NL_KEEPER_SERVICE_H

#include "stack.h"

#include <stdatomic.h>

/* Each serves one client at a time. */
enum nl_keeper_use { NL_KEEPER_AGENT, NL_KEEPER_SHELL, NL_KEEPER_USES };

struct nl_keeper_busy {
    bool with[NL_KEEPER_USES];
};

/* What all conversations share; outlives those that hang. */
struct nl_keeper {
    struct nl_stack *stack;
    int down_fd;                 /* an event descriptor: somebody asked for down */
    pthread_mutex_t lock;        /* of busy */
    struct nl_keeper_busy *busy; /* by layer */
};

struct nl_keeper_client {
    struct nl_keeper *keeper;
    int fd;           /* closed by whoever frees the client */
    atomic_bool done; /* the conversation is over */
};

/* The thread's function; DATA is a struct nl_keeper_client. */
void *nl_keeper_converse(void *data);

#endif
