/*
 * test-agent-cmdline.c - the kernel command line as the agent reads it, names of modules, the seed.
 */
#include "cmdline.h"
#include "insmod.h"
#include "seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void assert_value(const char *cmdline, const char *key, const char *expected)
{
    cleanup_free char *value = agent_cmdline_value(cmdline, key);

    if (!expected) {
        assert_null(value);
        return;
    }
    assert_non_null(value);
    assert_string_equal(value, expected);
}

static void assert_parameters(const char *cmdline, const char *module, const char *expected)
{
    cleanup_free char *parameters = agent_cmdline_parameters(cmdline, module);

    assert_non_null(parameters);
    assert_string_equal(parameters, expected);
}

static void test_values(void **state)
{
    static const char line[] = "BOOT_IMAGE=/vmlinuz quiet nestlab.layer=L1 nestlab.layers=3 "
                               "nestlab.root=nl-L1\tnestlab.kvm=1\n";

    (void)state;
    assert_value(line, "nestlab.layer", "L1");
    assert_value(line, "nestlab.root", "nl-L1");
    assert_value(line, "nestlab.kvm", "1");
    assert_value(line, "quiet", "");
    assert_value(line, "nestlab.lay", NULL);
    assert_value(line, "layer", NULL);
    assert_value("", "x", NULL);
}

static void test_last_one_wins(void **state)
{
    (void)state;
    assert_value("a=1 a=2 a=3", "a", "3");
}

static void test_quotes(void **state)
{
    (void)state;
    assert_value("dyndbg=\"file drivers/* +p\" x=1", "dyndbg", "file drivers/* +p");
    assert_value("\"name=a b\" x=1", "name", "a b");
    assert_value("x=\"never closed a=1", "a", NULL);
    assert_value("x=\"\"", "x", "");
    assert_value("x==y", "x", "=y");
}

static void test_dashes_are_underscores(void **state)
{
    (void)state;
    assert_value("foo-bar=1", "foo_bar", "1");
    assert_value("foo_bar=1", "foo-bar", "1");
    assert_parameters("kvm-amd.nested=1", "kvm_amd", "nested=1");
}

static void test_end_of_kernel_part(void **state)
{
    (void)state;
    assert_value("a=1 -- a=2 b=3", "a", "1");
    assert_value("a=1 -- a=2 b=3", "b", NULL);
    assert_parameters("kvm.x=1 -- kvm.y=2", "kvm", "x=1");
}

static void test_parameters(void **state)
{
    static const char line[] = "kvm_amd.nested=1 kvm.ignore_msrs=1 quiet kvm_amd.npt=0 "
                               "kvm_amd.dump kvm_amd. xkvm.y=1";

    (void)state;
    assert_parameters(line, "kvm_amd", "nested=1 npt=0 dump");
    assert_parameters(line, "kvm", "ignore_msrs=1");
    assert_parameters(line, "virtio", "");
    assert_parameters("", "kvm", "");
    assert_parameters("m.text=\"a b\" \"m.more=c d\"", "m", "\"text=a b\" \"more=c d\"");
    /* Quoting makes each of these longer than it was: the result must have room. */
    assert_parameters("m.a\tm.b m.\"c d\"", "m", "a b \"c d\"");
    assert_parameters("m.\" \" m.\" \" m.\" \"", "m", "\" \" \" \" \" \"");
}

static void test_module_names(void **state)
{
    static const char *const cases[][2] = {{"/lib/modules/6.1/virtio_pci.ko", "virtio_pci"},
                                           {"kvm-amd.ko.xz", "kvm_amd"},
                                           {"plain", "plain"},
                                           {"/x/", ""}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_free char *name = agent_module_name(cases[i][0]);
        assert_string_equal(name, cases[i][1]);
    }
}

static void test_seed(void **state)
{
    static const char good[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff";
    unsigned char bytes[AGENT_SEED_BYTES];
    char bad[80];

    (void)state;
    assert_true(agent_seed_parse(good, bytes));
    for (int i = 0; i < AGENT_SEED_BYTES - 1; i++)
        assert_int_equal(bytes[i], i);
    assert_int_equal(bytes[AGENT_SEED_BYTES - 1], 0xff);
    assert_false(agent_seed_parse("", bytes));
    assert_false(agent_seed_parse(good + 1, bytes));
    snprintf(bad, sizeof(bad), "%s0", good);
    assert_false(agent_seed_parse(bad, bytes));
    for (size_t i = 0; i < sizeof(good) - 1; i++) {
        memcpy(bad, good, sizeof(good));
        bad[i] = 'g';
        assert_false(agent_seed_parse(bad, bytes));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_last_one_wins),
        cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_dashes_are_underscores),
        cmocka_unit_test(test_end_of_kernel_part),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_module_names),
        cmocka_unit_test(test_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
