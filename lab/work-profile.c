/*
 * work-profile.c - which functions: see work-profile.h.
 *
 * The operations that were metered before say how many instructions an undisturbed one takes; only
 * such operations are accepted into the profile, so it has no ticks in it.
 */
#include "work-profile.h"
#include "dig.h"
#include "layer.h"
#include "profile.h"
#include "progress.h"
#include "work-meter.h"

#include <errno.h>
#include <string.h>

/* Addresses in one question: well below what a link takes (link.h). */
#define ADDRESSES 3000

/* What the agent of LAYER calls N places, appended to NAMES. */
static int ask_names(struct nl_layer *layer, const struct nl_meter_place *places, size_t n,
                     json_t *names, struct nl_error **err)
{
    cleanup_json json_t *reply = NULL;
    json_t *addresses = json_array();
    json_t *symbols, *symbol;
    size_t k;

    for (size_t i = 0; i < n; i++)
        json_array_append_new(addresses,
                              json_sprintf("0x%llx", (unsigned long long)places[i].address));
    nl_progress_update("functions of %s", layer->spec->name);
    if (nl_layer_ask(layer, "symbols", json_pack("{s:o}", "addresses", addresses), &reply, err) < 0)
        return -1;
    symbols = json_object_get(reply, "symbols");
    if (json_array_size(symbols) != n)
        return nl_fail(err, NL_EXIT_LAB, "the agent of %s named %zu of %zu addresses",
                       layer->spec->name, json_array_size(symbols), n);
    json_array_foreach(symbols, k, symbol)
    {
        const char *name = json_string_value(json_array_get(symbol, 0));

        json_array_append_new(names, name ? json_string(name) : json_null());
    }
    return 0;
}

/* PLACES are sorted by layer. */
static int resolve(struct nl_stack *stack, const struct nl_meter_place *places, size_t n,
                   json_t *names, struct nl_error **err)
{
    for (size_t i = 0, k; i < n; i = k) {
        unsigned layer = places[i].layer;

        for (k = i; k < n && k - i < ADDRESSES && places[k].layer == layer;)
            k++;
        if (layer < stack->n_layers) {
            if (ask_names(&stack->layers[layer], &places[i], k - i, names, err) < 0)
                return -1;
            continue;
        }
        /* A tiny guest of the innermost layer: it has no kernel. */
        for (size_t j = i; j < k; j++)
            json_array_append_new(names, json_null());
    }
    return 0;
}

static int save(struct nl_layer *layer, const char *name, const json_t *profile,
                struct nl_error **err)
{
    cleanup_free char *file = NULL;
    cleanup_free char *path = NULL;
    cleanup_fclose FILE *out = NULL;

    if (asprintf(&file, "profile-%s-%s.folded", name, layer->spec->name) < 0 ||
        asprintf(&path, "%s/%s", layer->stack->out, file) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    out = fopen(path, "we");
    if (!out)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write %s", path);
    nl_profile_folded(profile, name, layer->spec->name, out);
    if (fflush(out) != 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write %s", path);
    nl_document_layer_file(layer->stack->document, layer->index, file, file);
    return 0;
}

int nl_work_profile(struct nl_layer *layer, const char *name, json_t *metered,
                    struct nl_error **err)
{
    struct nl_stack *stack = layer->stack;
    cleanup_free struct nl_meter_place *places = NULL;
    cleanup_json json_t *names = json_array();
    cleanup_json json_t *again = NULL;
    uint64_t operations = 0;
    json_t *profile;
    size_t n = 0;

    if (!nl_dig(metered, "total"))
        return 0;
    if (nl_meter_profile_start(stack->meter, (uint64_t)nl_dig_integer(metered, "low", 0),
                               (uint64_t)nl_dig_integer(metered, "high", 0), err) < 0 ||
        nl_work_metered(layer, name, &again, err) < 0 ||
        nl_meter_profile_read(stack->meter, &places, &n, &operations, err) < 0 ||
        resolve(stack, places, n, names, err) < 0)
        return nl_wrap(err, "profile of %s at %s", name, layer->spec->name);
    profile = nl_profile(places, names, n, operations);
    if (!profile)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    json_object_set_new(metered, "profile", profile);
    return save(layer, name, profile, err);
}
