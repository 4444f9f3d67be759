/*
 * schema.h - for tests: does a published JSON Schema say what a table of record.h checks: keys,
 * types, ranges, patterns, defaults?
 */
#ifndef NL_TEST_SCHEMA_H
#define NL_TEST_SCHEMA_H

#include "record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static json_t *schema;

static inline int schema_load(const char *path)
{
    json_error_t error;

    schema = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!schema)
        print_error("%s:%d: %s\n", error.source, error.line, error.text);
    return schema ? 0 : -1;
}

static inline int schema_free(void **state)
{
    (void)state;
    json_decref(schema);
    return 0;
}

static inline json_t *follow(json_t *node)
{
    static const char prefix[] = "#/$defs/";
    const char *reference = json_string_value(json_object_get(node, "$ref"));

    if (!reference)
        return node;
    assert_memory_equal(reference, prefix, sizeof(prefix) - 1);
    node = json_object_get(json_object_get(schema, "$defs"), reference + sizeof(prefix) - 1);
    assert_non_null(node);
    return node;
}

static inline void assert_type(const json_t *node, const char *type, const char *key)
{
    const char *found = json_string_value(json_object_get(node, "type"));

    if (!found || strcmp(found, type) != 0)
        fail_msg("%s: type %s instead of %s", key, found ? found : "(none)", type);
}

static inline void assert_number(const json_t *node, const char *name, double value,
                                 const char *key)
{
    const json_t *number = json_object_get(node, name);

    if (!json_is_number(number) || json_number_value(number) != value)
        fail_msg("%s: %s is not %g", key, name, value);
}

static inline void compare_text(const struct nl_field *field, const json_t *node)
{
    const char *pattern = json_string_value(json_object_get(node, "pattern"));

    assert_type(node, "string", field->key);
    if (field->type == NL_FIELD_IGNORED)
        return;
    assert_number(node, "maxLength", (double)(field->max_length ? field->max_length : NL_TEXT_MAX),
                  field->key);
    if (field->path != NL_PATH_NONE)
        assert_number(node, "minLength", 1, field->key);
    else if ((pattern == NULL) != (field->pattern == NULL))
        fail_msg("%s: a pattern on one side only", field->key);
    /* POSIX classes have no equal in ECMA 262; those are written differently. */
    if (field->pattern && !strstr(field->pattern, "[:"))
        assert_string_equal(pattern, field->pattern);
    json_t *choices = json_object_get(node, "enum");
    for (size_t i = 0; field->choices && i <= json_array_size(choices); i++) {
        const char *choice = json_string_value(json_array_get(choices, i));
        assert_true((choice == NULL) == (field->choices[i] == NULL));
        if (choice)
            assert_string_equal(choice, field->choices[i]);
    }
}

static inline void compare_count(const struct nl_field *field, const json_t *node)
{
    assert_type(node, "array", field->key);
    assert_number(node, "maxItems", (double)(field->max_count ? field->max_count : NL_COUNT_MAX),
                  field->key);
    if (field->min_count)
        assert_number(node, "minItems", (double)field->min_count, field->key);
    assert_true(json_is_true(json_object_get(node, "uniqueItems")) == field->unique);
}

static inline void compare_texts(const struct nl_field *field, json_t *node)
{
    if (field->word) {
        json_t *any = json_object_get(node, "anyOf");
        assert_string_equal(json_string_value(json_object_get(json_array_get(any, 0), "const")),
                            field->word);
        node = json_array_get(any, 1);
    }
    compare_count(field, node);
    compare_text(field, json_object_get(node, "items"));
}

static inline void compare_number(const struct nl_field *field, const json_t *node)
{
    assert_type(node, field->type == NL_FIELD_NUMBER ? "number" : "integer", field->key);
    assert_number(node, "minimum", field->low, field->key);
    assert_number(node, "maximum", field->high, field->key);
}

static inline void compare_record(const struct nl_record *record, json_t *node);

static inline void compare_by_type(const struct nl_field *field, json_t *node)
{
    switch (field->type) {
    case NL_FIELD_IGNORED:
    case NL_FIELD_TEXT:
        compare_text(field, node);
        break;
    case NL_FIELD_BOOL:
        assert_type(node, "boolean", field->key);
        break;
    case NL_FIELD_INT:
    case NL_FIELD_NUMBER:
        compare_number(field, node);
        break;
    case NL_FIELD_TEXTS:
        compare_texts(field, node);
        break;
    case NL_FIELD_INTS:
        compare_count(field, node);
        compare_number(field, json_object_get(node, "items"));
        break;
    case NL_FIELD_RECORD:
        compare_record(field->record, node);
        break;
    case NL_FIELD_RECORDS:
        compare_count(field, node);
        compare_record(field->record, follow(json_object_get(node, "items")));
        break;
    case NL_FIELD_PARAMETERS:
    case NL_FIELD_OBJECT:
        assert_type(node, "object", field->key);
        break;
    case NL_FIELD_TYPES:
        fail();
    }
}

static inline void compare_field(const struct nl_field *field, json_t *node)
{
    json_error_t error;
    const char *description = json_string_value(json_object_get(node, "description"));

    if (!description || strlen(description) < 4)
        fail_msg("%s has no description", field->key);
    cleanup_json json_t *fallback =
        field->fallback ? json_loads(field->fallback, JSON_DECODE_ANY, &error) : NULL;
    json_t *published = json_object_get(node, "default");
    if ((fallback || published) && !json_equal(fallback, published))
        fail_msg("%s: the defaults differ", field->key);
    compare_by_type(field, node);
}

static inline bool is_required(const json_t *node, const char *key)
{
    json_t *required = json_object_get(node, "required");

    for (size_t i = 0; i < json_array_size(required); i++)
        if (strcmp(json_string_value(json_array_get(required, i)), key) == 0)
            return true;
    return false;
}

static inline void compare_record(const struct nl_record *record, json_t *node)
{
    json_t *properties = json_object_get(node, "properties");
    size_t n = 0;

    assert_type(node, "object", record->what);
    assert_true(json_is_false(json_object_get(node, "additionalProperties")));
    for (const struct nl_field *f = record->fields; f->key; f++, n++) {
        json_t *property = json_object_get(properties, f->key);
        if (!property)
            fail_msg("%s of %s is not in the schema", f->key, record->what);
        if (is_required(node, f->key) != f->required)
            fail_msg("%s of %s is required on one side only", f->key, record->what);
        compare_field(f, follow(property));
    }
    if (json_object_size(properties) != n)
        fail_msg("the schema has keys of %s that the program does not know", record->what);
}

#endif
