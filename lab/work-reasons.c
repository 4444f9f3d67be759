/*
 * work-reasons.c - exits of benchmarks by reason: see work-reasons.h.
 */
#include "work-reasons.h"
#include "dig.h"
#include "exits.h"
#include "layer.h"
#include "watch.h"
#include "work.h"

/* So many that those of asking for them are few beside them; of slow ones what the time allows. */
#define OPERATIONS 1000
#define BUDGET_S 2.0

/* 0: REPLY is there. 1: the agent says no, and REFUSAL says why (the caller's). -1: it is lost. */
static int ask(struct nl_layer *layer, json_t *arguments, json_t **reply, char **refusal,
               struct nl_error **err)
{
    cleanup_error struct nl_error *said = NULL;

    if (nl_layer_ask(layer, "exit-reasons", arguments, reply, &said) == 0)
        return 0;
    if (nl_link_alive(layer->link) && !layer->given_up && !nl_interrupted()) {
        if (!*refusal && asprintf(refusal, "%s: %s", layer->spec->name, nl_error_message(said)) < 0)
            *refusal = NULL;
        return 1;
    }
    if (err)
        *err = nl_steal(&said);
    nl_wrap(err, "exits by reason");
    return nl_watch_blame(layer, "benchmarks", "timeout", err);
}

/* From the outside in, and back from the inside out: what a layer counts of the guests inside its
   own is then within what the layer below counts of them, as the reports say. The price is that the
   asking of the layers inside is among the exits of an outer one. BEGUN: how many count. Where L0
   is this machine and this is not root, it refuses, and the layers inside need not. */
static int begin(struct nl_layer *layer, size_t *begun, char **refusal, struct nl_error **err)
{
    for (size_t k = 0; k < layer->index; k++) {
        cleanup_json json_t *reply = NULL;
        int rc =
            ask(&layer->stack->layers[k], json_pack("{s:b}", "count", 1), &reply, refusal, err);

        if (rc < 0)
            return -1;
        *begun += rc == 0;
    }
    return 0;
}

/* Before those of the layers inside: in the document the outermost come first. */
static void put_first(json_t *counts, const char *layer, const json_t *reply)
{
    cleanup_json json_t *own = json_array();

    nl_exits_by_reason(layer, reply, own);
    for (size_t i = json_array_size(own); i-- > 0;)
        json_array_insert(counts, 0, json_array_get(own, i));
}

/* And back. Also of those that have not begun, whose refusal says nothing new. */
static int end(struct nl_layer *layer, json_t *counts, char **refusal, struct nl_error **err)
{
    for (size_t k = layer->index; k-- > 0;) {
        struct nl_layer *below = &layer->stack->layers[k];
        cleanup_json json_t *reply = NULL;
        char uuid[VIR_UUID_STRING_BUFLEN];

        if (virDomainGetUUIDString(below[1].domain, uuid) < 0)
            return nl_fail(err, NL_EXIT_LAB, "libvirt does not know the UUID of %s",
                           below[1].spec->name);
        if (ask(below, json_pack("{s:b, s:s}", "count", 0, "uuid", uuid), &reply, refusal, err) < 0)
            return -1;
        put_first(counts, below[1].spec->name, reply);
    }
    return 0;
}

static json_t *reasons_json(const json_t *done, const char *refusal, json_t *counts)
{
    return json_pack("{s:I, s:o, s:O}", "operations", nl_dig_integer(done, "operations", 0),
                     "skipped", refusal ? nl_document_text(refusal) : json_null(), "counts",
                     counts);
}

/* As nl_work_bench() with REFUSED, of which REFUSAL says why. */
static int repeat(struct nl_layer *layer, const char *name, json_t **done, bool *refused,
                  char **refusal, struct nl_error **err)
{
    const struct nl_benchmark_spec *spec = &layer->stack->scenario->benchmarks;
    cleanup_error struct nl_error *said = NULL;
    int rc = nl_work_bench(layer, "benchmarks", name,
                           json_pack("{s:b, s:i, s:i, s:f, s:i}", "metered", 1, "samples",
                                     OPERATIONS, "warmup", 0, "budget_s", BUDGET_S, "extra_exits",
                                     spec->extra_exits),
                           done, refused, &said);

    if (rc < 0 && *refused) {
        free(*refusal);
        if (asprintf(refusal, "%s: %s", layer->spec->name, nl_error_message(said)) < 0)
            *refusal = NULL;
    }
    if (rc < 0 && err)
        *err = nl_steal(&said);
    return rc;
}

/* How a benchmark whose result is RC ends: also after a refusal, since a layer that goes on
   counting pays for it at every exit. */
static int finish(struct nl_layer *layer, int rc, json_t *counts, bool *refused, char **refusal,
                  struct nl_error **err)
{
    cleanup_error struct nl_error *lost = NULL;

    if (end(layer, counts, refusal, &lost) == 0) {
        if (rc < 0)
            json_array_clear(counts); /* of how many operations is not known */
        return rc;
    }
    if (rc < 0)
        *refused = false;
    if (err) {
        nl_error_free(err);
        *err = nl_steal(&lost);
    }
    return -1;
}

int nl_work_reasons(struct nl_layer *layer, const char *name, json_t *result, bool *refused,
                    struct nl_error **err)
{
    cleanup_json json_t *counts = json_array();
    cleanup_json json_t *done = NULL;
    cleanup_free char *refusal = NULL;
    size_t begun = 0;
    int rc = 0;

    if (layer->index == 0 || json_is_string(json_object_get(result, "skipped")))
        return 0;
    if (begin(layer, &begun, &refusal, err) < 0)
        return -1;
    if (begun > 0) {
        rc = repeat(layer, name, &done, refused, &refusal, err);
        if (rc < 0 && !*refused)
            return -1;
        rc = finish(layer, rc, counts, refused, &refusal, err);
        if (rc < 0 && !*refused)
            return -1;
    }
    json_object_set_new(result, "exit_reasons", reasons_json(done, refusal, counts));
    return rc;
}
