/*
 * test-document-schema.c - the published schema and the program mean the same by "a document": for
 * documents in which any one value was replaced, both say yes, or both say no.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dig.h"
#include "document-shape.h"
#include "json-schema.h"

#include <string.h>

#define FIXTURES NL_SOURCE "/tests/fixtures/"

/* The schema describes these further than the program looks. */
static const char *const only_in_schema[] = {"facts",    "domain",   "image",    "host",
                                             "scenario", "facility", "counters", "files"};

struct walk {
    json_t *root;
    json_t *value; /* what to put in place; NULL: take the member out */
    size_t stride;
    size_t seen;
    size_t refused;
};

static void compare(struct walk *walk, const char *key)
{
    struct nl_json_source source = {.name = "mutant", .folder = "/"};
    cleanup_error struct nl_error *err = NULL;
    bool ours = nl_document_shape(walk->root, &source, &err) == 0;
    bool theirs = is_valid(walk->root, schema);

    walk->refused += !ours;
    if (ours != theirs) {
        cleanup_free char *value = json_dumps(walk->value, JSON_ENCODE_ANY);

        fail_msg("%s = %s: the program says %s, the schema %s", key, value ? value : "(gone)",
                 ours ? "yes" : nl_error_message(err), theirs ? "yes" : "no");
    }
}

static bool is_compared(const char *key)
{
    for (size_t i = 0; i < sizeof(only_in_schema) / sizeof(only_in_schema[0]); i++)
        if (strcmp(only_in_schema[i], key) == 0)
            return false;
    return true;
}

static void mutate(struct walk *walk, json_t *node)
{
    cleanup_json json_t *copy = json_copy(node); /* iterated over while NODE changes */
    const char *key;
    json_t *child;
    size_t i;

    json_array_foreach(copy, i, child)
    {
        if (walk->value && walk->seen++ % walk->stride == 0) {
            json_array_set(node, i, walk->value);
            compare(walk, "an element");
            json_array_set(node, i, child);
        }
        mutate(walk, child);
    }
    if (!json_is_object(copy))
        return;
    json_object_foreach(copy, key, child)
    {
        if (!is_compared(key))
            continue;
        if (walk->seen++ % walk->stride == 0) {
            if (walk->value)
                json_object_set(node, key, walk->value);
            else
                json_object_del(node, key);
            compare(walk, key);
            json_object_set(node, key, child);
        }
        mutate(walk, child);
    }
}

static void test_mutants(void **state)
{
    static const char *const values[] = {NULL, "null", "7", "\"up\"", "true", "[]", "{}", "[7]"};
    static const char *const fixtures[] = {"passed", "panic"};

    (void)state;
    for (size_t f = 0; f < 2; f++) {
        cleanup_json json_t *document = NULL;
        char path[512];

        snprintf(path, sizeof(path), FIXTURES "%s.json", fixtures[f]);
        document = json_load_file(path, 0, NULL);
        assert_non_null(document);
        assert_true(is_valid(document, schema));
        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
            cleanup_json json_t *value =
                values[i] ? json_loads(values[i], JSON_DECODE_ANY, NULL) : NULL;
            struct walk walk = {.root = document, .value = value, .stride = 1};

            mutate(&walk, document);
            assert_true(walk.seen > 150);
            assert_true(walk.refused > 50);
        }
    }
}

static void test_other_versions(void **state)
{
    cleanup_json json_t *document = json_load_file(FIXTURES "passed.json", 0, NULL);
    struct nl_json_source source = {.name = "later", .folder = "/"};

    (void)state;
    json_object_set_new(json_object_get(document, "nestlab"), "document", json_integer(2));
    assert_false(is_valid(document, schema));
    assert_int_equal(nl_document_shape(document, &source, NULL), -1);
}

static int set_up(void **state)
{
    (void)state;
    schema = json_load_file(NL_SOURCE "/docs/document.schema.json", JSON_REJECT_DUPLICATES, NULL);
    return schema ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    json_decref(schema);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mutants),
        cmocka_unit_test(test_other_versions),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
