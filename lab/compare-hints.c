/*
 * compare-hints.c - what makes a comparison say less than it seems to: see compare-hints.h.
 */
#include "compare-hints.h"
#include "cleanup.h"
#include "dig.h"

#include <stdbool.h>

/* Of a folder that is compared with itself a few say it. */
#define SAME_MAX 3

static bool has_run(const struct nl_document_set *set, const char *id)
{
    for (size_t i = 0; i < set->n; i++)
        if (nl_dig_is(set->documents[i], "run.id", id))
            return true;
    return false;
}

/* That is no error: who tries compare out does it, and who names files by a script may not mean
   it. */
static void add_same_runs(json_t *hints, const struct nl_document_set *base,
                          const struct nl_document_set *new)
{
    bool single = base->n == 1 && new->n == 1;

    for (size_t i = 0; json_array_size(hints) < SAME_MAX && i < new->n; i++) {
        const char *id = nl_dig_string(new->documents[i], "run.id", NULL);

        if (id && has_run(base, id))
            json_array_append_new(hints, single ? json_sprintf("both are run %s: it cannot differ "
                                                               "from itself",
                                                               id)
                                                : json_sprintf("run %s is on both sides: it cannot "
                                                               "differ from itself",
                                                               id));
    }
}

/* Has any layer of any run results in the array KEY? */
static bool measured(const struct nl_document_set *set, const char *key)
{
    for (size_t i = 0; i < set->n; i++) {
        size_t k;
        json_t *layer;

        json_array_foreach(json_object_get(set->documents[i], "layers"), k, layer)
        {
            if (json_array_size(json_object_get(layer, key)) > 0)
                return true;
        }
    }
    return false;
}

static bool only_times(const struct nl_document_set *set)
{
    return measured(set, "benchmarks") && !measured(set, "metered");
}

static bool only_counts(const struct nl_document_set *set)
{
    return measured(set, "metered") && !measured(set, "benchmarks");
}

char *nl_compare_other_kind(const struct nl_document_set *base, const struct nl_document_set *new)
{
    bool times_first = only_times(base) && only_counts(new);
    char *text = NULL;

    if (!times_first && !(only_counts(base) && only_times(new)))
        return NULL;
    if (asprintf(&text,
                 "%s measured times and %s counted instructions, which cannot be compared with "
                 "each other: run both with --meter, or both without",
                 times_first ? "base" : "new", times_first ? "new" : "base") < 0)
        return NULL;
    return text;
}

json_t *nl_compare_hints(const struct nl_document_set *base, const struct nl_document_set *new)
{
    json_t *hints = json_array();
    cleanup_free char *other_kind = nl_compare_other_kind(base, new);

    add_same_runs(hints, base, new);
    if (other_kind)
        json_array_append_new(hints, json_string(other_kind));
    return hints;
}
