/*
 * keeper-watch.c - looking after a kept stack: see keeper-watch.h.
 */
#include "keeper-watch.h"
#include "watch.h"

#include <signal.h>
#include <string.h>

#define ROUND_S 10.0
#define STACK_BYTES (256 * 1024)

/* What a layer's kind of failure is called as a state; what is not here is none. */
static const struct {
    const char *kind;
    const char *state;
} states[] = {
    {"crashed", "crashed"},       {"gone", NL_LAYER_GONE}, {"hung", "hung"},
    {"lost", "without an agent"}, {"error", "in trouble"},
};

static void set_state(struct nl_layer *layer, const char *state)
{
    pthread_mutex_lock(&layer->lock);
    layer->state = state;
    pthread_mutex_unlock(&layer->lock);
}

static const char *state_of(const struct nl_sight *sight)
{
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (sight->kind && strcmp(sight->kind, states[i].kind) == 0)
            return states[i].state;
    return NL_LAYER_UP;
}

void nl_keeper_watch_round(struct nl_stack *stack)
{
    for (size_t i = 0; i < stack->n_layers && !nl_interrupted(); i++) {
        struct nl_layer *layer = &stack->layers[i];
        cleanup_sight struct nl_sight sight = {0};

        if (!layer->greeted)
            continue;
        if (!nl_watch_examine(layer, true, false, &sight)) {
            if (!nl_interrupted())
                set_state(layer, NL_LAYER_UP);
            continue;
        }
        set_state(layer, state_of(&sight));
        /* What is inside it cannot be told. */
        if (strcmp(state_of(&sight), NL_LAYER_UP) != 0)
            return;
    }
}

static void *look_after(void *data)
{
    struct nl_keeper_watch *watch = data;

    while (nl_sleep(ROUND_S, NULL) == 0)
        nl_keeper_watch_round(watch->stack);
    return NULL;
}

void nl_keeper_watch_start(struct nl_keeper_watch *watch, struct nl_stack *stack)
{
    pthread_attr_t attributes;
    sigset_t all, old;

    watch->stack = stack;
    /* Pings are this thread's from now on. */
    for (size_t i = 0; i < stack->n_layers; i++)
        if (stack->layers[i].link)
            nl_link_watch(stack->layers[i].link, NULL, NULL);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    /* Signals are for the main thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    watch->started = pthread_create(&watch->thread, &attributes, look_after, watch) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
}

bool nl_keeper_watch_end(struct nl_keeper_watch *watch, const struct timespec *until)
{
    return !watch->started || pthread_timedjoin_np(watch->thread, NULL, until) == 0;
}
