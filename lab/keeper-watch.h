/*
 * keeper-watch.h - a kept stack is looked after by a thread of the keeper: a layer that ends, hangs
 * or loses its agent has that for its state, and `nestlab list` shows it.
 */
#ifndef NL_KEEPER_WATCH_H
#define NL_KEEPER_WATCH_H

#include "stack.h"

#include <pthread.h>

struct nl_keeper_watch {
    struct nl_stack *stack;
    pthread_t thread;
    bool started;
};

/* Look after STACK from now on. Without a thread nothing is looked after, and that is all. */
void nl_keeper_watch_start(struct nl_keeper_watch *watch, struct nl_stack *stack);

/* End it; the process is interrupted already. False: it hangs in a library call until UNTIL
   (CLOCK_REALTIME), and is left behind. */
bool nl_keeper_watch_end(struct nl_keeper_watch *watch, const struct timespec *until);

/* One round: each layer from the outside in, up to the first that something is the matter with. */
void nl_keeper_watch_round(struct nl_stack *stack);

#endif
