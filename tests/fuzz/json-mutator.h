/*
 * json-mutator.h - mutations of JSON for libFuzzer: one value is replaced, removed, doubled or
 * taken from elsewhere, so that most inputs still are JSON and get past the parser.
 */
#ifndef FUZZ_JSON_MUTATOR_H
#define FUZZ_JSON_MUTATOR_H

#include "cleanup.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* Texts that a value is replaced by, as JSON. */
static const char *const mutator_values[] = {
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1",
    "64",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "1e308",
    "-0.0",
    "2.5e-310",
    "\"\"",
    "\"0\"",
    "\"18446744073709551615\"",
    "\"99999999999999999999999\"",
    "\"L0\"",
    "\"L1\"",
    "\"L99\"",
    "\"%s%n\"",
    "\"]]></pre><script>\"",
    "\"\\u001b[31m\\r\\n\\t\\u202e\\uffff\\ud83d\\ude00\"",
    "\"=1+1,\\\"x\\\"\"",
    "\"a text of more words than fit into one line of a terminal, which has to be cut or wrapped\"",
    "[]",
    "[[]]",
    "[1, \"2\", null]",
    "{}",
    "{\"name\": \"x\"}",
};

/* A value of TREE, each about as likely as any other at its depth. */
static json_t *mutator_pick(json_t *tree)
{
    for (;;) {
        size_t n = json_is_object(tree) ? json_object_size(tree) : json_array_size(tree);
        size_t at = n ? (size_t)rand() % n : 0;

        if (n == 0 || rand() % 8 == 0)
            return tree;
        if (json_is_array(tree)) {
            tree = json_array_get(tree, at);
        } else {
            void *member = json_object_iter(tree);

            while (at-- > 0)
                member = json_object_iter_next(tree, member);
            tree = json_object_iter_value(member);
        }
    }
}

/* A value to put in place of OLD: a special one, one of the same tree, or OLD with other letters.
 */
static json_t *mutator_value(json_t *tree, const json_t *old)
{
    char text[256];
    size_t n;

    switch (rand() % 4) {
    case 0:
        return json_deep_copy(mutator_pick(tree));
    case 1:
        if (json_is_integer(old))
            return json_integer(json_integer_value(old) ^ (json_int_t)1 << rand() % 63);
        if (!json_is_string(old) || json_string_length(old) >= sizeof(text))
            return json_deep_copy(old);
        n = json_string_length(old);
        memcpy(text, json_string_value(old), n);
        n = LLVMFuzzerMutate((uint8_t *)text, n, sizeof(text));
        for (size_t i = 0; i < n; i++)
            text[i] = (char)(text[i] & 0x7f ? text[i] & 0x7f : 'x');
        return json_stringn(text, n);
    default:
        n = (size_t)rand() % (sizeof(mutator_values) / sizeof(mutator_values[0]));
        return json_loads(mutator_values[n], JSON_DECODE_ANY, NULL);
    }
}

static void mutator_change_array(json_t *tree, json_t *array)
{
    size_t n = json_array_size(array);
    size_t at = n ? (size_t)rand() % n : 0;
    json_t *old = json_array_get(array, at);

    switch (rand() % 4) {
    case 0:
        json_array_remove(array, at);
        break;
    case 1:
        json_array_insert_new(array, at, old ? json_deep_copy(old) : json_null());
        break;
    case 2:
        json_array_append_new(array, mutator_value(tree, old));
        break;
    default:
        if (old)
            json_array_set_new(array, at, mutator_value(tree, old));
    }
}

static void mutator_change_object(json_t *tree, json_t *object)
{
    size_t n = json_object_size(object);
    void *member = json_object_iter(object);
    cleanup_free char *key = NULL;

    for (size_t at = n ? (size_t)rand() % n : 0; at > 0; at--)
        member = json_object_iter_next(object, member);
    if (!member)
        return;
    key = strdup(json_object_iter_key(member));
    if (rand() % 4 == 0)
        json_object_del(object, key);
    else
        json_object_set_new(object, key, mutator_value(tree, json_object_get(object, key)));
}

/* As LLVMFuzzerCustomMutator(), for a text that is one JSON value; what is none is mutated as
   bytes. */
static size_t mutate_json(uint8_t *data, size_t size, size_t max)
{
    cleanup_json json_t *tree =
        rand() % 16 ? json_loadb((const char *)data, size, JSON_DECODE_ANY, NULL) : NULL;
    cleanup_free char *text = NULL;
    size_t length;

    for (int n = 1 + rand() % 3; tree && n > 0; n--) {
        json_t *value = mutator_pick(tree);

        if (json_is_array(value))
            mutator_change_array(tree, value);
        else if (json_is_object(value))
            mutator_change_object(tree, value);
        else
            n += rand() % 2; /* a leaf is changed through what holds it */
    }
    text = tree ? json_dumps(tree, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    length = text ? strlen(text) : 0;
    if (length == 0 || length > max)
        return LLVMFuzzerMutate(data, size, max);
    memcpy(data, text, length);
    return length;
}

#endif
