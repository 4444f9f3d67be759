/*
 * call-stack.c - a queue of stacks, the longest rested first: see call-stack.h.
 */
#include "call-stack.h"
#include "deadline.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>

#define GUARD 4096UL
/* A remote connection is used at least once a second, by the daemon's keepalive. */
#define REST_MS 60000
/* From then on a thread is surely off its stack, and the memory can go; writing to it still does no
   harm. */
#define VACATED_MS 2000

/* Lies at the lowest end of the stack it speaks of, above the guard page. */
struct resting {
    struct resting *next;
    int64_t since_ms;
    bool released;
};

static struct resting *first, **last = &first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *map_stack(void)
{
    char *memory = mmap(NULL, GUARD + NL_CALL_STACK_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    if (mprotect(memory, GUARD, PROT_NONE) < 0) {
        munmap(memory, GUARD + NL_CALL_STACK_SIZE);
        return NULL;
    }
    return memory + GUARD;
}

/* The memory of those that are vacated, but for the page with the note. */
static void release_memory(int64_t now_ms)
{
    for (struct resting *r = first; r && now_ms - r->since_ms >= VACATED_MS; r = r->next) {
        if (!r->released)
            madvise((char *)r + GUARD, NL_CALL_STACK_SIZE - GUARD, MADV_DONTNEED);
        r->released = true;
    }
}

void *nl_call_stack_take(void)
{
    struct resting *rested = NULL;

    pthread_mutex_lock(&lock);
    release_memory(nl_now_ms());
    if (first && nl_now_ms() - first->since_ms >= REST_MS) {
        rested = first;
        first = rested->next;
        if (!first)
            last = &first;
    }
    pthread_mutex_unlock(&lock);
    return rested ? rested : map_stack();
}

void nl_call_stack_give(void *stack)
{
    struct resting *note = stack;

    pthread_mutex_lock(&lock);
    *note = (struct resting){.since_ms = nl_now_ms()};
    *last = note;
    last = &note->next;
    pthread_mutex_unlock(&lock);
}
