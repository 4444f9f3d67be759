/*
 * test-evidence.c - what evidence is, by content and path; the layer it describes; XML, parameters
 * and journals as lines.
 */
#include "evidence.h"
#include "cleanup.h"
#include "evidence-convert.h"
#include "rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void test_identify(void **state)
{
    static const struct {
        const char *name, *head, *what;
        enum nl_form form;
        unsigned kind; /* one that its lines have */
    } cases[] = {
        {"a", "[    0.000000] Linux version 6.1.0\n[    0.1] x\n", "kernel log", NL_FORM_LINES,
         NL_KIND_KERNEL_LOG},
        {"a", "Linux version 6.1.0\nCommand line: x\nwhat\n", "kernel log", NL_FORM_LINES,
         NL_KIND_KERNEL_LOG},
        {"a", "kvm: Nested Virtualization enabled\n", "kernel log", NL_FORM_LINES,
         NL_KIND_KERNEL_LOG},
        {"a", "Nov 30 10:00:00 host kernel: x\nNov 30 10:00:00 host cron[1]: y\n", "kernel log",
         NL_FORM_LINES, NL_KIND_KERNEL_LOG},
        {"a", "6,339,5140900,-;Linux version 6.1.0\n", "kernel log", NL_FORM_LINES,
         NL_KIND_KERNEL_LOG},
        {"a", "\x1b[2J\x1b[H\x1b[0mSeaBIOS (version 1.16)\r\nBooting from ROM...\r\n", "kernel log",
         NL_FORM_LINES, NL_KIND_KERNEL_LOG},
        {"a", "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\n",
         "processor description", NL_FORM_LINES, NL_KIND_CPUINFO},
        {"a", "Module                  Size  Used by\nkvm_amd               155648  0\n",
         "list of modules", NL_FORM_LINES, NL_KIND_LSMOD},
        {"a", "kvm_amd 155648 0 - Live 0x0\nkvm 1142784 1 kvm_amd, Live 0x0\n", "list of modules",
         NL_FORM_LINES, NL_KIND_LSMOD},
        {"a", "/sys/module/kvm_amd/parameters/nested:1\n", "module parameters", NL_FORM_PARAMETERS,
         NL_KIND_MODULE_PARAMETER},
        {"a", "# comment\noptions kvm_intel nested=1\n", "module parameters", NL_FORM_PARAMETERS,
         NL_KIND_MODULE_PARAMETER},
        {"x/sys/module/kvm_amd/parameters/nested", "0\n", "a module parameter", NL_FORM_VALUE,
         NL_KIND_MODULE_PARAMETER},
        {"x/proc/cmdline", "BOOT_IMAGE=/vmlinuz kvm_amd.nested=0\n", "module parameters",
         NL_FORM_PARAMETERS, NL_KIND_MODULE_PARAMETER},
        {"a", "<domain type='kvm'>\n</domain>\n", "libvirt domain XML", NL_FORM_XML,
         NL_KIND_DOMAIN_XML},
        {"a", "<!--\nWARNING -->\n\n<domain type='kvm'>\n", "libvirt domain XML", NL_FORM_XML,
         NL_KIND_DOMAIN_XML},
        {"a", "\xef\xbb\xbf<?xml version='1.0'?><capabilities>\n", "libvirt capabilities",
         NL_FORM_XML, NL_KIND_DOMAIN_XML},
        {"a", "2026-11-30 10:00:00.123+0000: 1: error : f:1 : internal error: x\n", "libvirt log",
         NL_FORM_LINES, NL_KIND_LIBVIRT_LOG},
        {"a", "error: Failed to start domain 'x'\nerror: internal error: y\n", "libvirt log",
         NL_FORM_LINES, NL_KIND_LIBVIRT_LOG},
        {"a", "qemu-system-x86_64: -accel kvm: failed to initialize kvm\n", "QEMU log",
         NL_FORM_LINES, NL_KIND_QEMU_LOG},
        {"a", "  QEMU: Checking for hardware virtualization : PASS\n", "virt-host-validate output",
         NL_FORM_LINES, NL_KIND_HOST_VALIDATE},
        {"a", "{\"__CURSOR\":\"x\",\"MESSAGE\":\"y\"}\n", "journal as JSON", NL_FORM_JOURNAL,
         NL_KIND_KERNEL_LOG},
        {"a", "{\n \"nestlab\": {\"document\": 1}\n}\n", "nestlab document", NL_FORM_DOCUMENT, 0},
        {"a", "<!DOCTYPE html>\n<html><head>\n<title>PASSED: x - nestlab</title>\n",
         "results of nestlab or of tests", NL_FORM_BINARY, 0},
        {"a", "<!DOCTYPE html>\n<html><head>\n<title>My dmesg</title>\n", "text", NL_FORM_LINES,
         NL_KIND_TEXT},
        {"a", "Dear all,\n\nit does not work.\n", "text", NL_FORM_LINES, NL_KIND_TEXT},
        {"a", "{\"json\": 1}\n", "text", NL_FORM_LINES, NL_KIND_TEXT},
        {"a",
         "\x7f"
         "ELF\x02\x01\x01",
         "ELF file", NL_FORM_BINARY, 0},
        {"a", "LPKSHHRHxxxx", "systemd journal, binary", NL_FORM_BINARY, 0},
        {"a", "\x01\x02\x03\x04\x05\x06 abc", "not text", NL_FORM_BINARY, 0},
        {"a", "", "empty", NL_FORM_LINES, NL_KIND_TEXT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct nl_identity identity =
            nl_evidence_identify(cases[i].name, cases[i].head, strlen(cases[i].head));

        if (strcmp(identity.what, cases[i].what) != 0 || identity.form != cases[i].form)
            fail_msg("case %zu: %s, form %d", i, identity.what, (int)identity.form);
        assert_true(cases[i].kind == 0 || identity.kinds & cases[i].kind);
    }
}

/* A hole that a crash left at the beginning of a log does not make it binary. */
static void test_nuls(void **state)
{
    static char head[4096];
    struct nl_identity identity;

    (void)state;
    memset(head, 0, sizeof(head));
    strcpy(head + 2000, "\n[    0.000000] Linux version 6.1.0\n");
    head[2000 + strlen(head + 2000)] = '\n';
    identity = nl_evidence_identify("a", head, sizeof(head));
    assert_string_equal(identity.what, "kernel log");
}

static struct nl_guess guess(const char *name, const char *const *lines)
{
    struct nl_clues clues = {0};

    for (; *lines; lines++) {
        struct nl_line line = {*lines, strlen(*lines), NL_KIND_KERNEL_LOG, 1};
        nl_clues_line(&clues, &line);
    }
    return nl_evidence_guess(name, &clues);
}

static void test_layer(void **state)
{
    static const struct {
        const char *name;
        const char *lines[4];
        const char *layer, *guest, *below;
    } cases[] = {
        {"a",
         {"DMI: Dell Inc. R740", "Booting paravirtualized kernel on bare hardware", NULL},
         "L0",
         "L1",
         "the machine below L0"},
        {"a",
         {"Hypervisor detected: KVM", "DMI: QEMU Standard PC", NULL},
         "L1 or deeper",
         "L2 or deeper",
         "the layer below it"},
        {"a",
         {"Booting paravirtualized kernel on KVM", NULL},
         "L1 or deeper",
         "L2 or deeper",
         "the layer below it"},
        {"a",
         {"DMI: QEMU Standard PC", "Booting paravirtualized kernel on bare hardware", NULL},
         "L0",
         "L1",
         "the machine below L0"},
        {"a",
         {"DMI: Red Hat KVM, BIOS 0.5.1", NULL},
         "L1 or deeper",
         "L2 or deeper",
         "the layer below it"},
        {"a",
         {"DMI: VMware, Inc. VMware Virtual Platform", NULL},
         "L1 or deeper",
         "L2 or deeper",
         "the layer below it"},
        {"a",
         {"flags : fpu vme svm hypervisor", NULL},
         "L1 or deeper",
         "L2 or deeper",
         "the layer below it"},
        {"a", {"flags : fpu vme svm hypervisor_x", NULL}, "L0", "L1", "the machine below L0"},
        {"out/L2-kernel.log",
         {"Booting paravirtualized kernel on bare hardware", NULL},
         "L2",
         "L3",
         "L1"},
        {"L12-console.log", {NULL}, "L12", "L13", "L11"},
        {"L1-kernel.log.old", {NULL}, "an unknown layer", "its guest", "the layer below it"},
        {"a",
         {"Linux version 6.1.0 (x)", NULL},
         "an unknown layer",
         "its guest",
         "the layer below it"},
    };
    char name[32];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct nl_guess it = guess(cases[i].name, cases[i].lines);

        nl_guess_name(&it, 0, name);
        if (strcmp(name, cases[i].layer) != 0)
            fail_msg("case %zu: %s (%s)", i, name, it.why);
        nl_guess_name(&it, 1, name);
        assert_string_equal(name, cases[i].guest);
        nl_guess_name(&it, -1, name);
        assert_string_equal(name, cases[i].below);
        assert_true(it.known == (*it.why != '\0'));
    }
}

static void test_clues(void **state)
{
    static const char *const lines[] = {"Linux version 6.1.0-13-amd64 (x)",
                                        "smpboot: CPU0: AMD EPYC 7763 (family: 0x19)", "Loading",
                                        "L", ""};
    struct nl_clues clues = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct nl_line line = {lines[i], strlen(lines[i]), NL_KIND_KERNEL_LOG, 1};
        nl_clues_line(&clues, &line);
    }
    assert_string_equal(clues.kernel, "6.1.0-13-amd64");
    assert_int_equal(clues.vendor, NL_VENDOR_AMD);
}

/* What a converter gives: each line with its number. */
static void print(void *context, const char *line, size_t length, unsigned long number)
{
    fprintf(context, "%lu %.*s\n", number, (int)length, line);
}

static char *parameters(const char *text)
{
    char *out = NULL;
    size_t size;
    FILE *file = open_memstream(&out, &size);

    nl_convert_parameters(text, strlen(text), 7, print, file);
    fclose(file);
    return out;
}

static void test_parameters(void **state)
{
    static const struct {
        const char *text, *lines;
    } cases[] = {
        {"/sys/module/kvm_amd/parameters/nested:1", "7 kvm_amd.nested=1\n"},
        {"/sys/module/kvm-amd/parameters/nested:a:b c", "7 kvm_amd.nested=a:b c\n"},
        {"options kvm-intel nested=1 ept=0", "7 kvm_intel.nested=1\n7 kvm_intel.ept=0\n"},
        {"BOOT_IMAGE=/v quiet kvm.ignore_msrs=1 kvm-amd.npt=0",
         "7 kvm.ignore_msrs=1\n7 kvm_amd.npt=0\n"},
        {"kvm_amd.nested=0", "7 kvm_amd.nested=0\n"},
        {"# options kvm_amd nested=1", ""},
        {"options", ""},
        {"options kvm_amd", ""},
        {"blacklist kvm_amd", ""},
        {"/sys/module/kvm_amd", ""},
        {"/sys/module/kvm_amd/parameters/nested", ""},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_free char *lines = parameters(cases[i].text);

        assert_string_equal(lines, cases[i].lines);
    }
}

static void test_parameter_name(void **state)
{
    char name[128];

    (void)state;
    assert_true(nl_evidence_parameter_name("/sys/module/kvm/parameters/x", name));
    assert_string_equal(name, "kvm.x");
    assert_true(nl_evidence_parameter_name("a.tar/b/sys/module/kvm_amd/parameters/nested", name));
    assert_string_equal(name, "kvm_amd.nested");
    assert_false(nl_evidence_parameter_name("sys/module/kvm/holders/x", name));
    assert_false(nl_evidence_parameter_name("xsys/module/kvm/parameters/x", name));
    assert_false(nl_evidence_parameter_name("sys/module/kvm/parameters/x/y", name));
}

static char *xml(const char *text, const char **why)
{
    char *out = NULL;
    size_t size;
    FILE *file = open_memstream(&out, &size);

    *why = nl_convert_xml(text, strlen(text), print, file);
    fclose(file);
    return out;
}

static void test_xml(void **state)
{
    static const char domain[] = "<domain type='kvm' id='3'>\n"
                                 "  <cpu mode='host-model' check='partial'>\n"
                                 "    <feature policy='disable' name='svm'/>\n"
                                 "  </cpu>\n"
                                 "  <os>\n"
                                 "    <type machine='pc' arch='x86_64'>hvm</type>\n"
                                 "    tail\n"
                                 "  </os>\n"
                                 "  <title>two\nlines &amp; <![CDATA[more]]></title>\n"
                                 "</domain>\n";
    static const char lines[] = "1 /domain id=\"3\" type=\"kvm\"\n"
                                "2 /domain/cpu check=\"partial\" mode=\"host-model\"\n"
                                "3 /domain/cpu/feature name=\"svm\" policy=\"disable\"\n"
                                "5 /domain/os\n"
                                "6 /domain/os/type arch=\"x86_64\" machine=\"pc\": hvm\n"
                                "9 /domain/title: two lines & \n";
    const char *why;
    cleanup_free char *found = xml(domain, &why);

    (void)state;
    assert_null(why);
    /* Of a text in pieces the first one counts. */
    assert_memory_equal(found, lines, sizeof(lines) - 8);
}

static void test_status_xml(void **state)
{
    const char *why;
    cleanup_free char *found =
        xml("<domstatus state='running'><domain type='kvm'><cpu/></domain></domstatus>", &why);

    (void)state;
    assert_null(why);
    assert_string_equal(found, "1 /domstatus state=\"running\"\n1 /domain type=\"kvm\"\n"
                               "1 /domain/cpu\n");
}

static void test_hostile_xml(void **state)
{
    static const char bomb[] =
        "<!DOCTYPE domain [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]>"
        "<domain><name>&b;</name></domain>";
    static const char outside[] = "<!DOCTYPE domain SYSTEM \"/etc/passwd\"><domain/>";
    const char *why;
    cleanup_free char *deep = NULL;
    size_t size;
    FILE *file = open_memstream(&deep, &size);
    char *found;

    (void)state;
    found = xml(bomb, &why);
    assert_non_null(why);
    assert_string_equal(found, "");
    free(found);
    found = xml(outside, &why);
    assert_non_null(why);
    free(found);
    found = xml("<domain><cpu>", &why);
    assert_non_null(why);
    assert_string_equal(found, "1 /domain\n1 /domain/cpu\n");
    free(found);
    fputs("<domain>", file);
    for (int i = 0; i < 200; i++)
        fputs("<a>", file);
    fclose(file);
    found = xml(deep, &why);
    assert_non_null(why);
    free(found);
}

static void test_journal(void **state)
{
    static const char text[] = "{\"MESSAGE\": \"kvm: x\", \"SYSLOG_IDENTIFIER\": \"kernel\"}";
    static const char bytes[] = "{\"MESSAGE\": [107, 118, 109, 255]}";
    char *message, *program;

    (void)state;
    assert_int_equal(nl_convert_journal(text, strlen(text), &message, &program), 0);
    assert_string_equal(message, "kvm: x");
    assert_string_equal(program, "kernel");
    free(message);
    free(program);
    assert_int_equal(nl_convert_journal(bytes, strlen(bytes), &message, &program), 0);
    assert_string_equal(message, "kvm\xff");
    assert_string_equal(program, "");
    free(message);
    free(program);
    assert_int_equal(nl_convert_journal("{}", 2, &message, &program), -1);
    assert_int_equal(nl_convert_journal("x", 1, &message, &program), -1);
    assert_null(message);
    assert_null(program);
}

static void test_squeeze(void **state)
{
    char to[32];

    (void)state;
    assert_int_equal(nl_squeeze_blanks("  a  b c  ", 10, to), 5);
    assert_memory_equal(to, "a b c", 5);
    assert_int_equal(nl_squeeze_blanks("   ", 3, to), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identify),    cmocka_unit_test(test_nuls),
        cmocka_unit_test(test_layer),       cmocka_unit_test(test_clues),
        cmocka_unit_test(test_parameters),  cmocka_unit_test(test_parameter_name),
        cmocka_unit_test(test_xml),         cmocka_unit_test(test_status_xml),
        cmocka_unit_test(test_hostile_xml), cmocka_unit_test(test_journal),
        cmocka_unit_test(test_squeeze),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
