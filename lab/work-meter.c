/*
 * work-meter.c - marked operations at every layer: see work-meter.h.
 */
#include "work-meter.h"
#include "dig.h"
#include "meter-result.h"
#include "progress.h"
#include "work-profile.h"
#include "work-tally.h"
#include "work.h"

/* Operations that are not marked, to begin with. */
#define WARMUP 10

/* Whoever else executes marks at another layer would be counted for this one. */
static int check_marks(const struct nl_layer *layer, const struct meter_record *records, size_t n,
                       struct nl_error **err)
{
    for (size_t i = 0; i < n; i++)
        if (records[i].began_at != layer->index || records[i].ended_at != layer->index)
            return nl_fail(err, NL_EXIT_LAB,
                           "operation %zu of %s is marked from L%u to L%u, so instructions cannot "
                           "be told apart by layer",
                           i + 1, layer->spec->name, records[i].began_at, records[i].ended_at);
    return 0;
}

int nl_work_metered(struct nl_layer *layer, const char *name, json_t **metered,
                    struct nl_error **err)
{
    const struct nl_stack *stack = layer->stack;
    const struct nl_meter_spec *spec = &stack->scenario->meter;
    cleanup_free struct meter_record *records = NULL;
    cleanup_json json_t *reply = NULL;
    uint64_t before = 0;
    json_int_t n;

    if (nl_meter_written(stack->meter, &before, err) < 0 ||
        nl_work_bench(layer, "meter", name,
                      json_pack("{s:b, s:i, s:i, s:f, s:i}", "metered", 1, "samples", spec->samples,
                                "warmup", WARMUP, "budget_s", spec->budget_s, "extra_exits",
                                spec->extra_exits),
                      &reply, NULL, err) < 0)
        return -1;
    n = nl_dig_integer(reply, "operations", 0);
    if (n < 0 || n > METER_RECORDS)
        return nl_fail(err, NL_EXIT_LAB, "the agent of %s says that it did %lld operations",
                       layer->spec->name, (long long)n);
    records = calloc((size_t)n + 1, sizeof(*records));
    if (!records)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (n > 0 && (nl_meter_read(stack->meter, before, (size_t)n, records, err) < 0 ||
                  check_marks(layer, records, (size_t)n, err) < 0))
        return nl_wrap(err, "metering %s at %s", name, layer->spec->name);
    *metered = nl_meter_result(reply, records, (size_t)n, stack->n_layers);
    return *metered ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
}

static int meter_benchmark(struct nl_layer *layer, const char *name, void *data,
                           struct nl_error **err)
{
    json_t *metered = NULL;

    if (nl_work_metered(layer, name, &metered, err) < 0)
        return -1;
    nl_work_tally_add(data, metered);
    nl_document_layer_metered(layer->stack->document, layer->index, metered);
    return layer->stack->scenario->meter.profile ? nl_work_profile(layer, name, metered, err) : 0;
}

int nl_work_meter(struct nl_stack *stack, struct nl_error **err)
{
    const struct nl_meter_spec *spec = &stack->scenario->meter;
    struct nl_work_tally tally = {0};
    cleanup_free char *text = NULL;

    nl_progress_begin("metering");
    if (nl_work_rows(stack, spec->benchmarks, spec->layers, meter_benchmark, &tally, err) < 0)
        return -1;
    text = nl_work_tally_text(&tally);
    nl_progress_end("%s", text);
    return 0;
}
