/*
 * test-agent-facts.c - what facts are decoded from: CPUID leaves, VMX capability MSRs, cpuinfo; and
 * strings made of anything.
 */
#include "cpu.h"
#include "facts.h"
#include "vmx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

struct entry {
    uint32_t leaf, subleaf;
    struct agent_cpuid value;
};

/* An EPYC as QEMU shows it, with SVM; "AuthenticAMD" and "KVMKVMKVM" as register contents. */
static const struct entry amd_guest[] = {
    {0x0, 0, {0xd, 0x68747541, 0x444d4163, 0x69746e65}},
    {0x1, 0, {0x00800f12, 0x00010800, 0x80000000, 0x178bfbff}},
    {0x7, 0, {0, 0x209c01a9, 0, 0}},
    {0x40000000, 0, {0x40000001, 0x4b4d564b, 0x564b4d56, 0x0000004d}},
    {0x40000001, 0, {0x01007afb, 0, 0, 0}},
    {0x80000000, 0, {0x8000001f, 0, 0, 0}},
    {0x80000001, 0, {0x00800f12, 0, 0x00000004, 0}},
    {0x80000002, 0, {0x20444d41, 0x43595045, 0x6f725020, 0x73736563}},
    {0x80000003, 0, {0x2020726f, 0x20202020, 0x20202020, 0x20202020}},
    {0x80000004, 0, {0x20202020, 0x20202020, 0x20202020, 0x00202020}},
    {0x8000000a, 0, {0x1, 0x10, 0, 0x00000009}},
};

/* "GenuineIntel", family 6 model 0x3c (extended model 3), VMX, no hypervisor. */
static const struct entry intel_host[] = {
    {0x0, 0, {0xd, 0x756e6547, 0x6c65746e, 0x49656e69}},
    {0x1, 0, {0x000306c3, 0, 0x00000020, 0}},
    {0x80000000, 0, {0x80000008, 0, 0, 0}},
};

static const struct entry *table;
static size_t entries;
static unsigned reads_of_hypervisor_leaves, reads_twice;
static unsigned char was_read[64];

static void fake_read(uint32_t leaf, uint32_t subleaf, struct agent_cpuid *out)
{
    memset(out, 0, sizeof(*out));
    reads_of_hypervisor_leaves += leaf >> 28 == 4;
    for (size_t i = 0; i < entries; i++) {
        if (table[i].leaf != leaf || table[i].subleaf != subleaf)
            continue;
        *out = table[i].value;
        reads_twice += was_read[i]++;
    }
}

static json_t *facts_of(const struct entry *from, size_t n)
{
    table = from;
    entries = n;
    reads_of_hypervisor_leaves = reads_twice = 0;
    memset(was_read, 0, sizeof(was_read));
    return agent_cpuid_facts(fake_read);
}
#define FACTS_OF(from) facts_of(from, sizeof(from) / sizeof(from[0]))

static const char *string(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static json_int_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void test_amd_guest(void **state)
{
    cleanup_json json_t *facts = FACTS_OF(amd_guest);
    const json_t *hypervisor = json_object_get(facts, "hypervisor");
    const json_t *svm = json_object_get(facts, "svm_features");

    (void)state;
    assert_string_equal(string(facts, "vendor"), "AuthenticAMD");
    assert_string_equal(string(facts, "brand"), "AMD EPYC Processor");
    assert_int_equal(number(facts, "family"), 23);
    assert_int_equal(number(facts, "model"), 1);
    assert_int_equal(number(facts, "stepping"), 2);
    assert_true(json_is_true(json_object_get(hypervisor, "present")));
    assert_string_equal(string(hypervisor, "signature"), "KVMKVMKVM");
    assert_string_equal(string(hypervisor, "max_leaf"), "0x40000001");
    assert_true(json_is_true(json_object_get(facts, "svm")));
    assert_true(json_is_false(json_object_get(facts, "vmx")));
    assert_int_equal(number(svm, "revision"), 1);
    assert_int_equal(number(svm, "asids"), 16);
    assert_true(json_is_true(json_object_get(svm, "npt")));
    assert_true(json_is_true(json_object_get(svm, "nrips")));
    assert_true(json_is_false(json_object_get(svm, "lbrv")));
    assert_true(json_is_false(json_object_get(svm, "vgif")));
    assert_int_equal(reads_twice, 0);
}

static void test_leaves_are_listed(void **state)
{
    cleanup_json json_t *facts = FACTS_OF(amd_guest);
    bool found = false;
    const json_t *leaf;
    size_t i;

    (void)state;
    json_array_foreach(json_object_get(facts, "leaves"), i, leaf)
    {
        /* Nothing above the maximum that leaf 0x40000000 gave. */
        assert_string_not_equal(string(leaf, "leaf"), "0x40000002");
        if (strcmp(string(leaf, "leaf"), "0x8000000a") != 0)
            continue;
        found = true;
        assert_int_equal(number(leaf, "subleaf"), 0);
        assert_string_equal(string(leaf, "ebx"), "0x00000010");
        assert_string_equal(string(leaf, "edx"), "0x00000009");
    }
    assert_true(found);
}

static void test_intel_host(void **state)
{
    cleanup_json json_t *facts = FACTS_OF(intel_host);
    const json_t *hypervisor = json_object_get(facts, "hypervisor");

    (void)state;
    assert_string_equal(string(facts, "vendor"), "GenuineIntel");
    assert_int_equal(number(facts, "family"), 6);
    assert_int_equal(number(facts, "model"), 0x3c);
    assert_true(json_is_true(json_object_get(facts, "vmx")));
    assert_true(json_is_false(json_object_get(facts, "svm")));
    assert_true(json_is_null(json_object_get(facts, "svm_features")));
    assert_true(json_is_false(json_object_get(hypervisor, "present")));
    assert_true(json_is_null(json_object_get(hypervisor, "signature")));
    /* Without the hypervisor bit those leaves repeat some other leaf: they must not be believed. */
    assert_int_equal(reads_of_hypervisor_leaves, 0);
}

static void test_svm_bits(void **state)
{
    static const struct {
        int bit;
        const char *name;
    } bits[] = {{0, "npt"},
                {4, "tsc_scale"},
                {5, "vmcb_clean"},
                {6, "flush_by_asid"},
                {7, "decode_assists"},
                {10, "pause_filter"},
                {12, "pause_filter_threshold"},
                {13, "avic"},
                {15, "vmsave_vmload"},
                {16, "vgif"},
                {18, "x2avic"},
                {20, "v_spec_ctrl"},
                {25, "vnmi"}};

    (void)state;
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        struct agent_cpuid leaf = {.eax = 1, .ebx = 0x8000, .edx = 1u << bits[i].bit};
        cleanup_json json_t *features = agent_cpuid_svm_features(&leaf);
        const char *name;
        json_t *value;
        assert_int_equal(number(features, "asids"), 0x8000);
        json_object_foreach(features, name, value)
        {
            if (json_is_boolean(value))
                assert_int_equal(json_is_true(value), strcmp(name, bits[i].name) == 0);
        }
    }
}

static void test_vmx_features(void **state)
{
    cleanup_json json_t *msrs =
        json_pack("{s:s, s:s}", "0x48b", "0x0000408200000000", "0x48c", "0x0000000000010000");
    cleanup_json json_t *features = agent_vmx_features(msrs);
    cleanup_json json_t *none = json_null();
    cleanup_json json_t *of_none = agent_vmx_features(none);

    (void)state;
    assert_true(json_is_true(json_object_get(features, "ept")));
    assert_true(json_is_true(json_object_get(features, "unrestricted_guest")));
    assert_true(json_is_true(json_object_get(features, "vmcs_shadowing")));
    assert_true(json_is_false(json_object_get(features, "vpid")));
    assert_true(json_is_true(json_object_get(features, "ept_2m_pages")));
    assert_true(json_is_false(json_object_get(features, "ept_1g_pages")));
    /* Its MSR is not there: not false, but not known. */
    assert_null(json_object_get(features, "msr_bitmaps"));
    assert_true(json_is_null(of_none));
}

static void test_flags(void **state)
{
    cleanup_json json_t *flags = agent_facts_flags(
        "processor\t: 0\nflags\t\t: fpu vme  svm\nvmx flags\t: ept\nflags\t\t: other\n");
    cleanup_json json_t *none = agent_facts_flags("processor\t: 0\nflagship: x\n");

    (void)state;
    assert_int_equal(json_array_size(flags), 3);
    assert_string_equal(json_string_value(json_array_get(flags, 0)), "fpu");
    assert_string_equal(json_string_value(json_array_get(flags, 2)), "svm");
    assert_int_equal(json_array_size(none), 0);
}

static void assert_text(const char *bytes, size_t length, const char *expected)
{
    cleanup_json json_t *text = agent_json_text(bytes, length);

    assert_non_null(text);
    assert_string_equal(json_string_value(text), expected);
}

static void test_text(void **state)
{
    (void)state;
    assert_text("plain", 5, "plain");
    assert_text("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_text("a\0b", 3, "a\\x00b");
    assert_text("\xff\xfe", 2, "\\xff\\xfe");
    assert_text("\xc3", 1, "\\xc3");                   /* cut off */
    assert_text("\xc0\xaf", 2, "\\xc0\\xaf");          /* not the shortest form */
    assert_text("\xed\xa0\x80", 3, "\\xed\\xa0\\x80"); /* a surrogate */
    assert_text("\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80");
    assert_text("", 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amd_guest),    cmocka_unit_test(test_leaves_are_listed),
        cmocka_unit_test(test_intel_host),   cmocka_unit_test(test_svm_bits),
        cmocka_unit_test(test_vmx_features), cmocka_unit_test(test_flags),
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
