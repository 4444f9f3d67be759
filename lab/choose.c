/*
 * choose.c - which stack and which layer: see choose.h.
 */
#include "choose.h"
#include "dig.h"
#include "printable.h"
#include "rundir.h"

#include <string.h>
#include <strings.h>

char *nl_choose_text(const json_t *value, const char *path, const char *fallback)
{
    char *text = nl_printable(nl_dig_string(value, path, fallback), 0);

    if (!text)
        abort();
    return text;
}

/* The strings at KEY of an array's elements, joined by ", "; the caller's. */
static char *join(const json_t *array, const char *key)
{
    char *text = NULL;
    size_t length = 0, i;
    FILE *out = open_memstream(&text, &length);
    json_t *element;

    if (!out)
        abort();
    json_array_foreach(array, i, element)
    {
        cleanup_free char *one = nl_choose_text(element, key, "?");

        fprintf(out, "%s%s", i > 0 ? ", " : "", one);
    }
    if (fclose(out) != 0)
        abort();
    return text;
}

/* Those of RUNS that are owned and whose id starts with ID; an id that is equal is alone. */
static json_t *matching(const json_t *runs, const char *id)
{
    json_t *matches = json_array();
    json_t *run;
    size_t i;

    json_array_foreach(runs, i, run)
    {
        const char *its_id = nl_dig_string(run, "id", "");

        if (!nl_dig_true(run, "alive") || (id && strncmp(its_id, id, strlen(id)) != 0))
            continue;
        if (id && strcmp(its_id, id) == 0)
            json_array_clear(matches);
        json_array_append(matches, run);
        if (id && strcmp(its_id, id) == 0)
            break;
    }
    return matches;
}

static int refuse_none(const json_t *runs, const char *id, struct nl_error **err)
{
    cleanup_json json_t *all = matching(runs, NULL);
    cleanup_free char *ids = join(all, "id");

    if (!id || json_array_size(all) == 0) {
        nl_fail(err, NL_EXIT_REQUEST, "no stack is up");
        return nl_hint(err, json_array_size(runs) > 0
                                ? "`nestlab gc` removes what killed runs left behind"
                                : "`nestlab up SCENARIO` brings one up");
    }
    nl_fail(err, NL_EXIT_REQUEST, "no stack that is up has an id that starts with \"%s\"", id);
    return nl_hint(err, "there is %s", ids);
}

int nl_choose_run(const char *id, json_t **run, struct nl_error **err)
{
    cleanup_json json_t *runs = NULL;
    cleanup_json json_t *matches = NULL;

    if (nl_rundir_list(&runs, err) < 0)
        return -1;
    matches = matching(runs, id);
    if (json_array_size(matches) == 0)
        return refuse_none(runs, id, err);
    if (json_array_size(matches) > 1) {
        cleanup_free char *ids = join(matches, "id");

        nl_fail(err, NL_EXIT_REQUEST, "several stacks are up: %s", ids);
        return nl_hint(err, "say which: the beginning of its id is enough");
    }
    *run = json_incref(json_array_get(matches, 0));
    return 0;
}

int nl_choose_layer(const json_t *run, const char *name, const json_t **layer,
                    struct nl_error **err)
{
    const json_t *layers = nl_dig(run, "state.layers");
    cleanup_free char *names = NULL;
    json_t *one;
    size_t i;

    json_array_foreach(layers, i, one)
    {
        if (strcasecmp(nl_dig_string(one, "name", ""), name) == 0) {
            *layer = one;
            return 0;
        }
    }
    if (json_array_size(layers) == 0) {
        nl_fail(err, NL_EXIT_LAB, "the stack %s has no layers yet", nl_dig_string(run, "id", "?"));
        return nl_hint(err, "`nestlab list` shows how far it is");
    }
    names = join(layers, "name");
    nl_fail(err, NL_EXIT_REQUEST, "the stack %s has no layer %s", nl_dig_string(run, "id", "?"),
            name);
    return nl_hint(err, "its layers are %s", names);
}
