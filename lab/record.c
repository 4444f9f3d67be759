/*
 * record.c - JSON objects to C structures, by tables: see record.h. The way back is in
 * record-encode.c.
 */
#include "record.h"
#include "suggest.h"

#include <errno.h>
#include <regex.h>
#include <string.h>
#include <sys/stat.h>

typedef int decode_function(const struct nl_field *field, const struct nl_json_place *at,
                            const json_t *value, void *member, void *into, struct nl_error **err);

static const char *const json_names[] = {
    [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
    [JSON_INTEGER] = "a number", [JSON_REAL] = "a number",  [JSON_TRUE] = "true",
    [JSON_FALSE] = "false",      [JSON_NULL] = "null",
};

static int fail_type(struct nl_error **err, const struct nl_json_place *at, const char *wanted,
                     const json_t *value)
{
    return nl_fail_at(err, at, "must be %s, not %s", wanted, json_names[json_typeof(value)]);
}

static int fail_memory(struct nl_error **err)
{
    return nl_fail(err, NL_EXIT_LAB, "out of memory");
}

static int check_pattern(const struct nl_field *field, const struct nl_json_place *at,
                         const char *text, struct nl_error **err)
{
    regex_t expression;

    if (regcomp(&expression, field->pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return nl_fail(err, NL_EXIT_LAB, "cannot use the pattern %s", field->pattern);
    int miss = regexec(&expression, text, 0, NULL, 0);
    regfree(&expression);
    if (!miss)
        return 0;
    cleanup_free char *quoted = nl_quote(text);
    return nl_fail_at(err, at, "%s is not allowed; allowed: %s", quoted, field->allowed);
}

static int check_choice(const struct nl_field *field, const struct nl_json_place *at,
                        const char *text, struct nl_error **err)
{
    cleanup_free char *allowed = NULL;
    cleanup_free char *quoted = NULL;
    size_t size = 0;

    for (const char *const *c = field->choices; *c; c++)
        if (strcmp(*c, text) == 0)
            return 0;
    FILE *out = open_memstream(&allowed, &size);
    if (!out)
        return fail_memory(err);
    for (const char *const *c = field->choices; *c; c++)
        fprintf(out, "%s\"%s\"", c == field->choices ? "" : ", ", *c);
    fclose(out);
    quoted = nl_quote(text);
    nl_fail_at(err, at, "%s is not allowed; allowed: %s", quoted, allowed);
    const char *near = nl_suggest(text, field->choices);
    if (near)
        nl_hint(err, "did you mean \"%s\"?", near);
    return -1;
}

static int check_path(const struct nl_field *field, const struct nl_json_place *at,
                      const char *path, struct nl_error **err)
{
    struct stat st;
    bool folder = field->path == NL_PATH_FOLDER;

    if (stat(path, &st) < 0)
        return nl_fail_at(err, at, "%s: %s", path, strerror(errno));
    if (folder && !S_ISDIR(st.st_mode))
        return nl_fail_at(err, at, "%s is not a folder", path);
    if (!folder && !S_ISREG(st.st_mode))
        return nl_fail_at(err, at, "%s is not a regular file", path);
    if (access(path, folder ? R_OK | X_OK : R_OK) < 0)
        return nl_fail_at(err, at, "%s: %s", path, strerror(errno));
    size_t length = strlen(path);
    if (field->path == NL_PATH_DEB && (length < 5 || strcmp(path + length - 4, ".deb") != 0))
        return nl_fail_at(err, at, "%s is not a Debian package; allowed: a file named *.deb", path);
    return 0;
}

static int inspect(const struct nl_field *field, const struct nl_json_place *at, const char *path,
                   struct nl_error **err)
{
    cleanup_error struct nl_error *found = NULL;

    if (!field->inspect || field->inspect(path, &found) == 0)
        return 0;
    nl_fail_at(err, at, "%s", nl_error_message(found));
    return nl_error_hint(found) ? nl_hint(err, "%s", nl_error_hint(found)) : -1;
}

/* The string to store for VALUE, checked; the caller's. */
static int decode_string(const struct nl_field *field, const struct nl_json_place *at,
                         const json_t *value, char **stored, struct nl_error **err)
{
    const char *text = json_string_value(value);
    size_t max = field->max_length ? field->max_length : NL_TEXT_MAX;

    if (!text)
        return fail_type(err, at, "a string", value);
    /* Also keeps glibc's regexec(), which recurses, away from long strings. */
    if (json_string_length(value) > max)
        return nl_fail_at(err, at, "is %zu bytes long; allowed: at most %zu",
                          json_string_length(value), max);
    if (field->pattern && check_pattern(field, at, text, err) < 0)
        return -1;
    if (field->choices && check_choice(field, at, text, err) < 0)
        return -1;
    if (field->path == NL_PATH_NONE) {
        *stored = strdup(text);
        return *stored ? 0 : fail_memory(err);
    }
    if (!*text)
        return nl_fail_at(err, at, "is empty; allowed: a path");
    cleanup_free char *path = NULL;
    if (*text == '/')
        path = strdup(text);
    else if (asprintf(&path, "%s/%s", at->source->folder, text) < 0)
        path = NULL;
    if (!path)
        return fail_memory(err);
    if (check_path(field, at, path, err) < 0 || inspect(field, at, path, err) < 0)
        return -1;
    *stored = nl_steal(&path);
    return 0;
}

static int decode_number(const struct nl_field *field, const struct nl_json_place *at,
                         const json_t *value, bool whole, double *number, struct nl_error **err)
{
    if (!json_is_number(value))
        return fail_type(err, at, whole ? "a whole number" : "a number", value);
    *number = json_number_value(value);
    if (!(*number >= field->low && *number <= field->high))
        return nl_fail_at(err, at, "%.10g is out of range; allowed: %.10g to %.10g", *number,
                          field->low, field->high);
    /* 1e3 and 2.0 are whole numbers, for JSON Schema too. */
    if (whole && *number != (double)(long long)*number)
        return nl_fail_at(err, at, "%.10g is not a whole number; allowed: %.0f to %.0f", *number,
                          field->low, field->high);
    return 0;
}

static int check_count(const struct nl_field *field, const struct nl_json_place *at, size_t count,
                       struct nl_error **err)
{
    size_t max = field->max_count ? field->max_count : NL_COUNT_MAX;

    if (count < field->min_count)
        return nl_fail_at(err, at, "has %zu elements; allowed: at least %zu", count,
                          field->min_count);
    if (count > max)
        return nl_fail_at(err, at, "has %zu elements; allowed: at most %zu", count, max);
    return 0;
}

static int decode_ignored(const struct nl_field *field, const struct nl_json_place *at,
                          const json_t *value, void *member, void *into, struct nl_error **err)
{
    (void)field, (void)member, (void)into;
    return json_is_string(value) ? 0 : fail_type(err, at, "a string", value);
}

static int decode_text(const struct nl_field *field, const struct nl_json_place *at,
                       const json_t *value, void *member, void *into, struct nl_error **err)
{
    cleanup_free char *text = NULL;
    char **stored = member;

    (void)into;
    if (decode_string(field, at, value, &text, err) < 0)
        return -1;
    free(*stored);
    *stored = nl_steal(&text);
    return 0;
}

static int decode_bool(const struct nl_field *field, const struct nl_json_place *at,
                       const json_t *value, void *member, void *into, struct nl_error **err)
{
    (void)field, (void)into;
    if (!json_is_boolean(value))
        return fail_type(err, at, "true or false", value);
    *(bool *)member = json_is_true(value);
    return 0;
}

static int decode_int(const struct nl_field *field, const struct nl_json_place *at,
                      const json_t *value, void *member, void *into, struct nl_error **err)
{
    double number = 0;

    (void)into;
    if (decode_number(field, at, value, true, &number, err) < 0)
        return -1;
    *(int *)member = (int)number;
    return 0;
}

static int decode_double(const struct nl_field *field, const struct nl_json_place *at,
                         const json_t *value, void *member, void *into, struct nl_error **err)
{
    double number = 0;

    (void)into;
    if (decode_number(field, at, value, false, &number, err) < 0)
        return -1;
    *(double *)member = number;
    return 0;
}

static int append_text(const struct nl_field *field, const struct nl_json_place *at, char ***strv,
                       char *text, struct nl_error **err)
{
    size_t n = 0;

    if (!text)
        return fail_memory(err);
    for (; *strv && (*strv)[n]; n++) {
        if (field->unique && strcmp((*strv)[n], text) == 0) {
            cleanup_free char *quoted = nl_quote(text);
            free(text);
            return nl_fail_at(err, at, "%s is there twice; allowed: once", quoted);
        }
    }
    char **grown = reallocarray(*strv, n + 2, sizeof(char *));
    if (!grown) {
        free(text);
        return fail_memory(err);
    }
    grown[n] = text;
    grown[n + 1] = NULL;
    *strv = grown;
    return 0;
}

static int decode_texts(const struct nl_field *field, const struct nl_json_place *at,
                        const json_t *value, void *member, void *into, struct nl_error **err)
{
    char ***strv = member;
    const json_t *element;
    size_t i;

    (void)into;
    if (field->word && json_is_string(value)) {
        if (strcmp(json_string_value(value), field->word) == 0)
            return append_text(field, at, strv, strdup(field->word), err);
        cleanup_free char *quoted = nl_quote(json_string_value(value));
        return nl_fail_at(err, at, "%s is not allowed; allowed: \"%s\" or an array", quoted,
                          field->word);
    }
    if (!json_is_array(value))
        return fail_type(err, at, "an array of strings", value);
    if (check_count(field, at, json_array_size(value), err) < 0)
        return -1;
    json_array_foreach(value, i, element)
    {
        struct nl_json_place place = nl_json_index(at, i);
        char *text = NULL;
        if (decode_string(field, &place, element, &text, err) < 0 ||
            append_text(field, &place, strv, text, err) < 0)
            return -1;
    }
    return 0;
}

static int decode_ints(const struct nl_field *field, const struct nl_json_place *at,
                       const json_t *value, void *member, void *into, struct nl_error **err)
{
    size_t *count = (size_t *)((char *)into + field->count_offset);
    size_t n = json_array_size(value);
    int **ints = member;

    if (!json_is_array(value))
        return fail_type(err, at, "an array of whole numbers", value);
    if (check_count(field, at, n, err) < 0)
        return -1;
    *ints = n ? calloc(n, sizeof(int)) : NULL;
    if (n && !*ints)
        return fail_memory(err);
    for (; *count < n; (*count)++) {
        struct nl_json_place place = nl_json_index(at, *count);
        if (decode_int(field, &place, json_array_get(value, *count), &(*ints)[*count], into, err) <
            0)
            return -1;
    }
    return 0;
}

static int decode_record(const struct nl_field *field, const struct nl_json_place *at,
                         const json_t *value, void *member, void *into, struct nl_error **err)
{
    (void)into;
    return nl_record_decode(field->record, at, value, member, err);
}

static int decode_records(const struct nl_field *field, const struct nl_json_place *at,
                          const json_t *value, void *member, void *into, struct nl_error **err)
{
    size_t *count = (size_t *)((char *)into + field->count_offset);
    size_t n = json_array_size(value);
    char **records = member;

    if (!json_is_array(value))
        return fail_type(err, at, "an array of objects", value);
    if (check_count(field, at, n, err) < 0)
        return -1;
    *records = n ? calloc(n, field->record->size) : NULL;
    if (n && !*records)
        return fail_memory(err);
    while (*count < n) {
        struct nl_json_place place = nl_json_index(at, *count);
        const json_t *element = json_array_get(value, *count);
        char *record = *records + *count * field->record->size;
        /* Counted before it is filled, so that a half filled one is released too. */
        (*count)++;
        if (nl_record_decode(field->record, &place, element, record, err) < 0)
            return -1;
    }
    return 0;
}

static int decode_parameter(const struct nl_field *field, const struct nl_json_place *at,
                            const char *name, const json_t *value, struct nl_error **err)
{
    struct nl_json_place place = nl_json_key(at, name);

    if (check_pattern(field, &place, name, err) < 0)
        return -1;
    if (!json_is_string(value))
        return fail_type(err, &place, "a string such as \"1\"", value);
    const struct nl_field text = {.pattern = "^[^[:cntrl:][:space:]\"]+$",
                                  .allowed = "no white space, no quotation marks, not empty"};
    cleanup_free char *stored = NULL;
    return decode_string(&text, &place, value, &stored, err);
}

static int decode_parameters(const struct nl_field *field, const struct nl_json_place *at,
                             const json_t *value, void *member, void *into, struct nl_error **err)
{
    json_t *modules = (json_t *)value; /* jansson iterates over mutable objects only */
    json_t *parameters, *parameter;
    const char *module, *name;

    (void)into;
    if (!json_is_object(value))
        return fail_type(err, at, "an object of modules", value);
    json_object_foreach(modules, module, parameters)
    {
        struct nl_json_place place = nl_json_key(at, module);
        if (check_pattern(field, &place, module, err) < 0)
            return -1;
        if (!json_is_object(parameters))
            return fail_type(err, &place, "an object of parameters", parameters);
        json_object_foreach(parameters, name, parameter)
        {
            if (decode_parameter(field, &place, name, parameter, err) < 0)
                return -1;
        }
    }
    json_t **stored = member;
    json_decref(*stored);
    *stored = json_object_size(value) ? json_deep_copy(value) : NULL;
    return *stored || !json_object_size(value) ? 0 : fail_memory(err);
}

static int decode_object(const struct nl_field *field, const struct nl_json_place *at,
                         const json_t *value, void *member, void *into, struct nl_error **err)
{
    json_t **stored = member;

    (void)field, (void)into;
    if (!json_is_object(value))
        return fail_type(err, at, "an object", value);
    json_decref(*stored);
    *stored = json_deep_copy(value);
    return *stored ? 0 : fail_memory(err);
}

static decode_function *const decoders[NL_FIELD_TYPES] = {
    [NL_FIELD_IGNORED] = decode_ignored, [NL_FIELD_TEXT] = decode_text,
    [NL_FIELD_BOOL] = decode_bool,       [NL_FIELD_INT] = decode_int,
    [NL_FIELD_NUMBER] = decode_double,   [NL_FIELD_TEXTS] = decode_texts,
    [NL_FIELD_INTS] = decode_ints,       [NL_FIELD_RECORD] = decode_record,
    [NL_FIELD_RECORDS] = decode_records, [NL_FIELD_PARAMETERS] = decode_parameters,
    [NL_FIELD_OBJECT] = decode_object,
};

int nl_field_decode(const struct nl_field *field, const struct nl_json_place *at,
                    const json_t *value, void *into, struct nl_error **err)
{
    return decoders[field->type](field, at, value, (char *)into + field->offset, into, err);
}

const struct nl_field *nl_record_field(const struct nl_record *record, const char *key)
{
    for (const struct nl_field *f = record->fields; f->key; f++)
        if (strcmp(f->key, key) == 0)
            return f;
    return NULL;
}

static int decode_fallback(const struct nl_field *field, const struct nl_json_place *at, void *into,
                           struct nl_error **err);

/* An absent record still has the defaults of its fields. */
static int decode_fallbacks(const struct nl_record *record, const struct nl_json_place *at,
                            void *into, struct nl_error **err)
{
    for (const struct nl_field *f = record->fields; f->key; f++)
        if (decode_fallback(f, at, into, err) < 0)
            return -1;
    return 0;
}

static int decode_fallback(const struct nl_field *field, const struct nl_json_place *at, void *into,
                           struct nl_error **err)
{
    json_error_t error;
    cleanup_json json_t *value = NULL;

    if (field->type == NL_FIELD_RECORD)
        return decode_fallbacks(field->record, at, (char *)into + field->offset, err);
    if (!field->fallback)
        return 0;
    value = json_loads(field->fallback, JSON_DECODE_ANY, &error);
    if (!value)
        return nl_fail(err, NL_EXIT_LAB, "the default of %s: %s", field->key, error.text);
    return nl_field_decode(field, at, value, into, err);
}

int nl_record_decode(const struct nl_record *record, const struct nl_json_place *at,
                     const json_t *object, void *into, struct nl_error **err)
{
    json_t *members = (json_t *)object; /* jansson iterates over mutable objects only */
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return fail_type(err, at, "an object", object);
    json_object_foreach(members, key, value)
    {
        if (!nl_record_field(record, key))
            return nl_record_fail_unknown(record, at, key, err);
    }
    for (const struct nl_field *f = record->fields; f->key; f++) {
        struct nl_json_place place = nl_json_key(at, f->key);
        value = json_object_get(object, f->key);
        if (!value && f->required)
            return nl_fail_at(err, at, "the key \"%s\" is missing", f->key);
        if ((value ? nl_field_decode(f, &place, value, into, err)
                   : decode_fallback(f, &place, into, err)) < 0)
            return -1;
    }
    return 0;
}
