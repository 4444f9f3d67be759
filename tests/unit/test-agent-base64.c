/*
 * test-agent-base64.c - base64 both ways, against RFC 4648's vectors, and what is not base64.
 */
#include "base64.h"
#include "util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char *const vectors[][2] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
};

static void test_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        size_t length = 99;
        cleanup_free char *text = agent_base64_encode(vectors[i][0], strlen(vectors[i][0]));
        cleanup_free unsigned char *bytes =
            agent_base64_decode(vectors[i][1], strlen(vectors[i][1]), &length);
        assert_string_equal(text, vectors[i][1]);
        assert_non_null(bytes);
        assert_int_equal(length, strlen(vectors[i][0]));
        assert_memory_equal(bytes, vectors[i][0], length);
    }
}

static void test_refused(void **state)
{
    static const char *const bad[] = {
        "Z",    "Zg",   "Zg=",  "Zg==Zg==",         "Z===",  "====",  "Zm9 ", "Zm9\n",
        "Zm=v", "=m9v", "Zm9-", "\xff\xff\xff\xff", "Zm9vZ", "Zg==\n"};
    size_t length;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_null(agent_base64_decode(bad[i], strlen(bad[i]), &length));
    assert_null(agent_base64_decode("A\0AA", 4, &length));
}

/* All lengths and byte values round; a fixed seed, so that a failure can be repeated. */
static void test_round_trip(void **state)
{
    unsigned char in[257];
    unsigned seed = 12345;

    (void)state;
    for (size_t length = 0; length <= sizeof(in); length++) {
        size_t back = 0;
        for (size_t i = 0; i < length; i++)
            in[i] = (unsigned char)((seed = seed * 1103515245 + 12345) >> 16);
        cleanup_free char *text = agent_base64_encode(in, length);
        assert_int_equal(strlen(text), (length + 2) / 3 * 4);
        cleanup_free unsigned char *out = agent_base64_decode(text, strlen(text), &back);
        assert_non_null(out);
        assert_int_equal(back, length);
        assert_memory_equal(out, in, length);
    }
}

/* Noise is either refused or decodes to as many bytes as its length allows. */
static void test_noise(void **state)
{
    unsigned seed = 99;
    char text[64];

    (void)state;
    for (int round = 0; round < 20000; round++) {
        size_t length = (seed = seed * 1103515245 + 12345) >> 16 & 63, decoded = 0;
        for (size_t i = 0; i < length; i++)
            text[i] = (char)((seed = seed * 1103515245 + 12345) >> 16 & (round % 2 ? 0xff : 0x3f));
        cleanup_free unsigned char *bytes = agent_base64_decode(text, length, &decoded);
        if (bytes)
            assert_in_range(decoded, length / 4 * 3 - (length ? 2 : 0), length / 4 * 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_noise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
