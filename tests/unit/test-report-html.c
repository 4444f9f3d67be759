/*
 * test-report-html.c - the report's page: what it says, that nothing in it is alive, and that those
 * who do not see it can use it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cleanup.h"
#include "dig.h"
#include "document.h"
#include "report.h"

#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>
#include <math.h>
#include <string.h>

#define FIXTURES NL_SOURCE "/tests/fixtures/"
#define METER "//h:section[@id = 'meter']"
#define CLOCKS "//h:section[@id = 'clocks']"

static json_t *fixture(const char *name)
{
    json_t *document = NULL;
    char path[512];

    snprintf(path, sizeof(path), FIXTURES "%s.json", name);
    assert_int_equal(nl_document_load(path, &document, NULL), 0);
    return document;
}

static xmlDocPtr parse(const json_t *document)
{
    cleanup_free char *text = nl_report_html_text(document);
    xmlDocPtr xml;

    assert_non_null(text);
    xml = xmlReadMemory(text, (int)strlen(text), "report.html", NULL, XML_PARSE_NONET);
    if (!xml)
        fail_msg("no XML: %s", text);
    return xml;
}

/* EXPRESSION with "h:" for HTML and "s:" for SVG elements. */
static xmlXPathObjectPtr evaluate(xmlDocPtr xml, const char *expression)
{
    xmlXPathContextPtr context = xmlXPathNewContext(xml);
    xmlXPathObjectPtr object;

    xmlXPathRegisterNs(context, BAD_CAST "h", BAD_CAST "http://www.w3.org/1999/xhtml");
    xmlXPathRegisterNs(context, BAD_CAST "s", BAD_CAST "http://www.w3.org/2000/svg");
    object = xmlXPathEval(BAD_CAST expression, context);
    assert_non_null(object);
    xmlXPathFreeContext(context);
    return object;
}

static double number(xmlDocPtr xml, const char *expression)
{
    xmlXPathObjectPtr object = evaluate(xml, expression);
    double value = xmlXPathCastToNumber(object);

    xmlXPathFreeObject(object);
    return value;
}

/* The caller's. */
static char *string(xmlDocPtr xml, const char *expression)
{
    xmlXPathObjectPtr object = evaluate(xml, expression);
    xmlChar *value = xmlXPathCastToString(object);

    xmlXPathFreeObject(object);
    return (char *)value;
}

static void assert_count(xmlDocPtr xml, const char *expression, int wanted)
{
    char counted[512];
    int n;

    snprintf(counted, sizeof(counted), "count(%s)", expression);
    n = (int)number(xml, counted);
    if (n != wanted)
        fail_msg("%s: %d, wanted %d", expression, n, wanted);
}

/* One of the x coordinates of the shape at EXPRESSION is X. */
static void assert_near(xmlDocPtr xml, const char *expression, double x)
{
    char attribute[512];
    cleanup_free char *text = NULL;

    snprintf(attribute, sizeof(attribute), "%s/@points | %s/@d", expression, expression);
    text = string(xml, attribute);
    for (char *s = text; (s = strpbrk(s, "0123456789")); s += strcspn(s, " ")) {
        if (fabs(strtod(s, &s) - x) < 0.6)
            return;
    }
    fail_msg("%s: %s has no %g", expression, text, x);
}

/* Nothing that runs, nothing from elsewhere, no style but the one that the policy allows. */
static void assert_dead(xmlDocPtr xml)
{
    assert_count(xml, "//h:script | //h:iframe | //h:object | //h:embed | //h:link | //h:img", 0);
    assert_count(xml, "//h:form | //h:base | //h:svg | //s:script | //s:foreignObject | //s:image",
                 0);
    assert_count(xml, "//@*[starts-with(name(), 'on')] | //@style | //@src", 0);
    assert_count(xml, "//@*[local-name() = 'href' and not(starts-with(., '#'))]", 0);
    assert_count(xml, "//h:style | //s:style", 1);
    assert_count(xml, "//h:meta[@http-equiv = 'Content-Security-Policy']", 1);
}

/* Headings in order, pictures and tables with words, ids that are there once. */
static void assert_accessible(xmlDocPtr xml)
{
    assert_count(xml, "//h:h1", 1);
    assert_count(xml, "//h:main", 1);
    assert_count(xml, "//h:h1/preceding::h:h2 | //h:h1/preceding::h:h3", 0);
    assert_count(xml, "//h:h3[not(ancestor::h:section/h:h2)]", 0);
    assert_count(xml, "//s:svg[not(@aria-hidden = 'true') and not(@role = 'img')]", 0);
    assert_count(xml,
                 "//s:svg[@role = 'img' and not(normalize-space(s:title) and "
                 "normalize-space(s:desc))]",
                 0);
    assert_count(xml, "//h:table[not(normalize-space(h:caption))] | //h:th[not(@scope)]", 0);
    assert_count(xml, "//h:th[not(normalize-space(.))] | //h:summary[not(normalize-space(.))]", 0);
    assert_count(xml, "//@id[. = preceding::*/@id or . = ancestor::*/@id/../../@id]", 0);
    assert_count(xml, "//h:a[not(substring(@href, 2) = //@id)]", 0);
    assert_count(xml, "/h:html[@lang = 'en']/h:head/h:title[normalize-space(.)]", 1);
}

static void test_every_fixture(void **state)
{
    static const char *const names[] = {"passed", "nested-off", "panic",
                                        "no-l0",  "hostile",    "report"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cleanup_json json_t *document = fixture(names[i]);
        xmlDocPtr xml = parse(document);

        assert_dead(xml);
        assert_accessible(xml);
        xmlFreeDoc(xml);
    }
}

static void test_passed(void **state)
{
    cleanup_json json_t *document = fixture("passed");
    xmlDocPtr xml = parse(document);

    (void)state;
    assert_count(xml, "//h:header[contains(@class, 'passed')]/h:h1[. = 'PASSED nested-boot']", 1);
    assert_count(xml, "//h:section[@id = 'checks']//h:td[@class = 'pass']", 31);
    assert_count(xml, "//h:section[@id = 'checks']//h:td[@class = 'skip']", 1);
    assert_count(xml, "//h:section[@id = 'checks']//h:td[@class = 'fail']", 0);
    assert_count(xml, "//h:section[@id = 'stack']//s:svg[@class = 'stack']/s:rect", 3);
    assert_count(xml, "//h:section[@id = 'slowdown']//h:tbody/h:tr",
                 (int)json_array_size(json_object_get(document, "slowdown")));
    assert_count(xml, "//h:section[@id = 'exits']//h:tbody/h:tr", 2);
    assert_count(xml, "//h:section[@id = 'failure' or @id = 'diagnosis']", 0);
    assert_count(xml, "//h:section[@id = 'repeat']//h:dd[. = '9f2c4e']", 2);
    assert_count(xml, "//h:section[@id = 'logs']/h:details", 3);
    xmlFreeDoc(xml);
}

static void test_exit_reasons(void **state)
{
    cleanup_json json_t *document = fixture("passed");
    json_t *l2 =
        json_object_get(json_array_get(json_object_get(document, "layers"), 2), "benchmarks");
    xmlDocPtr xml = parse(document);

    (void)state;
    assert_count(xml, "//h:section[@id = 'exit-reasons']", 0);
    xmlFreeDoc(xml);
    json_object_set_new(json_array_get(l2, 0), "exit_reasons",
                        json_pack("{s:i, s:n, s:[{s:s, s:b, s:[{s:s, s:i}]}]}", "operations", 10,
                                  "skipped", "counts", "layer", "L1", "inside", 1, "reasons",
                                  "reason", "<b>cpuid", "times", 15));
    xml = parse(document);
    assert_dead(xml);
    assert_accessible(xml);
    assert_count(xml,
                 "//h:section[@id = 'exit-reasons']//h:tbody/h:tr[h:td[2] = '10' and h:td[3] = "
                 "'L2>L0' and h:td[4] = '1.50' and h:td[5] = '<b>cpuid 1.50']",
                 1);
    xmlFreeDoc(xml);
    for (int i = 0; i < 250; i++) {
        json_t *another = json_deep_copy(json_array_get(l2, 0));

        json_object_set_new(another, "name", json_sprintf("benchmark-%d", i));
        json_array_append_new(l2, another);
    }
    xml = parse(document);
    assert_count(xml, "//h:section[@id = 'exit-reasons']//h:tbody/h:tr", 200);
    assert_count(xml,
                 "//h:section[@id = 'exit-reasons']/h:p[. = '51 more are in the text report.']", 1);
    xmlFreeDoc(xml);
}

static void test_failed(void **state)
{
    cleanup_json json_t *document = fixture("nested-off");
    xmlDocPtr xml = parse(document);

    (void)state;
    assert_count(xml, "//h:header[contains(@class, 'failed')]", 1);
    assert_count(xml, "//h:section[@id = 'checks']//h:td[@class = 'fail']", 6);
    assert_count(xml, "//h:section[@id = 'checks']/h:div[@class = 'card bad']", 6);
    xmlFreeDoc(xml);
}

/* Words of the trade are explained where they stand, and findings are counted by severity. */
static void test_words(void **state)
{
    cleanup_json json_t *document = fixture("report");
    cleanup_free char *page = NULL;

    (void)state;
    json_object_set_new(document, "findings",
                        json_pack("[{s:s}, {s:s}, {s:s}, {s:s}]", "severity", "error", "severity",
                                  "warning", "severity", "warning", "severity", "ok"));
    page = nl_report_html_text(document);
    assert_non_null(page);
    assert_non_null(strstr(page, "<p>1 error, 2 warnings, 0 harmless, 1 good</p>"));
    assert_non_null(strstr(page, "Ready after: from the start"));
    assert_non_null(strstr(page, "that exit is multiplied by six"));
}

static void test_panic(void **state)
{
    cleanup_json json_t *document = fixture("panic");
    xmlDocPtr xml = parse(document);

    (void)state;
    assert_count(xml, "//h:section[@id = 'failure']/h:pre[contains(., 'Attempted to kill init!')]",
                 1);
    xmlFreeDoc(xml);
}

/* The bars of the time line begin and end where the document says. */
static void test_time_line(void **state)
{
    cleanup_json json_t *document =
        json_pack("{s:{s:s}, s:[{s:s}], s:[{s:s,s:s,s:f,s:f}]}", "run", "id", "x", "layers", "name",
                  "L0", "phases", "layer", "L0", "name", "boot", "start_s", 2.0, "seconds", 4.0);
    xmlDocPtr xml = parse(document);

    (void)state;
    /* The axis ends at 6 s, and is from 84 to 1020 or from 84 to 320 pixels: 2 s and 6 s. */
    assert_count(xml, "//s:svg[@class = 'wide']/s:g[s:title = 'boot: 4.0 s, from 2.0 s on']", 1);
    assert_near(xml, "//s:svg[@class = 'wide']//s:polygon", 396);
    assert_near(xml, "//s:svg[@class = 'wide']//s:polygon", 1020);
    assert_near(xml, "//s:svg[@class = 'narrow']//s:polygon", 162.7);
    assert_count(xml, "//s:svg[@class = 'narrow']/s:text[. = 'L0  4.0 s']", 1);
    xmlFreeDoc(xml);
}

/* On an axis from 1 to 1000 between 118 and 326 pixels, 10 is at 187; an unstable dot is hollow. */
static void test_ratios(void **state)
{
    cleanup_json json_t *document = json_pack(
        "{s:{s:s}, s:[{s:s},{s:s}], s:[{s:s,s:s,s:[{s:s,s:{s:f,s:f,s:f,s:b}}]}]}", "run", "id", "x",
        "layers", "name", "L0", "name", "L1", "slowdown", "benchmark", "cpuid", "unit", "ns",
        "layers", "layer", "L1", "to_l0", "ratio", 10.0, "low", 1.0, "high", 1000.0, "unstable", 1);
    xmlDocPtr xml = parse(document);

    (void)state;
    assert_near(xml, "//s:path[@class = 'colour-4']", 118);
    assert_near(xml, "//s:path[@class = 'colour-4']", 326);
    assert_count(xml, "//s:circle[@class = 'colour-4 hollow' and @fill = 'none']", 1);
    assert_int_equal(number(xml, "//s:circle/@cx"), 187);
    assert_count(xml, "//s:text[. = 'cpuid']", 1);
    assert_count(xml, "//s:text[. = '1\u00d7']", 1);
    assert_count(xml, "//s:text[. = '1000\u00d7']", 1);
    xmlFreeDoc(xml);
}

static json_t *rate(double ppm, double uncertainty)
{
    return json_pack("{s:f, s:f}", "ppm", ppm, "uncertainty_ppm", uncertainty);
}

/* The same figures in text and page, and what each column is. */
static void test_clocks(void **state)
{
    cleanup_json json_t *document = fixture("passed");
    json_t *layers = json_object_get(document, "layers");
    xmlDocPtr xml = parse(document);

    (void)state;
    assert_count(xml, "//h:section[@id = 'clocks']", 0);
    xmlFreeDoc(xml);
    json_object_set_new(json_array_get(layers, 0), "clocks",
                        json_pack("{s:s, s:f, s:o, s:n}", "source", "tsc", "seconds", 12.6,
                                  "tsc_to_clock", rate(0.04, 0.002), "to_below"));
    json_object_set_new(json_array_get(layers, 1), "clocks",
                        json_pack("{s:s, s:f, s:n, s:{s:o, s:o}}", "source", "kvm-clock", "seconds",
                                  12.5, "tsc_to_clock", "to_below", "clock", rate(-183, 2241),
                                  "clock_by_tsc", rate(-25.27, 0.16)));
    xml = parse(document);
    assert_dead(xml);
    assert_accessible(xml);
    assert_count(xml, CLOCKS "//h:tbody/h:tr | " CLOCKS "//h:table/h:tr[h:td]", 2);
    assert_count(xml, CLOCKS "//h:tr[h:th = 'L0' and h:td[1] = 'tsc' and h:td[2] = '12.6']", 1);
    assert_count(xml, CLOCKS "//h:tr[h:th = 'L0']/h:td[3][. = '']", 1);
    assert_count(xml, CLOCKS "//h:tr[h:th = 'L0']/h:td[5][. = '+0.04 \u00b10.01']", 1);
    assert_count(xml, CLOCKS "//h:tr[h:th = 'L1']/h:td[3][. = '-183 \u00b12241']", 1);
    assert_count(xml, CLOCKS "//h:tr[h:th = 'L1']/h:td[4][. = '-25.27 \u00b10.16']", 1);
    assert_count(xml, CLOCKS "//h:th[. = 'By TSC']", 1);
    assert_count(xml, CLOCKS "//h:li[starts-with(., 'TSC to clock: ')]", 1);
    xmlFreeDoc(xml);
}

/* A document of nothing has a page with no empty sections. */
static void test_absent_data(void **state)
{
    cleanup_json json_t *document = json_pack("{s:{s:s}}", "run", "id", "x");
    xmlDocPtr xml = parse(document);

    (void)state;
    assert_dead(xml);
    assert_accessible(xml);
    assert_count(xml, "//h:main/h:section", 1);
    assert_count(xml, "//h:main/h:section[@id = 'repeat']", 1);
    assert_count(xml, "//h:h1/h:strong[. = 'NOT JUDGED']", 1);
    xmlFreeDoc(xml);
}

/* Without gnuplot there are tables, and words about the pictures. */
static void test_no_gnuplot(void **state)
{
    cleanup_json json_t *document = fixture("report");
    const char *old = getenv("PATH");
    cleanup_free char *path = strdup(old ? old : "");
    xmlDocPtr xml, with = parse(document);

    (void)state;
    setenv("PATH", "/nonexistent", 1);
    xml = parse(document);
    setenv("PATH", path, 1);
    assert_accessible(xml);
    assert_count(xml, "//h:p[starts-with(., 'No picture: gnuplot')]", 5);
    assert_count(xml, "//s:polygon | //s:circle | //s:path", 0);
    assert_true(number(with, "count(//s:polygon)") > 10);
    assert_int_equal(number(xml, "count(//h:table)"), number(with, "count(//h:table)"));
    xmlFreeDoc(xml);
    xmlFreeDoc(with);
}

static json_t *metered(const char *name, int total, int by_l0, int by_l1, int by_l2)
{
    return json_pack("{s:s, s:i, s:i, s:s, s:i, s:[i,i,i], s:[i,i,i], s:[{s:i,s:i,s:i}]}", "name",
                     name, "operations", 100, "undisturbed", 75, "estimate", "mode", "total", total,
                     "instructions", by_l0, by_l1, by_l2, "vmruns", 8, 1, 0, "exits", "of", 2,
                     "reached", 1, "times", 3);
}

static void test_meter(void **state)
{
    cleanup_json json_t *document = fixture("passed");
    json_t *layers = json_object_get(document, "layers");
    xmlDocPtr xml;

    (void)state;
    json_object_set_new(json_array_get(layers, 0), "metered",
                        json_pack("[o]", metered("cpuid", 19, 19, 0, 0)));
    json_object_del(json_array_get(layers, 1), "metered");
    json_object_set_new(json_array_get(layers, 2), "metered",
                        json_pack("[o]", metered("cpuid", 4000, 3000, 1000, 0)));
    xml = parse(document);
    assert_dead(xml);
    assert_accessible(xml);
    assert_count(xml, "//h:section[@id = 'meter']/h:section", 2);
    /* Of the bar from 142 to 288 pixels three quarters are L0's. */
    assert_count(xml, METER "//s:polygon", 2);
    assert_near(xml, METER "//s:polygon[@class = 'colour-3']", 142);
    assert_near(xml, METER "//s:polygon[@class = 'colour-3']", 251.5);
    assert_near(xml, METER "//s:polygon[@class = 'colour-4']", 251.5);
    assert_near(xml, METER "//s:polygon[@class = 'colour-4']", 288);
    assert_count(xml, METER "//s:text[. = 'cpuid L2']", 1);
    assert_count(xml, METER "//s:text[. = '4.0 k']", 1);
    /* L0 entered guests 8 times: on an axis from 0.8 to 10 between 118 and 326 pixels. */
    assert_count(xml, METER "//s:circle", 1);
    assert_int_equal(number(xml, METER "//s:circle[@class = 'colour-5']/@cx"), 307);
    /* L2->L1 is the third of L1->L0, L2->L0, L2->L1, after name, layer and two VMRUNs. */
    assert_count(xml, "//h:section[@id = 'meter']/h:section[2]//h:tr[h:td[6] = '3']", 2);
    xmlFreeDoc(xml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_fixture), cmocka_unit_test(test_passed),
        cmocka_unit_test(test_exit_reasons),  cmocka_unit_test(test_failed),
        cmocka_unit_test(test_panic),         cmocka_unit_test(test_time_line),
        cmocka_unit_test(test_absent_data),   cmocka_unit_test(test_meter),
        cmocka_unit_test(test_ratios),        cmocka_unit_test(test_no_gnuplot),
        cmocka_unit_test(test_words),         cmocka_unit_test(test_clocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
