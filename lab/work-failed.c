/*
 * work-failed.c - benchmarks without a result: see work-failed.h.
 */
#include "work-failed.h"
#include "dig.h"
#include "layer.h"
#include "progress.h"

#include <string.h>

/* As the agent's list describes it: its unit, what it is about. Empty where that cannot be had. */
static json_t *describe(struct nl_layer *layer, const char *name)
{
    cleanup_error struct nl_error *ignored = NULL;
    cleanup_json json_t *reply = NULL;
    size_t i;
    json_t *one;

    if (nl_layer_ask(layer, "benches", NULL, &reply, &ignored) < 0)
        return json_object();
    json_array_foreach(json_object_get(reply, "benchmarks"), i, one)
    {
        if (nl_dig_is(one, "name", name))
            return json_copy(one);
    }
    return json_object();
}

/* A result that has none, and says why. */
static json_t *without_figure(struct nl_layer *layer, const char *name, const struct nl_error *err)
{
    json_t *result = describe(layer, name);

    json_object_set_new(result, "name", nl_document_text(name));
    if (!json_is_string(json_object_get(result, "unit")))
        json_object_set_new(result, "unit", json_string("?"));
    json_object_set_new(result, "samples", json_array());
    json_object_set_new(result, "skipped", json_sprintf("failed: %s", nl_error_message(err)));
    return result;
}

void nl_failed_benchmark(struct nl_failed_benchmarks *failed, struct nl_layer *layer,
                         const char *name, double seconds, json_t *result, struct nl_error **err)
{
    const struct nl_stack *stack = layer->stack;
    double most = stack->scenario->timeouts.benchmark_s;
    const char *said = strstr(nl_error_message(*err), "benchmark \"");
    cleanup_error struct nl_error *one = NULL;

    /* The agent's own words are enough. */
    nl_fail(&one, NL_EXIT_LAB, "%s", said ? said : nl_error_message(*err));
    nl_error_free(err);
    nl_progress_note("%s at %s has no %s: %s", name, layer->spec->name,
                     result ? "exits by reason" : "result", nl_error_message(one));
    if (!result)
        result = without_figure(layer, name, one);
    else
        nl_wrap(&one, "exits by reason");
    nl_document_layer_benchmark(stack->document, layer->index, result);
    if (seconds >= most)
        nl_hint(&one,
                "give each benchmark longer (timeouts.benchmark_s in the scenario, now %g), or "
                "leave this one out at this layer",
                most);
    if (failed->n++ > 0)
        return;
    failed->layer = layer->spec->name;
    failed->first = nl_steal(&one);
}

void nl_failed_benchmarks_tell(struct nl_stack *stack, struct nl_failed_benchmarks *failed)
{
    if (failed->n == 0)
        return;
    if (failed->n > 1)
        nl_wrap(&failed->first, "%zu benchmarks have no result, the first", failed->n);
    nl_document_fail(stack->document, failed->layer, "benchmarks", "refused", failed->first, NULL);
}

void nl_failed_benchmarks_clear(struct nl_failed_benchmarks *failed)
{
    nl_error_free(&failed->first);
}
