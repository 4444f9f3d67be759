/*
 * test-report-notes.c - what reports say of their rows: which figures are not to be trusted, what
 * was left out, and why; the same in text, in the page and as values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "assert-text.h"
#include "cleanup.h"
#include "dig.h"
#include "document.h"
#include "metered-marks.h"
#include "report.h"

#include <stdio.h>
#include <string.h>

static char *text_of(const json_t *document)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    nl_report_text(document, out, false);
    fclose(out);
    return text;
}

/* An operation of 100 instructions at each of two layers; of so many OPERATIONS UNDISTURBED ones,
   with IRETs at L0 and L1, and VMRUNs by L0 if there are any. */
static json_t *metered(const char *name, const char *estimate, int operations, int at_l0, int at_l1,
                       int vmruns)
{
    json_t *entry = json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:i, s:[i,i], s:[i,i], s:[i,i], s:[]}", "name", name, "estimate",
        estimate, "operations", operations, "undisturbed", operations, "agreeing", 1, "total", 200,
        "instructions", 100, 100, "returns", at_l0, at_l1, "vmruns", vmruns, 0, "exits");

    if (vmruns > 0)
        json_array_append_new(json_object_get(entry, "exits"),
                              json_pack("{s:i, s:i, s:i}", "of", 1, "reached", 0, "times", vmruns));
    return entry;
}

static json_t *skipped(const char *name, const char *reason)
{
    return json_pack("{s:s, s:i, s:s}", "name", name, "operations", 0, "skipped", reason);
}

/* Of two layers with these metered benchmarks, which become the document's. */
static json_t *document_with(json_t *l0, json_t *l1)
{
    return json_pack("{s:{s:s}, s:[{s:s, s:o}, {s:s, s:o}]}", "run", "id", "x", "layers", "name",
                     "L0", "metered", l0, "name", "L1", "metered", l1);
}

/* The tick of a long operation is known by the IRET of another layer; a page fault has none. */
static void test_interrupts(void **state)
{
    cleanup_json json_t *document =
        document_with(json_pack("[o,o,o]", metered("cpuid", "mode", 101, 0, 0, 0),
                                metered("hash", "mode", 101, 1, 0, 0),
                                metered("page-touch", "mode", 101, 1, 0, 0)),
                      json_pack("[o,o,o]", metered("cpuid", "mode", 101, 0, 0, 1),
                                metered("hash", "mode", 101, 2, 1, 3),
                                metered("page-touch", "mode", 101, 0, 1, 0)));
    cleanup_free char *text = text_of(document);
    cleanup_free char *page = nl_report_html_text(document);
    cleanup_free char *values = nl_report_csv_text(document);

    (void)state;
    assert_has(text, "  cpuid       L1   200    100    100        0 %\n");
    assert_has(text, "  hash        L0  200~    100    100        0 %\n");
    assert_has(text, "  hash        L1  200~    100    100        0 %\n");
    assert_has(text, "  page-touch  L0   200    100    100        0 %\n");
    assert_has(text,
               "  ~ with interrupts in the count, ticks or what it waits for: hash at L0, L1\n");
    assert_has(text, "         at  VMRUN by L0  L1>L0\n  cpuid  L1            1      1\n"
                     "  left out, as exits by interrupts are among theirs: hash at L1\n");
    assert_has(page, "~ with interrupts in the count, ticks or what it waits for: hash at L0, L1<");
    assert_has(page, "What ~ means");
    assert_has(page, "Left out, as exits by interrupts are among theirs: hash at L1<");
    assert_has(values, "metered,\"L0\",\"hash\",\"marked\",,\"\",1\r\n");
    assert_has(values, "metered,\"L1\",\"hash\",\"marked\",,\"\",1\r\n");
    assert_has(values, "metered,\"L1\",\"page-touch\",\"marked\",,\"\",0\r\n");
}

/* Where no operation is undisturbed its own IRETs may be ticks as well; what only scatters is not
   said to have any. */
static void test_no_group(void **state)
{
    cleanup_json json_t *document =
        document_with(json_pack("[o,o]", metered("exec", "median of all", 101, 44, 0, 0),
                                metered("mremap", "median", 101, 0, 0, 0)),
                      json_pack("[o]", metered("mremap", "median of all", 101, 0, 0, 0)));
    cleanup_json json_t *marks = nl_metered_marks(document);
    cleanup_free char *text = text_of(document);

    (void)state;
    assert_has(text, "ticks or what it waits for: exec at L0\n");
    assert_has(text, "  ~ no count is typical, this is the median one: mremap at L0, L1\n");
    assert_int_equal(nl_metered_mark(marks, 5, NULL), 0);
}

/* Few samples are no row like any other, and what is not there has a reason. */
static void test_few_and_skipped(void **state)
{
    json_t *boot = metered("guest-boot", "median of all", 1, 7, 9, 5);
    json_t *exec = metered("exec", "mode", 93, 0, 0, 0);
    static const char *const lines[] = {
        "~ guest-boot at L0: 1 of 101 samples within the budget of 6 s: too few to judge by",
        "exec at L0: 93 of 101 samples within the budget of 6 s",
        "left out: ipi, tlb-shootdown at L0, L1: needs 2 vCPUs",
        "left out: kvm-cpuid at L1: no /dev/kvm",
    };

    (void)state;
    json_object_set_new(
        boot, "short",
        json_string("1 of 101 samples within the budget of 6 s: too few to judge by"));
    json_object_set_new(exec, "short", json_string("93 of 101 samples within the budget of 6 s"));
    cleanup_json json_t *document = document_with(
        json_pack("[o,o,o,o]", boot, exec, skipped("ipi", "needs 2 vCPUs"),
                  skipped("tlb-shootdown", "needs 2 vCPUs")),
        json_pack("[o,o,o]", skipped("ipi", "needs 2 vCPUs"),
                  skipped("tlb-shootdown", "needs 2 vCPUs"), skipped("kvm-cpuid", "no /dev/kvm")));
    cleanup_free char *text = text_of(document);
    cleanup_free char *page = nl_report_html_text(document);
    assert_has(text, "  guest-boot  L0  200~ ");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        cleanup_free char *line = NULL, *item = NULL;

        assert_true(asprintf(&line, "  %s\n", lines[i]) > 0);
        assert_true(asprintf(&item, "<li>%s</li>", lines[i]) > 0);
        assert_has(text, line);
        assert_has(page, item);
    }
}

/* Where all were skipped there is nothing but the reasons. */
static void test_all_skipped(void **state)
{
    cleanup_json json_t *document =
        document_with(json_pack("[o]", skipped("ipi", "needs 2 vCPUs")), json_array());
    cleanup_free char *text = text_of(document);
    cleanup_free char *page = nl_report_html_text(document);

    (void)state;
    assert_has(text, "\n\nMeter  instructions of one operation, by layer\n"
                     "  nothing was counted:\n"
                     "  left out: ipi at L0: needs 2 vCPUs\n");
    assert_has(page, "<li>nothing was counted:</li>");
    assert_has(page, "<li>left out: ipi at L0: needs 2 vCPUs</li>");
    assert_has_not(page, "Instructions of one operation");
}

/* In both tables rows are in the order of benchmarks, whichever layer has exits first. */
static void test_order(void **state)
{
    cleanup_json json_t *document =
        document_with(json_pack("[o,o]", metered("first", "mode", 101, 0, 0, 0),
                                metered("second", "mode", 101, 0, 0, 1)),
                      json_pack("[o,o]", metered("first", "mode", 101, 0, 0, 1),
                                metered("second", "mode", 101, 0, 0, 7)));
    cleanup_free char *text = text_of(document);
    cleanup_free char *page = nl_report_html_text(document);
    const char *table = strstr(page, "Exits of one operation, and whom they reached");

    (void)state;
    assert_has(text, "          at  VMRUN by L0  L1>L0\n  first   L1            1      1\n"
                     "  second  L0            1      1\n  second  L1            7      7\n");
    assert_non_null(table);
    /* Nothing is explained that is not there. */
    assert_has_not(page, "What ~ means");
    assert_has_not(page, "L2&gt;L1");
    assert_has(text, "Exit multiplication  of one operation\n");
    assert_true(strstr(table, ">first<") < strstr(table, ">second<"));
    assert_true(strstr(table, "VMRUN by L0") < strstr(table, "L1&gt;L0"));
}

static json_t *slowdown_layer(const char *layer, const char *why, double drift)
{
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:b, s:[s], s:{s:f, s:f, s:f, s:b}}", "layer",
                     layer, "median", 200.0, "batch_ns", 10600.0, "lag1", 0.4, "drift", drift,
                     "unstable", 1, "why_unstable", why, "to_below", "ratio", 1.86, "low", 1.37,
                     "high", 4.14, "unstable", 1);
}

/* An interval with both its ends; every reason of every unstable row, in the same words. */
static void test_unstable(void **state)
{
    static const char *const lines[] = {
        "~ an interval wider than 10 % of the median, or none: cpuid at L0",
        "~ drifts from the first to the last sample: syscall at L0 (-19 %)",
        "~ neighbours are alike: cpuid at L1 (r = 0.40)",
        "~ batches too short for the clock: syscall at L1 (10.60 us)",
    };
    cleanup_json json_t *document = json_pack(
        "{s:{s:s}, s:[{s:s},{s:s}], s:[{s:s,s:s,s:[o,o]},{s:s,s:s,s:[o,o]}]}", "run", "id", "x",
        "layers", "name", "L0", "name", "L1", "slowdown", "benchmark", "cpuid", "unit", "ns",
        "layers", slowdown_layer("L0", "wide", 0), slowdown_layer("L1", "autocorrelated", 0),
        "benchmark", "syscall", "unit", "ns", "layers", slowdown_layer("L0", "drifts", -0.19),
        slowdown_layer("L1", "short batch", 0));
    cleanup_free char *text = text_of(document);
    cleanup_free char *page = nl_report_html_text(document);

    (void)state;
    assert_has(text, "  cpuid    ns    200.0~  200.0~  1.86~ 1.37-4.14\n");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_has(text, lines[i]);
        assert_has(page, lines[i]);
    }
}

/* The tables of exits do not say the same, and say why. */
static void test_exits(void **state)
{
    cleanup_json json_t *document =
        document_with(json_array(), json_pack("[o]", metered("cpuid", "mode", 101, 0, 0, 1)));
    json_t *l1 = json_array_get(json_object_get(document, "layers"), 1);

    (void)state;
    json_object_set_new(l1, "benchmarks",
                        json_pack("[{s:s, s:i, s:[{s:s, s:i}]}]", "name", "cpuid", "operations", 10,
                                  "exits", "layer", "L1", "exits", 20));
    cleanup_free char *text = text_of(document);
    cleanup_free char *page = nl_report_html_text(document);
    assert_has(text, "an upper bound");
    assert_has(text, "The meter's are of one operation");
    assert_has_not(text, "Those by reason");
    assert_has(page, "an upper bound");
    assert_has(page, "The meter's are of one operation");
}

/* What is only counted is to be found somewhere. */
static void test_harmless(void **state)
{
    static const char hint[] = "  what is harmless or good is in report.html; `nestlab diagnose "
                               "FOLDER` prints it\n";
    cleanup_json json_t *document =
        json_pack("{s:{s:s}, s:[{s:s, s:s, s:s}]}", "run", "id", "x", "findings", "severity",
                  "harmless", "layer", "L0", "line", "a line");
    cleanup_free char *text = text_of(document);

    (void)state;
    assert_has(text, "Findings  0 errors, 0 warnings, 1 harmless, 0 good\n");
    assert_has(text, hint);
    json_object_set_new(json_array_get(json_object_get(document, "findings"), 0), "severity",
                        json_string("error"));
    cleanup_free char *bad = text_of(document);
    assert_has_not(bad, hint);
}

/* Somebody else's document may have any number of anything, called whatever they like. */
static void test_many(void **state)
{
    json_t *l1 = json_array();

    (void)state;
    for (int i = 0; i < 3000; i++) {
        char name[200], reason[80];

        snprintf(name, sizeof(name), "\u00e9%d\033[1m%0150d", i, 0);
        snprintf(reason, sizeof(reason), "reason %d", i);
        json_array_append_new(l1, metered(name, "mode", 101, 1, 1, 1));
        json_array_append_new(l1, skipped(name + 2, reason));
    }
    cleanup_json json_t *document = document_with(json_array(), l1);
    cleanup_free char *text = text_of(document);
    cleanup_free char *page = nl_report_html_text(document);
    assert_has_not(text, "\033");
    assert_has(text, "; and 2960 more\n");
    assert_has(text, "  2960 more reasons are in the document\n");
    assert_has(page, "2960 more reasons are in the document");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupts),
        cmocka_unit_test(test_no_group),
        cmocka_unit_test(test_few_and_skipped),
        cmocka_unit_test(test_all_skipped),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_unstable),
        cmocka_unit_test(test_exits),
        cmocka_unit_test(test_harmless),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
