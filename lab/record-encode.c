/*
 * record-encode.c - C structures to JSON by tables, and freeing what they own: see record.h.
 */
#include "record.h"

#include <string.h>

static json_t *encode_text(const char *text)
{
    return text ? json_string(text) : NULL;
}

static json_t *encode_number(double number)
{
    /* 240 rather than 240.0: it is for people too. */
    if (number > -1e15 && number < 1e15 && number == (double)(json_int_t)number)
        return json_integer((json_int_t)number);
    return json_real(number);
}

static json_t *encode_texts(const struct nl_field *field, char *const *strv)
{
    json_t *array;

    if (field->word && strv && strv[0] && !strv[1] && strcmp(strv[0], field->word) == 0)
        return json_string(field->word);
    array = json_array();
    for (; strv && *strv; strv++)
        json_array_append_new(array, json_string(*strv));
    return array;
}

static json_t *encode_ints(const int *ints, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_integer(ints[i]));
    return array;
}

static json_t *encode_records(const struct nl_record *record, const char *records, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, nl_record_encode(record, records + i * record->size));
    return array;
}

static json_t *encode_record(const struct nl_record *record, const void *from)
{
    cleanup_json json_t *object = nl_record_encode(record, from);

    return json_object_size(object) ? nl_steal(&object) : NULL;
}

/* NULL: nothing to say. */
static json_t *encode_field(const struct nl_field *field, const char *from)
{
    const void *member = from + field->offset;
    size_t count = 0;

    if (field->type == NL_FIELD_INTS || field->type == NL_FIELD_RECORDS)
        count = *(const size_t *)(const void *)(from + field->count_offset);
    switch (field->type) {
    case NL_FIELD_TEXT:
        return encode_text(*(char *const *)member);
    case NL_FIELD_BOOL:
        return json_boolean(*(const bool *)member);
    case NL_FIELD_INT:
        return json_integer(*(const int *)member);
    case NL_FIELD_NUMBER:
        return encode_number(*(const double *)member);
    case NL_FIELD_TEXTS:
        return encode_texts(field, *(char *const *const *)member);
    case NL_FIELD_INTS:
        return encode_ints(*(int *const *)member, count);
    case NL_FIELD_RECORD:
        return encode_record(field->record, member);
    case NL_FIELD_RECORDS:
        return encode_records(field->record, *(char *const *)member, count);
    case NL_FIELD_PARAMETERS:
    case NL_FIELD_OBJECT:
        return json_deep_copy(*(json_t *const *)member);
    case NL_FIELD_IGNORED:
    case NL_FIELD_TYPES:
        break;
    }
    return NULL;
}

json_t *nl_record_encode(const struct nl_record *record, const void *from)
{
    json_t *object = json_object();

    for (const struct nl_field *f = record->fields; f->key; f++) {
        json_t *value = encode_field(f, from);
        if (value)
            json_object_set_new(object, f->key, value);
    }
    return object;
}

static void release_field(const struct nl_field *field, char *what)
{
    void *member = what + field->offset;

    if (field->type == NL_FIELD_TEXT || field->type == NL_FIELD_INTS) {
        free(*(void **)member);
        *(void **)member = NULL;
    } else if (field->type == NL_FIELD_TEXTS) {
        nl_strv_free(*(char ***)member);
        *(char ***)member = NULL;
    } else if (field->type == NL_FIELD_RECORD) {
        nl_record_release(field->record, member);
    } else if (field->type == NL_FIELD_PARAMETERS || field->type == NL_FIELD_OBJECT) {
        json_decref(*(json_t **)member);
        *(json_t **)member = NULL;
    } else if (field->type == NL_FIELD_RECORDS) {
        size_t *count = (size_t *)(void *)(what + field->count_offset);
        char **records = member;
        while (*count > 0)
            nl_record_release(field->record, *records + --*count * field->record->size);
        free(*records);
        *records = NULL;
    }
}

void nl_record_release(const struct nl_record *record, void *what)
{
    for (const struct nl_field *f = record->fields; f->key; f++)
        release_field(f, what);
}
