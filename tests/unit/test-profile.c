/*
 * test-profile.c - from places in code to functions by layer, and to the text for flame graphs.
 */
#include "cleanup.h"
#include "dig.h"
#include "profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static const struct nl_meter_place places[] = {
    {0, 0xffffffff81000000, 30}, {0, 0xffffffff81000010, 12}, {0, 0xffffffffc0000000, 100},
    {1, 0xffffffff81000000, 42}, {1, 0xffffffffc0000000, 1},  {1, 0xffffffffc0000100, 5},
    {1, 0xffffffffc0000900, 2},  {1, 0xffffffffffff0000, 3},  {2, 0, 20},
};

static const char names[] = "[\"do;it\", \"do;it\", \"svm_run [kvm_amd]\", \"do;it\", "
                            "\"svm_run [kvm_amd]\", \"[odd]\", \"svm_run [kvm_amd]\", null, null]";

static json_t *make(void)
{
    cleanup_json json_t *list = json_loads(names, 0, NULL);
    json_t *profile = nl_profile(places, list, sizeof(places) / sizeof(places[0]), 4);

    assert_non_null(profile);
    return profile;
}

static void expect(const json_t *profile, size_t index, const char *layer, const char *module,
                   const char *name, json_int_t instructions)
{
    const json_t *one = json_array_get(json_object_get(profile, "functions"), index);

    assert_string_equal(nl_dig_string(one, "layer", ""), layer);
    assert_string_equal(nl_dig_string(one, "module", ""), module);
    assert_string_equal(nl_dig_string(one, "function", ""), name);
    assert_int_equal(nl_dig_integer(one, "instructions", -1), instructions);
}

static void test_functions(void **state)
{
    cleanup_json json_t *profile = make();

    (void)state;
    assert_int_equal(nl_dig_integer(profile, "operations", -1), 4);
    assert_int_equal(json_array_size(json_object_get(profile, "functions")), 7);
    expect(profile, 0, "L0", "kvm_amd", "svm_run", 100);
    expect(profile, 1, "L0", "kernel", "do;it", 42);
    expect(profile, 2, "L1", "kernel", "do;it", 42);
    expect(profile, 3, "L2", "user space", "user space", 20);
    expect(profile, 4, "L1", "kernel", "[odd]", 5);
    /* of equals the first by name */
    expect(profile, 5, "L1", "kvm_amd", "svm_run", 3);
    expect(profile, 6, "L1", "kernel", "unknown", 3);
}

static void test_folded(void **state)
{
    cleanup_json json_t *profile = make();
    cleanup_free char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    nl_profile_folded(profile, "cpuid", "L2", out);
    fclose(out);
    assert_memory_equal(text, "cpuid at L2;L0;kvm_amd;svm_run 100\n", 35);
    assert_non_null(strstr(text, "\ncpuid at L2;L1;kernel;do_it 42\n"));
    assert_non_null(strstr(text, "\ncpuid at L2;L2;user space 20\n"));
}

/* A run that boots and counts nothing has not done what was asked for. */
static void test_missing(void **state)
{
    static const struct {
        const char *metered;
        const char *why; /* NULL: there is a profile */
    } known[] = {
        {"{\"name\": \"cpuid\", \"skipped\": null, \"profile\": {\"operations\": 4}}", NULL},
        {"{\"name\": \"cpuid\", \"skipped\": null, \"profile\": {\"operations\": 0}}",
         "no operation of cpuid at L0 was undisturbed"},
        {"{\"name\": \"ipi\", \"skipped\": \"needs 2 vCPUs\"}",
         "ipi was left out at L0: needs 2 vCPUs"},
        {"[]", "no operation of ? at L0 was undisturbed"},
        {NULL, "nothing was metered"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        json_t *list = json_array();
        cleanup_json json_t *document =
            json_pack("{s:[{s:s, s:o}]}", "layers", "name", "L0", "metered", list);
        cleanup_free char *why = NULL;

        if (known[i].metered)
            json_array_append_new(list, json_loads(known[i].metered, 0, NULL));
        why = nl_profile_missing(document);
        if (known[i].why)
            assert_string_equal(why, known[i].why);
        else
            assert_null(why);
    }
}

static void test_nothing(void **state)
{
    cleanup_json json_t *profile = nl_profile(places, NULL, 0, 0);

    (void)state;
    assert_int_equal(json_array_size(json_object_get(profile, "functions")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_folded),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
