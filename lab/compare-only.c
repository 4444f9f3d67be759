/*
 * compare-only.c - what only one side measured: see compare-only.h.
 */
#include "compare-only.h"
#include "cleanup.h"
#include "dig.h"
#include "scenario.h"

#include <string.h>

/* Why a run did not measure what the base did: the further right, the more it says. */
enum reason { NOT_ASKED, NO_LAYER, EXPECTED, INTERRUPTED, FAILED, SKIPPED, MISSING };

/* KIND of measurement: where its results and its order are in a document, and what it is called. */
static const struct kind {
    const char *name;
    const char *results;
    const char *asked;
    const char *asked_layers;
    const char *words;
} kinds[] = {
    {"time", "benchmarks", "scenario.benchmarks.names", "scenario.benchmarks.layers", "times of"},
    {"metered", "metered", "scenario.meter.benchmarks", "scenario.meter.layers", "counts of"},
};

static const struct kind *kind_of(const json_t *element)
{
    return &kinds[nl_dig_is(element, "kind", kinds[1].name)];
}

json_t *nl_compare_only_new(void)
{
    return json_pack("{s:[], s:[]}", "only_in_base", "only_in_new");
}

void nl_compare_only_add(json_t *only, const char *side, const char *kind, const char *benchmark,
                         const char *unit, size_t index, json_t *figures)
{
    char list[16], layer[24];

    snprintf(list, sizeof(list), "only_in_%s", side);
    snprintf(layer, sizeof(layer), "L%zu", index);
    json_array_append_new(json_object_get(only, list),
                          json_pack("{s:s, s:s, s:s, s:s, s:o}", "kind", kind, "benchmark",
                                    benchmark, "layer", layer, "unit", unit, side, figures));
}

static bool holds(const json_t *array, const char *text)
{
    size_t i;
    json_t *each;

    json_array_foreach(array, i, each)
    {
        if (json_is_string(each) && strcmp(json_string_value(each), text) == 0)
            return true;
    }
    return false;
}

/* Did the scenario of DOCUMENT ask for it? One that does not say is not known not to. */
static bool was_asked(const json_t *document, const struct kind *kind, const char *name,
                      const char *layer)
{
    const json_t *names = nl_dig(document, kind->asked);
    const json_t *layers = nl_dig(document, kind->asked_layers);

    if (!names)
        return true;
    return (nl_dig_is(document, kind->asked, "all") || holds(names, name)) &&
           (json_array_size(layers) == 0 || holds(layers, layer));
}

/* The benchmark of ELEMENT in DOCUMENT; NULL if there is none. */
static const json_t *find(const json_t *document, const json_t *element)
{
    const json_t *layer = nl_dig_layer(document, nl_dig_string(element, "layer", "?"));
    size_t i;
    json_t *result;

    json_array_foreach(json_object_get(layer, kind_of(element)->results), i, result)
    {
        if (nl_dig_is(result, "name", nl_dig_string(element, "benchmark", "?")))
            return result;
    }
    return NULL;
}

static bool has_layer(const json_t *document, const char *name)
{
    const json_t *layers = nl_dig(document, "scenario.layers");
    size_t n = json_array_size(layers ? layers : json_object_get(document, "layers"));
    unsigned index;

    return sscanf(name, "L%u", &index) == 1 && index < n;
}

static enum reason reason_of(const json_t *document, const json_t *element)
{
    const char *layer = nl_dig_string(element, "layer", "?");
    bool passed = nl_dig_is(document, "verdict.status", "passed");

    if (!has_layer(document, layer))
        return NO_LAYER;
    if (!was_asked(document, kind_of(element), nl_dig_string(element, "benchmark", "?"), layer))
        return NOT_ASKED;
    if (nl_dig(find(document, element), "skipped"))
        return SKIPPED;
    if (nl_dig_is(document, "verdict.status", "interrupted"))
        return INTERRUPTED;
    if (nl_dig(document, "failure"))
        return passed ? EXPECTED : FAILED;
    return MISSING;
}

/* SKIPPED is why there are no samples: since the benchmark does not fit, or since it failed
   (docs/benchmarks.md). New reference. */
static json_t *words_of_skipped(const char *skipped)
{
    static const char failed[] = "failed: ";
    size_t length = strlen(failed);

    return strncmp(skipped, failed, length) == 0
               ? json_sprintf("it failed in new: %s", skipped + length)
               : json_sprintf("new skipped it: %s", skipped);
}

/* New reference. */
static json_t *words_of(enum reason reason, const json_t *document, const json_t *element)
{
    static const char *const words[] = {
        [NOT_ASKED] = "new was not asked for it",
        [EXPECTED] = "the run of new failed before, as its scenario expects",
        [INTERRUPTED] = "the run of new was interrupted",
        [FAILED] = "the run of new failed",
        [MISSING] = "new was asked for it, and has nothing of it",
    };

    if (reason == NO_LAYER)
        return json_sprintf("new has no %s", nl_dig_string(element, "layer", "?"));
    if (reason == SKIPPED)
        return words_of_skipped(nl_dig_string(find(document, element), "skipped", "?"));
    return json_string(words[reason]);
}

void nl_compare_only_explain(json_t *only, const struct nl_document_set *new)
{
    size_t i;
    json_t *element;

    json_array_foreach(json_object_get(only, "only_in_base"), i, element)
    {
        enum reason most = NOT_ASKED;
        const json_t *whose = NULL;

        for (size_t k = 0; k < new->n; k++) {
            enum reason reason = reason_of(new->documents[k], element);

            if (!whose || reason > most) {
                most = reason;
                whose = new->documents[k];
            }
        }
        json_object_set_new(element, "why", words_of(most, whose, element));
        json_object_set_new(element, "lost", json_boolean(most >= FAILED));
    }
}

/* "times of cpuid, syscall" */
static void name_group(json_t *group)
{
    cleanup_free char *text = NULL;
    size_t length = 0, i;
    FILE *out = open_memstream(&text, &length);
    json_t *name;

    if (!out)
        return;
    json_array_foreach(json_object_get(group, "benchmarks"), i, name)
        fprintf(out, "%s %s", i == 0 ? kind_of(group)->words : ",", json_string_value(name));
    if (fclose(out) == 0)
        json_object_set_new(group, "what", json_string(text));
}

/* The group of ELEMENT; made, and added to GROUPS, where it is the first of it. */
static json_t *group_of(const json_t *element, json_t *groups, json_t *by_key)
{
    static const char *const common[] = {"kind", "layer", "why", "lost"};
    cleanup_free char *key = NULL;
    json_t *group;

    if (asprintf(&key, "%s %s %s", nl_dig_string(element, "kind", ""),
                 nl_dig_string(element, "layer", ""), nl_dig_string(element, "why", "")) < 0)
        return NULL;
    group = json_object_get(by_key, key);
    if (group)
        return group;
    group = json_pack("{s:[]}", "benchmarks");
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
        json_object_set(group, common[i], json_object_get(element, common[i]));
    json_object_set_new(by_key, key, group);
    json_array_append(groups, group);
    return group;
}

json_t *nl_compare_only_groups(const json_t *list)
{
    cleanup_json json_t *by_key = json_object();
    json_t *groups = json_array();
    size_t i;
    json_t *element, *group;

    for (size_t k = 0; k < NL_LAYERS_MAX; k++) {
        char layer[8];

        snprintf(layer, sizeof(layer), "L%zu", k);
        json_array_foreach(list, i, element)
        {
            if (nl_dig_is(element, "layer", layer))
                json_array_append(json_object_get(group_of(element, groups, by_key), "benchmarks"),
                                  json_object_get(element, "benchmark"));
        }
    }
    json_array_foreach(groups, i, group) name_group(group);
    return groups;
}
