/*
 * document-shape.c - a JSON value against tables: see document-shape.h.
 */
#include "document-shape.h"
#include "document-tables.h"
#include "document.h"

#include <string.h>

static const struct {
    int type;
    const char *name;
} type_names[] = {
    {OBJECT, "an object"}, {ARRAY, "an array"},    {STRING, "a string"},
    {NUMBER, "a number"},  {BOOLEAN, "a boolean"}, {NONE, "null"},
};

static int type_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return OBJECT;
    case JSON_ARRAY:
        return ARRAY;
    case JSON_STRING:
        return STRING;
    case JSON_INTEGER:
    case JSON_REAL:
        return NUMBER;
    case JSON_TRUE:
    case JSON_FALSE:
        return BOOLEAN;
    default:
        return NONE;
    }
}

static int fail_type(const struct nl_json_place *at, int types, int found, struct nl_error **err)
{
    const char *found_name = "";
    char allowed[128] = "";
    int used = 0;

    for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++) {
        if (type_names[i].type == found)
            found_name = type_names[i].name;
        if (!(types & type_names[i].type))
            continue;
        used += snprintf(allowed + used, sizeof(allowed) - (size_t)used, "%s%s", used ? " or " : "",
                         type_names[i].name);
    }
    return nl_fail_at(err, at, "must be %s, not %s", allowed, found_name);
}

static int fail_value(const struct nl_json_place *at, const struct shape *shape, const char *found,
                      struct nl_error **err)
{
    cleanup_free char *quoted = nl_quote(found);

    nl_fail_at(err, at, "cannot be %s", quoted ? quoted : "this");
    return nl_hint(err, "allowed: %s, %s, %s%s%s", shape->values[0], shape->values[1],
                   shape->values[2], shape->values[3] ? ", " : "",
                   shape->values[3] ? shape->values[3] : "");
}

static int match(const json_t *value, const struct shape *shape, const struct nl_json_place *at,
                 struct nl_error **err);

static int match_members(const json_t *object, const struct shape *members,
                         const struct nl_json_place *at, struct nl_error **err)
{
    for (; members->types; members++) {
        const json_t *value = json_object_get(object, members->key);
        struct nl_json_place place = nl_json_key(at, members->key);

        if (!value && members->types & NEEDED)
            return nl_fail_at(err, at, "has no \"%s\"", members->key);
        if (value && match(value, members, &place, err) < 0)
            return -1;
    }
    return 0;
}

static int match(const json_t *value, const struct shape *shape, const struct nl_json_place *at,
                 struct nl_error **err)
{
    size_t i;
    json_t *item;

    if (!(shape->types & type_of(value)))
        return fail_type(at, shape->types, type_of(value), err);
    if (shape->members && json_is_object(value))
        return match_members(value, shape->members, at, err);
    if (shape->values && json_is_string(value)) {
        for (const char *const *v = shape->values; *v; v++)
            if (strcmp(*v, json_string_value(value)) == 0)
                return 0;
        return fail_value(at, shape, json_string_value(value), err);
    }
    if (!shape->items)
        return 0;
    json_array_foreach(value, i, item)
    {
        struct nl_json_place place = nl_json_index(at, i);

        if (match(item, shape->items, &place, err) < 0)
            return -1;
    }
    return 0;
}

int nl_document_shape(const json_t *document, const struct nl_json_source *source,
                      struct nl_error **err)
{
    struct nl_json_place root = nl_json_root(source);
    const json_t *version = json_object_get(json_object_get(document, "nestlab"), "document");

    /* First: another version is allowed another shape. */
    if (json_is_number(version) && json_number_value(version) != NL_DOCUMENT_VERSION)
        return nl_fail(err, NL_EXIT_REQUEST, "%s: document version %g; this nestlab reads %d",
                       source->name, json_number_value(version), NL_DOCUMENT_VERSION);
    return match(document, &nl_document_whole, &root, err);
}

int nl_document_layer_names(const json_t *document, const struct nl_json_source *source,
                            struct nl_error **err)
{
    struct nl_json_place root = nl_json_root(source);
    struct nl_json_place layers = nl_json_key(&root, "layers");
    size_t i;
    json_t *one;

    json_array_foreach(json_object_get(document, "layers"), i, one)
    {
        struct nl_json_place at = nl_json_index(&layers, i);
        struct nl_json_place name = nl_json_key(&at, "name");
        struct nl_json_place index = nl_json_key(&at, "index");
        const json_t *given = json_object_get(one, "index");
        char wanted[32];

        snprintf(wanted, sizeof(wanted), "L%zu", i);
        if (strcmp(json_string_value(json_object_get(one, "name")), wanted) != 0)
            return nl_fail_at(err, &name, "must be \"%s\"", wanted);
        if (given && json_number_value(given) != (double)i)
            return nl_fail_at(err, &index, "must be %zu", i);
    }
    return 0;
}
