/*
 * test-report.c - the reports: what a person reads, what a CI server parses, and that no document
 * can break either.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "assert-text.h"
#include "dig.h"
#include "document.h"
#include "printable.h"
#include "report-text.h"
#include "report.h"
#include "table.h"

#include <libxml/parser.h>
#include <libxml/xmlschemas.h>
#include <libxml/xpath.h>
#include <string.h>

#define FIXTURES NL_SOURCE "/tests/fixtures/"

static json_t *fixture(const char *name)
{
    json_t *document = NULL;
    char path[512];

    snprintf(path, sizeof(path), FIXTURES "%s.json", name);
    assert_int_equal(nl_document_load(path, &document, NULL), 0);
    return document;
}

static char *text_of(const json_t *document, bool colour)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    nl_report_text(document, out, colour);
    fclose(out);
    return text;
}

/* Every line fits, and holds nothing that could do something to a terminal. */
static void assert_clean(const char *text, size_t columns)
{
    cleanup_free char *copy = strdup(text);
    char *rest = NULL;

    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        cleanup_free char *printable = nl_printable(line, 0);

        assert_string_equal(line, printable);
        if (nl_columns(line) > columns)
            fail_msg("%zu columns: %s", nl_columns(line), line);
        assert_int_not_equal(line[strlen(line) - 1], ' ');
    }
}

static void test_passed(void **state)
{
    cleanup_json json_t *document = fixture("passed");
    cleanup_free char *text = text_of(document, false);

    (void)state;
    assert_clean(text, 100);
    assert_int_equal(strncmp(text, "PASSED  nested-boot in 61.2 s: 31 checks passed\n", 48), 0);
    assert_has(text,
               "  L0  up     hypervisor  6.1.0-18-cloud-amd64  AuthenticAMD  svm, npt        TCG");
    assert_has(text,
               "  L2  up     leaf        6.1.0-18-cloud-amd64  AuthenticAMD  svm, npt        KVM");
    assert_has(text, "L0 is emulated: there is no /dev/kvm on this machine\n");
    assert_has(text, "Checks  31 passed, 0 failed, 0 not evaluated, 1 skipped\n");
    assert_has(text, "  skip command-selftest: skipped itself with exit status 4\n");
    assert_has(text,
               "  pass L2: booted, under-kvm, not-emulated, flags, log-clean, log-complete, ");
    assert_has(text, "  boot           4.5  12.4  15.9\n");
    assert_has(text, "  images    0.3\n");
    assert_has(text, "  sum       2.5  9.3  22.5  22.3\n");
    assert_has(text, "L1-console.log L1-kernel.log");
    assert_has(text, "left out: vmmcall at L0: no hypervisor that answers\n");
    assert_has(text, "\nNext: nothing to repair");
    assert_has_not(text, "Failure");
    assert_has_not(text, "FAIL");
}

/* Numbers in the table of the slowdown against those in the document. */
static void test_slowdown(void **state)
{
    cleanup_json json_t *document = fixture("passed");
    cleanup_free char *text = text_of(document, false);
    size_t i;
    json_t *entry;
    char wanted[128];

    (void)state;
    json_array_foreach(json_object_get(document, "slowdown"), i, entry)
    {
        const json_t *l2 = json_array_get(json_object_get(entry, "layers"), 2);

        if (!nl_dig_is(entry, "benchmark", "cpuid"))
            continue;
        snprintf(wanted, sizeof(wanted), "  %.0f ", nl_dig_number(l2, "median", 0));
        assert_has(text, wanted);
        snprintf(wanted, sizeof(wanted), "  %.1f \u00b1", nl_dig_number(l2, "to_below.ratio", 0));
        assert_has(text, wanted);
        snprintf(wanted, sizeof(wanted), "  %.0f \u00b1", nl_dig_number(l2, "to_l0.ratio", 0));
        assert_has(text, wanted);
    }
    assert_has(text, "  2.37~ 2.10-2.62 "); /* one is unstable, and says so */
    assert_has(text, "~ the document does not say why: wakeup at L0, L1, L2\n");
}

/* Somebody else's document. */
static void test_ratio_of_nothing(void **state)
{
    cleanup_json json_t *document = json_pack(
        "{s:{s:s}, s:[{s:s}, {s:s}], s:[{s:s, s:[{s:s, s:f, s:{s:f, s:f, s:f}}]}]}", "run", "id",
        "x", "layers", "name", "L0", "name", "L1", "slowdown", "benchmark", "cpuid", "layers",
        "layer", "L1", "median", 1.0, "to_below", "ratio", 0.0, "low", 0.0, "high", 0.0);
    cleanup_free char *text = text_of(document, false);

    (void)state;
    assert_has(text, "  0.00 0.00-0.00");
    assert_has_not(text, "not known");
}

/* The meter's tables, KVM's counters, a profile. */
static void test_meter(void **state)
{
    cleanup_json json_t *document = fixture("passed");
    cleanup_free char *text = text_of(document, false);

    (void)state;
    assert_has(text, "         at     sum  by L0  by L1  by L2  disturbed\n"
                     "  cpuid  L2  36908~  33685   3204     19        0 %\n"
                     "  ~ cpuid at L2: too few operations to judge by\n"
                     "  left out: cpuid at L0: only to see what it looks like\n");
    assert_has(text, "         at  VMRUN by L0  VMRUN by L1  L1>L0  L2>L0  L2>L1\n"
                     "  cpuid  L2            8            1      7      1      1\n");
    assert_has(text, "  cpuid  L2       22000      8.05    0.03        1.01      1.02    0.01\n");
    assert_has(text, "        2105.0  96.9 %  L0  kvm_amd     svm_vcpu_run\n");
}

/* Of cpuid at LAYER. */
static void set_reasons(json_t *document, const char *layer, const char *text)
{
    size_t l, i;
    json_t *entry, *benchmark, *reasons = json_loads(text, 0, NULL);

    assert_non_null(reasons);
    json_array_foreach(json_object_get(document, "layers"), l, entry)
    {
        json_array_foreach(json_object_get(entry, "benchmarks"), i, benchmark)
        {
            if (nl_dig_is(entry, "name", layer) && nl_dig_is(benchmark, "name", "cpuid"))
                json_object_set(benchmark, "exit_reasons", reasons);
        }
    }
    json_decref(reasons);
}

static void test_exit_reasons(void **state)
{
    cleanup_json json_t *document = fixture("passed");
    cleanup_free char *without = text_of(document, false);

    (void)state;
    assert_has_not(without, "by reason");
    set_reasons(document, "L1",
                "{\"operations\": 0, \"skipped\": \"L0: no tracing\", \"counts\": []}");
    set_reasons(
        document, "L2",
        "{\"operations\": 500, \"skipped\": null, \"counts\": ["
        "{\"layer\": \"L1\", \"inside\": false, \"reasons\": ["
        "{\"reason\": \"vmload\", \"times\": 1000}, {\"reason\": \"a\\u001bb\", \"times\": 50},"
        " {\"reason\": \"rare\", \"times\": 4}]},"
        "{\"layer\": \"L1\", \"inside\": true, \"reasons\": ["
        "{\"reason\": \"cpuid\", \"times\": 500}, {\"reason\": \"npf\", \"times\": 1}]},"
        "{\"layer\": \"L2\", \"inside\": false, \"reasons\": []},"
        "{\"layer\": \"L9\", \"inside\": false, \"reasons\": ["
        "{\"reason\": \"cpuid\", \"times\": 1e308}]}]}");
    cleanup_free char *text = text_of(document, false);
    assert_clean(text, 100);
    assert_has(text, "  cpuid at L1, 0 operations\n    not counted: L0: no tracing\n");
    assert_has(text, "  cpuid at L2, 500 operations\n    L1>L0    2.11  vmload 2.00, a");
    assert_has(text, " 0.10, others 0.01\n    L2>L0    1.00  cpuid 1.00\n  Every layer counts in a "
                     "time of its own");
    assert_has_not(text, "L9");
}

/* L0 refuses, or its kernel does not tell exits of L2 from those of L1; L1 counts all the same. */
static void test_exit_reasons_of_some(void **state)
{
    static const char counts[] = "{\"operations\": 100, \"skipped\": %s, \"counts\": [%s"
                                 "{\"layer\": \"L2\", \"inside\": false, \"reasons\": ["
                                 "{\"reason\": \"cpuid\", \"times\": 100}]}]}";
    cleanup_json json_t *document = fixture("passed");
    cleanup_free char *refused = NULL, *mixed = NULL;

    (void)state;
    assert_true(asprintf(&refused, counts, "\"L0: no tracing\"", "") > 0);
    set_reasons(document, "L2", refused);
    cleanup_free char *text = text_of(document, false);
    assert_has(text, "  cpuid at L2, 100 operations\n    not counted: L0: no tracing\n"
                     "    L2>L1    1.00  cpuid 1.00\n  Every layer counts in a time of its own");
    assert_true(asprintf(&mixed, counts, "null",
                         "{\"layer\": \"L1\", \"inside\": false, \"reasons\": ["
                         "{\"reason\": \"vmrun\", \"times\": 300}]},") > 0);
    set_reasons(document, "L2", mixed);
    cleanup_free char *other = text_of(document, false);
    assert_has(other, "    L1+>L0   3.00  vmrun 3.00\n    L2>L1    1.00  cpuid 1.00\n  Every layer "
                      "counts in a time of its own");
}

/* What failed comes before what passed, with what it proves and what to do. */
static void test_failed(void **state)
{
    cleanup_json json_t *document = fixture("nested-off");
    cleanup_free char *text = text_of(document, false);

    (void)state;
    assert_clean(text, 100);
    assert_int_equal(strncmp(text, "FAILED  ", 8), 0);
    assert_has(text, "  FAIL l0-nested-parameter: kvm_amd has nested=0\n");
    assert_has(text, "       proves: KVM in L0 was loaded with nested=1");
    assert_has(text, "       do: load the module with it");
    assert_true(strstr(text, "FAIL l0-nested-parameter") < strstr(text, "FAIL l1-sees-virt"));
    assert_true(strstr(text, "FAIL l1-flags") < strstr(text, "  pass L0:"));
    /* What could not be told of L2 is one line, not six. */
    assert_has(text, "ERR  l2-under-kvm, l2-not-emulated, l2-flags, l2-log-clean, l2-log-complete");
    assert_has(text, "\nNext: load the module with it: `modprobe -r kvm_amd");
}

static void test_panic(void **state)
{
    cleanup_json json_t *document = fixture("panic");
    cleanup_free char *text = text_of(document, false);

    (void)state;
    assert_clean(text, 100);
    assert_has(text, "\nFailure  L2, phase boot, crashed\n  the kernel of L2 panicked\n");
    assert_has(text, "Findings  1 error, 0 warnings, 1 harmless, 0 good\n");
    assert_has(text, "L2-console.log:7: Kernel panic - not syncing: sysrq triggered crash\n");
    assert_has(text, "seen: 2 times up to line 9\n");
    assert_has(text, "do: read the lines before it\n");
    assert_null(strstr(text, "Unhandled WRMSR"));
    assert_has(text, "| [    1.301245] Kernel panic - not syncing: Attempted to kill init!");
    assert_has(text, "FAIL l2-booted: crashed: the kernel of L2 panicked\n");
}

static size_t times(const char *text, const char *part)
{
    size_t n = 0;

    for (size_t i = 0; i < strlen(text); i++)
        n += strncmp(text + i, part, strlen(part)) == 0;
    return n;
}

/* A run that the scenario breaks: with the id that its folder has. */
static json_t *broken(void)
{
    static const char message[] =
        "the disk image of L0 cannot be read: qemu-img exited with status 1: qemu-img: Could not "
        "open '/tmp/runs/%s/L0.qcow2': creating the domain: 2026-12-01T03:34:49Z -blockdev "
        "{\"node-name\":\"a\"}: Image is not in qcow2 format";
    json_t *document = fixture("no-l0");
    cleanup_free char *text = NULL, *cut = NULL;

    assert_true(asprintf(&text, message, nl_dig_string(document, "run.id", "?")) > 0);
    assert_true(asprintf(&cut, "%.170s ...", text) > 0);
    json_object_set_new(document, "checks",
                        json_loads("[{\"name\": \"l0-booted\", \"layer\": \"L0\", \"verdict\": "
                                   "\"error\", \"message\": \"refused in phase create\"}]",
                                   0, NULL));
    json_object_set_new(document, "failure",
                        json_pack("{s:s, s:s, s:s, s:s, s:s}", "layer", "L0", "phase", "create",
                                  "kind", "refused", "message", text, "hint", "make it again"));
    json_object_set_new(document, "diagnosis",
                        json_pack("{s:s, s:s, s:s, s:s, s:[s, s], s:s}", "name", "image-corrupt",
                                  "layer", "L0", "summary", "the disk image of L0 cannot be read",
                                  "explanation", "It is damaged.", "evidence", cut, "a second one",
                                  "remedy", "make it again"));
    nl_document_judge(document);
    return document;
}

/* Each thing once: verdict with layer, phase and cause; what it means, what to do; evidence. */
static void test_a_failure_is_told_once(void **state)
{
    static const char *const once[] = {"image-corrupt", "It is damaged.", "qemu-img exited",
                                       "node-name",     "make it again",  "phase create: the disk",
                                       "a second one"};
    cleanup_json json_t *document = broken();
    cleanup_free char *text = text_of(document, false);
    cleanup_free char *page = nl_report_html_text(document);

    (void)state;
    assert_has(text, ": L0 failed in phase create: the disk image of L0 cannot be read\n");
    assert_has(text, "\nDiagnosis  image-corrupt at L0\n  means: It is damaged.\n"
                     "  do:    make it again\n  seen:  a second one\n");
    assert_has(text, "\nFailure  L0, phase create, refused\n  the disk image of L0 cannot be ");
    assert_has(text, "\nNext: see \"do\" under Diagnosis, above\n");
    for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++) {
        if (times(text, once[i]) != 1)
            fail_msg("%zu times %s in:\n%s", times(text, once[i]), once[i], text);
        if (times(page, once[i]) != 1)
            fail_msg("%zu times %s in:\n%s", times(page, once[i]), once[i], page);
    }
}

/* What the scenario breaks is not to be mended. */
static void test_an_injected_fault_is_named_before_advice(void **state)
{
    static const char advice[] = "nothing, if this is what the scenario itself injects "
                                 "(image-corrupt at L0); otherwise: make it again";
    cleanup_json json_t *document = broken();
    cleanup_free char *text = NULL, *page = NULL, *junit = NULL;

    (void)state;
    json_object_set_new(json_object_get(document, "scenario"), "faults",
                        json_loads("[{\"fault\": \"image-corrupt\", \"layer\": \"L0\"}, "
                                   "{\"fault\": \"hang\", \"layer\": \"L1\"}]",
                                   0, NULL));
    nl_document_judge(document);
    assert_string_equal(nl_dig_string(document, "verdict.next", ""), advice);
    text = text_of(document, false);
    page = nl_report_html_text(document);
    junit = nl_report_junit_text(document);
    assert_has(text, "  do:    nothing, if this is what the scenario itself injects (image-corrupt "
                     "at L0); otherwise:");
    assert_has(page, advice);
    assert_has(junit, advice);
    assert_int_equal(times(page, advice), 1);
    assert_has_not(text, "hang at L1");
}

/* A failed command shows the end of what it said, on standard error first. */
static void test_failed_command(void **state)
{
    cleanup_json json_t *document = fixture("passed");
    json_t *command = json_array_get(json_object_get(document, "commands"), 0);
    size_t i;
    json_t *check;

    (void)state;
    json_array_foreach(json_object_get(document, "checks"), i, check)
    {
        if (nl_dig_is(check, "name", "command-uname"))
            json_object_set_new(check, "verdict", json_string("fail"));
    }
    for (int round = 0; round < 2; round++) {
        cleanup_free char *text = NULL;

        json_object_set_new(command, round == 0 ? "stdout" : "stderr",
                            json_sprintf("1\n2\n3\n4\n5\n6\n7 in %d\n\033[2J\n", round));
        text = text_of(document, false);
        assert_clean(text, 100);
        assert_has(text, round == 0 ? "       | 7 in 0\n" : "       | 7 in 1\n");
        assert_has(text, "       | 3\n");
        assert_has_not(text, "       | 2\n");
        assert_has(text, "       | \\x1b[2J\n");
        assert_has_not(text, round == 0 ? "7 in 1" : "7 in 0");
    }
}

static void test_lab_error(void **state)
{
    cleanup_json json_t *document = fixture("no-l0");
    cleanup_free char *text = text_of(document, false);

    (void)state;
    assert_clean(text, 100);
    assert_int_equal(strncmp(text, "ERROR  ", 7), 0);
    assert_has(text, "  L1  not reached\n");
    assert_has(text, "\nNext: L0 needs 3072 MiB; free some, or give it less");
}

static void test_hostile(void **state)
{
    cleanup_json json_t *document = fixture("hostile");
    cleanup_free char *text = text_of(document, false);

    (void)state;
    assert_clean(text, 130);
    assert_has(text, "\\x1b[2J");
    assert_int_equal(strncmp(text, "NOT JUDGED", 10), 0);
}

/* Colours only where they are asked for, and always switched off again. */
/* Every number as great as one can be; whole ones have a meaning, such as an index. */
static void exaggerate(json_t *node)
{
    const char *key;
    json_t *child;
    size_t i;

    if (json_is_real(node) && json_real_value(node) > 0)
        json_real_set(node, 1e308);
    json_object_foreach(node, key, child) exaggerate(child);
    json_array_foreach(node, i, child) exaggerate(child);
}

/* Figures that no run measured, and whose sums are beyond all numbers, still are readable. */
static void test_great_figures(void **state)
{
    cleanup_json json_t *document = fixture("report");
    static const char *const unwanted[] = {"inf ", "inf\n", ">inf", "nan", "0000000000000000"};
    cleanup_free char *text = NULL;
    cleanup_free char *page = NULL;

    (void)state;
    exaggerate(document);
    text = text_of(document, false);
    assert_has(text, ">1e308");
    assert_has(text, "in 1e+308 s");
    page = nl_report_html_text(document);
    for (size_t i = 0; i < sizeof(unwanted) / sizeof(unwanted[0]); i++)
        assert_has_not(text, unwanted[i]);
    assert_has_not(page, " inf s");
    assert_has(page, "&gt;1e308 s");
}

static void test_colour(void **state)
{
    cleanup_json json_t *document = fixture("nested-off");
    cleanup_free char *coloured = text_of(document, true);
    cleanup_free char *plain = text_of(document, false);
    cleanup_free char *stripped = strdup(coloured);
    char *to = stripped;
    bool on = false;

    (void)state;
    for (const char *from = coloured; *from;) {
        if (*from == '\033') {
            on = strncmp(from, "\033[0m", 4) != 0;
            from = strchr(from, 'm') + 1;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    assert_false(on);
    assert_string_equal(stripped, plain);
    assert_string_not_equal(coloured, plain);
}

static void test_no_colour_in_a_file(void **state)
{
    cleanup_fclose FILE *file = tmpfile();

    (void)state;
    assert_false(nl_report_wants_colour(file));
}

static double xpath_number(xmlDocPtr xml, const char *expression)
{
    xmlXPathContextPtr context = xmlXPathNewContext(xml);
    xmlXPathObjectPtr object = xmlXPathEval(BAD_CAST expression, context);
    double number;

    assert_non_null(object);
    number = xmlXPathCastToNumber(object);
    xmlXPathFreeObject(object);
    xmlXPathFreeContext(context);
    return number;
}

static void quiet(void *context, const char *format, ...)
{
    (void)context;
    (void)format;
}

static xmlDocPtr parse_junit(const json_t *document)
{
    cleanup_free char *text = nl_report_junit_text(document);
    xmlSchemaParserCtxtPtr parser = xmlSchemaNewParserCtxt(FIXTURES "junit.xsd");
    xmlSchemaPtr schema = xmlSchemaParse(parser);
    xmlSchemaValidCtxtPtr validity = xmlSchemaNewValidCtxt(schema);
    xmlDocPtr xml;

    assert_non_null(text);
    assert_non_null(schema);
    xml = xmlReadMemory(text, (int)strlen(text), "junit.xml", NULL, XML_PARSE_HUGE);
    if (!xml)
        fail_msg("no XML: %s", text);
    if (xmlSchemaValidateDoc(validity, xml) != 0)
        fail_msg("not JUnit: %s", text);
    xmlSchemaFreeValidCtxt(validity);
    xmlSchemaFree(schema);
    xmlSchemaFreeParserCtxt(parser);
    return xml;
}

/* The counts in the attributes are those of the elements, in all of it and in every suite. */
static void assert_counts(xmlDocPtr xml)
{
    static const struct {
        const char *attribute;
        const char *element;
    } counts[] = {{"tests", "testcase"},
                  {"failures", "testcase/failure"},
                  {"errors", "testcase/error"},
                  {"skipped", "testcase/skipped"}};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        char expression[200];
        double n;

        snprintf(expression, sizeof(expression), "count(//%s)", counts[i].element);
        n = xpath_number(xml, expression);
        snprintf(expression, sizeof(expression), "number(/testsuites/@%s)", counts[i].attribute);
        assert_int_equal((int)xpath_number(xml, expression), (int)n);
        snprintf(expression, sizeof(expression), "sum(//testsuite/@%s)", counts[i].attribute);
        assert_int_equal((int)xpath_number(xml, expression), (int)n);
        snprintf(expression, sizeof(expression), "count(//testsuite[@%s != count(%s)])",
                 counts[i].attribute, counts[i].element);
        assert_int_equal((int)xpath_number(xml, expression), 0);
    }
}

static void test_junit(void **state)
{
    static const struct {
        const char *fixture;
        int failures;
        int errors;
    } known[] = {{"passed", 0, 0}, {"nested-off", 6, 14}, {"panic", 1, 9}, {"no-l0", 0, 33}};

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        cleanup_json json_t *document = fixture(known[i].fixture);
        xmlDocPtr xml = parse_junit(document);

        assert_counts(xml);
        assert_int_equal((int)xpath_number(xml, "number(/testsuites/@failures)"),
                         known[i].failures);
        assert_int_equal((int)xpath_number(xml, "number(/testsuites/@errors)"), known[i].errors);
        assert_int_equal((int)xpath_number(xml, "count(//testsuite)"), 4);
        assert_int_equal((int)xpath_number(xml, "count(//testcase)"), 33);
        assert_int_equal(
            (int)xpath_number(xml, "count(//testsuite[@name='L2']/testcase[@name='l2-booted'])"),
            1);
        xmlFreeDoc(xml);
    }
}

static void test_junit_content(void **state)
{
    cleanup_json json_t *passed = fixture("passed");
    cleanup_json json_t *panic = fixture("panic");
    xmlDocPtr xml = parse_junit(passed);

    (void)state;
    assert_int_equal((int)xpath_number(xml,
                                       "count(//testcase[@name='command-uname' and @time='0.120' "
                                       "and starts-with(system-out, '6.1.0-18')])"),
                     1);
    assert_int_equal((int)xpath_number(xml, "count(//testcase[@name='command-selftest']/skipped)"),
                     1);
    assert_int_equal((int)xpath_number(xml, "count(//testsuite[@name='L1' and @time='22.500'])"),
                     1);
    xmlFreeDoc(xml);
    xml = parse_junit(panic);
    assert_int_equal((int)xpath_number(xml, "count(//testcase[@name='stack']/error[@type='crashed' "
                                            "and contains(., '| [    1.301245] Kernel panic')])"),
                     1);
    xmlFreeDoc(xml);
}

static void test_junit_of_interrupted(void **state)
{
    cleanup_json json_t *document = fixture("passed");
    xmlDocPtr xml;

    (void)state;
    json_object_set_new(json_object_get(document, "run"), "interrupted", json_true());
    xml = parse_junit(document);
    assert_int_equal((int)xpath_number(xml, "count(//testcase[@name='stack']/error)"), 1);
    assert_counts(xml);
    xmlFreeDoc(xml);
}

/* A scenario that expects a diagnosis has none to be judged by then: that is no failure. */
static void test_junit_of_interrupted_before_a_diagnosis(void **state)
{
    cleanup_json json_t *document = fixture("passed");
    xmlDocPtr xml;

    (void)state;
    json_object_set_new(json_object_get(document, "run"), "interrupted", json_true());
    json_object_set_new(json_object_get(document, "scenario"), "expect",
                        json_pack("{s:s, s:s}", "diagnosis", "hung", "layer", "L2"));
    xml = parse_junit(document);
    assert_int_equal((int)xpath_number(xml, "count(//failure)"), 0);
    assert_int_equal((int)xpath_number(xml, "count(//testcase[@name='diagnosis']/error)"), 1);
    assert_counts(xml);
    xmlFreeDoc(xml);
}

static void test_junit_of_hostile(void **state)
{
    cleanup_json json_t *document = fixture("hostile");
    cleanup_free char *text = nl_report_junit_text(document);

    (void)state;
    xmlFreeDoc(parse_junit(document));
    for (const char *c = text; *c; c++)
        assert_true((unsigned char)*c >= 0x20 || *c == '\n' || *c == '\t');
}

static size_t replace_each(json_t *root, json_t *node, json_t *value, size_t stride, size_t *seen,
                           void (*visit)(const json_t *root));

static void visit_child(json_t *root, json_t *node, const char *key, size_t index, json_t *value,
                        size_t stride, size_t *seen, void (*visit)(const json_t *root))
{
    json_t *child = key ? json_object_get(node, key) : json_array_get(node, index);

    json_incref(child);
    if ((*seen)++ % stride == 0) {
        if (key)
            json_object_set(node, key, value);
        else
            json_array_set(node, index, value);
        visit(root);
        if (key)
            json_object_set(node, key, child);
        else
            json_array_set(node, index, child);
    }
    replace_each(root, child, value, stride, seen, visit);
    json_decref(child);
}

/* Visit ROOT with every STRIDE-th value below NODE replaced by VALUE, one at a time. */
static size_t replace_each(json_t *root, json_t *node, json_t *value, size_t stride, size_t *seen,
                           void (*visit)(const json_t *root))
{
    if (json_is_array(node)) {
        for (size_t i = 0; i < json_array_size(node); i++)
            visit_child(root, node, NULL, i, value, stride, seen, visit);
    } else if (json_is_object(node)) {
        void *next = json_object_iter(node);

        while (next) {
            cleanup_free char *key = strdup(json_object_iter_key(next));

            visit_child(root, node, key, 0, value, stride, seen, visit);
            next = json_object_iter_next(node, json_object_iter_at(node, key));
        }
    }
    return *seen;
}

static void report_on(const json_t *root)
{
    cleanup_json json_t *copy = json_deep_copy(root);
    cleanup_free char *text = NULL;
    cleanup_free char *xml = NULL;
    cleanup_free char *html = NULL;

    nl_document_judge(copy);
    text = text_of(copy, false);
    xml = nl_report_junit_text(copy);
    html = nl_report_html_text(copy);
    assert_non_null(text);
    assert_non_null(xml);
    assert_non_null(html);
}

/* Any value of a document may be anything. */
static void test_wrong_types(void **state)
{
    static const char *const values[] = {"null", "-7", "1e308", "\"\\u001b%s%n\"",
                                         "[]",   "{}", "true"};
    cleanup_json json_t *document = fixture("panic");
    const char *old = getenv("PATH");
    cleanup_free char *path = strdup(old ? old : "");

    (void)state;
    /* Thousands of pages: their scripts are made, but gnuplot is not found. */
    setenv("PATH", "/nonexistent", 1);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        cleanup_json json_t *value = json_loads(values[i], JSON_DECODE_ANY, NULL);
        size_t seen = i; /* others each time */

        assert_true(replace_each(document, document, value, 20, &seen, report_on) > 80);
        report_on(value);
    }
    setenv("PATH", path, 1);
}

static void check_printable(const char *text, size_t columns, const char *wanted)
{
    cleanup_free char *printable = nl_printable(text, columns);

    assert_string_equal(printable, wanted);
    if (columns)
        assert_true(nl_columns(printable) <= columns);
}

static void test_printable(void **state)
{
    (void)state;
    check_printable(NULL, 0, "");
    check_printable("plain \u00e9\u20ac", 0, "plain \u00e9\u20ac");
    check_printable("a\tb\033c\x7f", 0, "a b\\x1bc\\x7f");
    check_printable("\xc2\x9b", 0, "\\x9b");
    check_printable("\u202e\ufeff\u200b", 0, "\\u202e\\ufeff\\u200b");
    check_printable("\xff\xe2\x82", 0, "\\xff\\xe2\\x82");
    check_printable("abcdefghij", 10, "abcdefghij");
    check_printable("abcdefghijk", 10, "abcdefg...");
    check_printable("\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", 5, "\u00e9\u00e9...");
    check_printable("abcdef\033g", 9, "abcdef...");
    check_printable("abc\033\033\033", 8, "abc...");
    check_printable("abcdef", 3, "");
}

static void check_xml(const char *text, size_t limit, const char *wanted)
{
    cleanup_free char *xml = nl_xml_text(text, limit);

    assert_string_equal(xml, wanted);
}

static void test_xml_text(void **state)
{
    (void)state;
    check_xml(NULL, 10, "");
    check_xml("a\tb\nc\x01\x1b", 100, "a\tb\nc\ufffd\ufffd");
    check_xml("\uffff\ufffe", 100, "\ufffd\ufffd");
    check_xml("\U0001f600", 100, "\U0001f600");
    check_xml("\xff", 100, "\ufffd");
    check_xml("0123456789", 4, "[6 bytes left out]\n6789");
    check_xml("ab\u20accd", 4, "[3 bytes left out]\ncd");
}

static void test_table(void **state)
{
    cleanup_free char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct nl_table *table = nl_table_new("lrl");
    static const char *const cells[] = {"name", "n", "x", "a", "12345", "", "longer", "", "z", "e"};

    (void)state;
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
        nl_table_cell(table, "%s", cells[i]);
    nl_table_print(table, out, "<", ">");
    fclose(out);
    assert_string_equal(text, "<  name        n  x>\n"
                              "  a       12345\n"
                              "  longer         z\n"
                              "  e\n");
}

/* A first word that ends where lines are indented to is still a word of the same line. */
static void test_wrap(void **state)
{
    cleanup_free char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct nl_text to = nl_text_to(out, false);

    (void)state;
    nl_text_wrap(&to, "four and more", 4, 8);
    nl_text_wrap(&to, "a text of so many words that they do not fit", 80, 2);
    fclose(out);
    assert_string_equal(text, "four and more\n"
                              "a text of so many\n  words that they do not fit\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passed),
        cmocka_unit_test(test_slowdown),
        cmocka_unit_test(test_ratio_of_nothing),
        cmocka_unit_test(test_meter),
        cmocka_unit_test(test_exit_reasons),
        cmocka_unit_test(test_exit_reasons_of_some),
        cmocka_unit_test(test_failed),
        cmocka_unit_test(test_panic),
        cmocka_unit_test(test_a_failure_is_told_once),
        cmocka_unit_test(test_an_injected_fault_is_named_before_advice),
        cmocka_unit_test(test_failed_command),
        cmocka_unit_test(test_lab_error),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_great_figures),
        cmocka_unit_test(test_colour),
        cmocka_unit_test(test_no_colour_in_a_file),
        cmocka_unit_test(test_junit),
        cmocka_unit_test(test_junit_content),
        cmocka_unit_test(test_junit_of_interrupted),
        cmocka_unit_test(test_junit_of_interrupted_before_a_diagnosis),
        cmocka_unit_test(test_junit_of_hostile),
        cmocka_unit_test(test_wrong_types),
        cmocka_unit_test(test_printable),
        cmocka_unit_test(test_xml_text),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_wrap),
    };

    xmlSetGenericErrorFunc(NULL, quiet);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
