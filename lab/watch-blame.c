/*
 * watch-blame.c - a wait ended in an error: which layer is it, what is the matter with it, and how
 * the error and the document say so. See watch.h.
 */
#include "watch-internal.h"
#include "dig.h"
#include "hang-text.h"
#include "hang.h"

#include <string.h>

/* Looking at a guest may take so long, and so long when the run's own limit is over: asking a
   libvirt that hangs would go on otherwise. */
#define JUDGE_S 60.0
#define JUDGE_LATE_S 3.0
/* libvirt may hear of a layer's end a moment after its agent's stream has ended. */
#define HEARSAY_S 3.0
#define CONSOLE_TAIL 20

/* A layer further out whose stream has ended: libvirt may say a moment later why. */
static bool has_ended(struct nl_layer *layer, struct nl_sight *sight)
{
    cleanup_error struct nl_error *ignored = NULL;

    if (nl_watch_glance(layer, sight, &ignored) < 0)
        return sight->kind != NULL;
    if (!layer->link || nl_link_alive(layer->link) || nl_sleep(HEARSAY_S, NULL) < 0)
        return false;
    return nl_watch_glance(layer, sight, &ignored) < 0 && sight->kind;
}

/* Forget what was seen of a layer that is well. */
static void look_on_at(struct nl_layer *layer, struct nl_sight *sight)
{
    nl_deadline until = sight->until;

    nl_sight_clear(sight);
    sight->layer = layer;
    sight->until = until;
}

/* A layer from OUTER to INNER that said so itself when it ended: that counts for more than what
   does not answer further out. */
static bool has_said_its_end(struct nl_layer *outer, struct nl_layer *inner, struct nl_sight *sight)
{
    for (; outer <= inner; outer++) {
        cleanup_error struct nl_error *ignored = NULL;

        if (nl_watch_has_sign(outer) && nl_watch_glance(outer, sight, &ignored) < 0 && sight->kind)
            return true;
        look_on_at(inner, sight);
    }
    return false;
}

/* STARTED: its guest has run. Before that the fault is not in it, but it may be further out. LATE:
   there is only time to see whether something has ended. */
static void judge(struct nl_layer *layer, bool started, bool late, struct nl_sight *sight)
{
    struct nl_layer *outer = &layer->stack->layers[nl_stack_outermost(layer->stack)];
    nl_deadline soon = nl_deadline_in(JUDGE_LATE_S);

    sight->until = nl_stack_deadline(layer->stack, JUDGE_S);
    if (sight->until < soon)
        sight->until = soon;
    sight->layer = layer;
    if (layer->local && layer->link) {
        nl_sight_set(sight, "timeout", "its agent, a local process, does not answer");
        return;
    }
    if (has_said_its_end(outer, layer, sight))
        return;
    for (; outer < layer; outer++) {
        if (has_ended(outer, sight) ||
            (!late && outer->greeted && nl_watch_examine(outer, true, true, sight)))
            return;
        look_on_at(layer, sight);
        if (nl_interrupted())
            return;
    }
    if (!started || (late && !has_ended(layer, sight)))
        return;
    if (!late && !nl_watch_examine(layer, layer->greeted, true, sight) && !nl_interrupted())
        nl_sight_set(sight, "slow", "its agent answers a ping, but not this");
}

/* What SIGHT's kind is called in a sentence. */
static const char *condition(const struct nl_sight *sight)
{
    if (!strcmp(sight->kind, "error"))
        return "in trouble";
    return !strcmp(sight->kind, "timeout") ? "silent" : sight->kind;
}

/* Put what was seen into *ERR; LAYER was waited for. The layer that it is about is told apart from
   the message, which calls it "it". */
static void tell(const struct nl_layer *layer, const struct nl_sight *sight, struct nl_error **err)
{
    cleanup_free char *waited = NULL;

    if (!sight->what)
        return;
    if (sight->layer == layer ||
        asprintf(&waited, ", while %s was waited for", layer->spec->name) < 0)
        waited = NULL;
    /* The wait may have ended because a glance saw the same. */
    if (!*err || strstr(nl_error_message(*err), sight->what)) {
        nl_error_free(err);
        nl_fail(err, NL_EXIT_LAB, "it is %s: %s%s", condition(sight), sight->what,
                waited ? waited : "");
    } else {
        nl_wrap(err, "it is %s: %s%s. Noticed by", condition(sight), sight->what,
                waited ? waited : "");
    }
}

/* What the failure that was just recorded says besides. */
static void add_details(const struct nl_sight *sight)
{
    struct nl_document *document = sight->layer->stack->document;
    json_t *evidence = sight->n_looks > 0 ? nl_hang_evidence(sight) : NULL;

    nl_document_failure_set(document, "seen",
                            nl_hang_stopped(evidence)
                                ? json_sprintf("%s; its QEMU's process: %s", sight->what,
                                               nl_dig_string(evidence, "process", "?"))
                                : nl_document_text(sight->what));
    if (sight->service)
        nl_document_failure_set(document, "service", json_string(sight->service));
    if (evidence)
        nl_document_failure_set(document, "evidence", evidence);
}

/* SIGHT explains *ERR, which PHASE of LAYER ended in. */
static int record(struct nl_layer *layer, const char *phase, const struct nl_sight *sight,
                  struct nl_error **err)
{
    struct nl_layer *found = sight->layer;
    struct nl_document *document = layer->stack->document;
    bool first = !json_is_object(json_object_get(nl_document_json(document), "failure"));
    json_t *tail = found->console ? nl_console_tail(found->console, CONSOLE_TAIL) : NULL;

    tell(layer, sight, err);
    if (!strcmp(found->state, NL_LAYER_UP) && nl_sight_is_lost(sight)) {
        found->state = NL_LAYER_GONE;
        nl_document_layer_state(document, found->index, found->state);
    }
    nl_stack_fail(layer->stack, found->spec->name, phase, sight->kind, tail, err);
    if (first)
        add_details(sight);
    return -1;
}

int nl_watch_check(struct nl_layer *layer, const char *phase, struct nl_error **err)
{
    cleanup_sight struct nl_sight sight = {0};

    if (!nl_watch_examine(layer, true, false, &sight) || !sight.kind)
        return nl_interrupt_check(err);
    return record(layer, phase, &sight, err);
}

int nl_watch_blame(struct nl_layer *layer, const char *phase, const char *kind,
                   struct nl_error **err)
{
    cleanup_sight struct nl_sight sight = {0};
    bool late;

    if (nl_error_status(*err) == NL_EXIT_INTERRUPTED)
        return -1;
    late = nl_stack_explain_late(layer->stack, err);
    judge(layer, layer->domain && strcmp(phase, NL_PHASE_CREATE) != 0, late, &sight);
    if (!sight.kind)
        sight.kind = late ? "timeout" : kind;
    return record(layer, phase, &sight, err);
}
