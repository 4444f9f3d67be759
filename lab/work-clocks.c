/*
 * work-clocks.c - looks at the clocks of all layers: see work-clocks.h.
 */
#include "cleanup.h"
#include "layer.h"
#include "work-clocks.h"

/* The closest of so many looks is kept: one takes three questions. */
#define ROUNDS 3

struct nl_clock_look *nl_work_clocks_new(const struct nl_stack *stack)
{
    return calloc(stack->n_layers, sizeof(struct nl_clock_look));
}

/* The clocks of the layer INDEX; -1 is where this runs. */
static int read_clock(struct nl_stack *stack, int index, struct nl_clock *clock,
                      struct nl_error **err)
{
    cleanup_json json_t *answer = NULL;

    if (index < 0) {
        *clock = nl_clock_here();
        return 0;
    }
    if (nl_layer_ask(&stack->layers[index], "clock", NULL, &answer, err) < 0 ||
        nl_clock_parse(answer, clock, err) < 0)
        return nl_wrap(err, "the clock of L%d", index);
    return 0;
}

static int look_once(struct nl_stack *stack, int index, struct nl_clock_look *look,
                     struct nl_error **err)
{
    if (read_clock(stack, index - 1, &look->before, err) < 0 ||
        read_clock(stack, index, &look->at, err) < 0)
        return -1;
    return read_clock(stack, index - 1, &look->after, err);
}

static int look(struct nl_stack *stack, int index, struct nl_clock_look *closest,
                struct nl_error **err)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct nl_clock_look one;

        if (look_once(stack, index, &one, err) < 0)
            return -1;
        if (i == 0 || nl_clock_closer(&one, closest))
            *closest = one;
    }
    return 0;
}

void nl_work_clocks_look(struct nl_stack *stack, struct nl_clock_look *looks)
{
    for (size_t i = 0; i < stack->n_layers; i++) {
        cleanup_error struct nl_error *ignored = NULL;

        if (look(stack, (int)i, &looks[i], &ignored) < 0)
            looks[i] = (struct nl_clock_look){0};
    }
}

void nl_work_clocks_end(struct nl_stack *stack, const struct nl_clock_look *first)
{
    for (size_t i = 0; i < stack->n_layers; i++) {
        cleanup_error struct nl_error *ignored = NULL;
        cleanup_json json_t *reply = NULL;
        struct nl_clock_look last = {0};

        if (first[i].at.raw_ns == 0 || look(stack, (int)i, &last, &ignored) < 0)
            continue;
        /* Not while looking: finding the rate takes its time. */
        if (nl_layer_ask(&stack->layers[i], "clock", json_pack("{s:b}", "rate", 1), &reply,
                         &ignored) < 0)
            continue;
        nl_document_layer_set(stack->document, i, "clocks",
                              nl_clocks_between(reply, &first[i], &last, !stack->layers[i].local));
    }
}
