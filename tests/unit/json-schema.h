/*
 * json-schema.h - for tests: is a JSON value valid by a published schema? As much of JSON Schema
 * 2020-12 as nestlab's schemas use.
 */
#ifndef NL_TEST_JSON_SCHEMA_H
#define NL_TEST_JSON_SCHEMA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dig.h"

#include <string.h>

/* What references lead into. */
static json_t *schema;

static inline bool has_type(const json_t *value, const char *type)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "object",  [JSON_ARRAY] = "array", [JSON_STRING] = "string",
        [JSON_INTEGER] = "number", [JSON_REAL] = "number", [JSON_TRUE] = "boolean",
        [JSON_FALSE] = "boolean",  [JSON_NULL] = "null",
    };

    return value && strcmp(names[json_typeof(value)], type) == 0;
}

static inline bool is_one_of(const json_t *value, const json_t *list)
{
    size_t i;
    json_t *element;

    json_array_foreach(list, i, element)
    {
        if (json_equal(value, element))
            return true;
    }
    return false;
}

static inline bool type_fits(const json_t *value, const json_t *types)
{
    size_t i;
    json_t *type;

    if (json_is_string(types))
        return has_type(value, json_string_value(types));
    json_array_foreach(types, i, type)
    {
        if (has_type(value, json_string_value(type)))
            return true;
    }
    return types == NULL;
}

static inline bool is_valid(const json_t *value, const json_t *rule);

static inline bool object_is_valid(const json_t *object, const json_t *rule)
{
    const json_t *required = json_object_get(rule, "required");
    const char *key;
    json_t *member;
    size_t i;

    json_array_foreach(required, i, member)
    {
        if (!json_object_get(object, json_string_value(member)))
            return false;
    }
    json_object_foreach((json_t *)object, key, member)
    {
        const json_t *of = json_object_get(json_object_get(rule, "properties"), key);

        if (!of)
            of = json_object_get(rule, "additionalProperties");
        if (json_is_false(of) || (of && !is_valid(member, of)))
            return false;
    }
    return true;
}

/* Is VALUE what RULE, the schema or a part of it, says? */
static inline bool is_valid(const json_t *value, const json_t *rule)
{
    const char *reference = nl_dig_string(rule, "$ref", NULL);
    const json_t *items = json_object_get(rule, "items");
    size_t i;
    json_t *item;

    if (reference) {
        assert_memory_equal(reference, "#/$defs/", 8);
        rule = json_object_get(json_object_get(schema, "$defs"), reference + 8);
        assert_non_null(rule);
        return is_valid(value, rule);
    }
    if (!type_fits(value, json_object_get(rule, "type")))
        return false;
    if (json_object_get(rule, "enum") && !is_one_of(value, json_object_get(rule, "enum")))
        return false;
    if (json_object_get(rule, "const") && !json_equal(value, json_object_get(rule, "const")))
        return false;
    json_array_foreach(value, i, item)
    {
        if (items && !is_valid(item, items))
            return false;
    }
    return !json_is_object(value) || object_is_valid(value, rule);
}

#endif
