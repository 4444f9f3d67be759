/*
 * compare-runs.c - the runs that are compared: see compare-runs.h.
 */
#include "compare-runs.h"
#include "dig.h"
#include "document.h"

#include <string.h>

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool is_bad(const json_t *check)
{
    return nl_dig_is(check, "verdict", "fail") || nl_dig_is(check, "verdict", "error");
}

/* Has DOCUMENT a check NAME that is not passed either? */
static bool has_bad_check(const json_t *document, const char *name)
{
    size_t i;
    json_t *check;

    json_array_foreach(json_object_get(document, "checks"), i, check)
    {
        if (is_bad(check) && nl_dig_is(check, "name", name))
            return true;
    }
    return false;
}

/* Is all that is wrong with DOCUMENT also wrong with BASE? The diagnosis alone does not say: it may
   be that some check failed, and not which. */
static bool failed_alike(const json_t *document, const json_t *base)
{
    static const char *const paths[] = {"verdict.status", "diagnosis.name", "diagnosis.layer"};
    size_t i;
    json_t *check;

    for (i = 0; i < N_OF(paths); i++)
        if (strcmp(nl_dig_string(document, paths[i], ""), nl_dig_string(base, paths[i], "")) != 0)
            return false;
    json_array_foreach(json_object_get(document, "checks"), i, check)
    {
        if (is_bad(check) && !has_bad_check(base, nl_dig_string(check, "name", "")))
            return false;
    }
    return true;
}

/* Who was stopped did not fail. */
static bool failed_anew(const json_t *document, const struct nl_document_set *base)
{
    if (nl_dig_is(document, "verdict.status", "passed") ||
        nl_dig_is(document, "verdict.status", "interrupted"))
        return false;
    for (size_t i = 0; i < base->n; i++)
        if (failed_alike(document, base->documents[i]))
            return false;
    return true;
}

/* Those of KEYS that are texts, of the object at KEY; null where there is none. */
static json_t *excerpt(const json_t *document, const char *key, const char *const *keys)
{
    const json_t *whole = json_object_get(document, key);
    json_t *part = json_is_object(whole) ? json_object() : json_null();

    for (; json_is_object(part) && *keys; keys++) {
        json_t *text = json_object_get(whole, *keys);

        json_object_set_new(part, *keys, json_is_string(text) ? json_incref(text) : json_null());
    }
    return part;
}

static json_t *describe(const json_t *document, const char *path)
{
    static const char *const failure[] = {"layer", "phase", "kind", "message", NULL};
    static const char *const diagnosis[] = {"name", "layer", "summary", NULL};

    return json_pack("{s:o, s:s, s:s?, s:s?, s:s?, s:o, s:o}", "path", nl_document_text(path), "id",
                     nl_dig_string(document, "run.id", "?"), "started",
                     nl_dig_string(document, "run.started", NULL), "status",
                     nl_dig_string(document, "verdict.status", NULL), "summary",
                     nl_dig_string(document, "verdict.summary", NULL), "failure",
                     excerpt(document, "failure", failure), "diagnosis",
                     excerpt(document, "diagnosis", diagnosis));
}

json_t *nl_compare_runs(const struct nl_document_set *set, const struct nl_document_set *base)
{
    json_t *runs = json_array();

    for (size_t i = 0; i < set->n; i++) {
        json_t *run = describe(set->documents[i], set->paths[i]);

        if (base)
            json_object_set_new(run, "new_failure",
                                json_boolean(failed_anew(set->documents[i], base)));
        json_array_append_new(runs, run);
    }
    return runs;
}

bool nl_compare_run_failed(const json_t *run)
{
    return !nl_dig_is(run, "status", "passed") || nl_dig(run, "failure") ||
           nl_dig(run, "diagnosis");
}

size_t nl_compare_runs_failed(const json_t *comparison)
{
    static const char *const sides[] = {"base", "new"};
    size_t i, n = 0;
    json_t *run;

    for (size_t k = 0; k < N_OF(sides); k++)
        json_array_foreach(json_object_get(comparison, sides[k]), i, run) n +=
            nl_compare_run_failed(run);
    return n;
}
