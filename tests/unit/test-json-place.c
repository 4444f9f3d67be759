/*
 * test-json-place.c - names and lines of JSON values in error messages.
 */
#include "json-place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const char text[] = "\n"                                 /* 1 */
                           "{ \"a\": \"}]{[ \\\" \\\\\",\n"     /* 2 */
                           "  \"b\": [ [1, {\"x\": [2]}],\n"    /* 3 */
                           "    {\"c\": true,\n"                /* 4 */
                           "     \"d\":\n"                      /* 5 */
                           "       -1.5e3}, 7,\n"               /* 6 */
                           "    null ],\n"                      /* 7 */
                           "  \"long key\": {}, \"e\": [] }\n"; /* 8 */

static const struct nl_json_source source = {
    .name = "f.json", .text = text, .length = sizeof(text) - 1};

static void test_lines(void **state)
{
    const struct nl_json_place root = nl_json_root(&source);
    const struct nl_json_place a = nl_json_key(&root, "a"), b = nl_json_key(&root, "b");
    const struct nl_json_place b0 = nl_json_index(&b, 0), b1 = nl_json_index(&b, 1);
    const struct nl_json_place d = nl_json_key(&b1, "d"), b2 = nl_json_index(&b, 2);
    const struct nl_json_place b3 = nl_json_index(&b, 3), b9 = nl_json_index(&b, 9);
    const struct nl_json_place key = nl_json_key(&root, "long key");
    const struct nl_json_place none = nl_json_key(&b1, "none"), deep = nl_json_key(&none, "x");
    const struct nl_json_place e = nl_json_key(&root, "e"), e0 = nl_json_index(&e, 0);
    const struct {
        const struct nl_json_place *place;
        int line;
        const char *name;
    } cases[] = {
        {&root, 2, ""},
        {&a, 2, "a"},
        {&b, 3, "b"},
        {&b0, 3, "b[0]"},
        {&b1, 4, "b[1]"},
        {&d, 5, "b[1].d"},
        {&b2, 6, "b[2]"},
        {&b3, 7, "b[3]"},
        {&b9, 3, "b[9]"},
        {&key, 8, "[\"long key\"]"},
        {&none, 4, "b[1].none"},
        {&deep, 4, "b[1].none.x"},
        {&e0, 8, "e[0]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_free char *name = nl_json_place_name(cases[i].place);
        assert_string_equal(name, cases[i].name);
        assert_int_equal(nl_json_place_line(cases[i].place), cases[i].line);
    }
}

/* Text that is no JSON: any answer, but an end. */
static void test_nonsense(void **state)
{
    const char *const texts[] = {"",       "{",           "[",        "{\"b",
                                 "{\"b\"", "{\"b\":",     "{\"b\":[", "]]]",
                                 "{{{{",   "{\"b\":[1,2", "\"\\",     "{\"b\":[[[\001\002",
                                 ",,,",    "{:::}"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const struct nl_json_source nonsense = {
            .name = "n", .text = texts[i], .length = strlen(texts[i])};
        const struct nl_json_place root = nl_json_root(&nonsense);
        const struct nl_json_place b = nl_json_key(&root, "b"), b5 = nl_json_index(&b, 5);
        const struct nl_json_place r5 = nl_json_index(&root, 5);
        assert_int_equal(nl_json_place_line(&b5), 1);
        assert_int_equal(nl_json_place_line(&r5), 1);
    }
    const struct nl_json_source zeros = {.name = "n", .text = "[[\0\0\0", .length = 5};
    const struct nl_json_place root = nl_json_root(&zeros), r1 = nl_json_index(&root, 1);
    assert_int_equal(nl_json_place_line(&r1), 1);
}

static void test_messages(void **state)
{
    const struct nl_json_source option = {.name = "--cpu L1=x"};
    const struct nl_json_place root = nl_json_root(&option);
    const struct nl_json_place in_file = nl_json_root(&source), a = nl_json_key(&in_file, "a");
    cleanup_error struct nl_error *first = NULL, *second = NULL;

    (void)state;
    assert_int_equal(nl_fail_at(&first, &root, "is %s", "wrong"), -1);
    assert_string_equal(nl_error_message(first), "--cpu L1=x: is wrong");
    assert_int_equal(nl_error_status(first), NL_EXIT_REQUEST);
    nl_fail_at(&second, &a, "is wrong");
    assert_string_equal(nl_error_message(second), "f.json:2: a: is wrong");
}

static void test_quote(void **state)
{
    cleanup_free char *whole = nl_quote("a");
    /* 59 letters, then a character of two bytes: the cut must not split it. */
    cleanup_free char *cut =
        nl_quote("aaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbb\xc3\xa9tail");

    (void)state;
    assert_string_equal(whole, "\"a\"");
    assert_string_equal(cut, "\"aaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbb...\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_quote),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
