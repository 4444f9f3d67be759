/*
 * test-html.c - pages: no text becomes markup, the policy fits the style sheet, and colours can be
 * read in light and in dark.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "assert-text.h"
#include "cleanup.h"
#include "html.h"

#include <libxml/parser.h>
#include <math.h>
#include <openssl/evp.h>
#include <string.h>

static void assert_xml(const char *text)
{
    xmlDocPtr xml = xmlReadMemory(text, (int)strlen(text), "page", NULL, XML_PARSE_NONET);

    if (!xml)
        fail_msg("no XML: %s", text);
    xmlFreeDoc(xml);
}

static void test_text_stays_text(void **state)
{
    static const char hostile[] = "</p><script>alert(1)</script>&amp;\"'\x1b[2J\u202ex";
    struct nl_html *html = nl_html_new(hostile);
    cleanup_free char *page = NULL;

    (void)state;
    nl_html_section(html, 2, "a", hostile, hostile);
    nl_html_open(html, "p", hostile);
    nl_html_attribute(html, "title", "%s", hostile);
    nl_html_close(html);
    nl_html_pre(html, hostile, 1000);
    nl_html_details(html, hostile);
    nl_html_term(html, hostile, hostile);
    nl_html_picture(html, "x", 10, 10, hostile, hostile);
    page = nl_html_finish(html);
    assert_non_null(page);
    assert_xml(page);
    assert_null(strstr(page, "<script"));
    assert_null(strchr(page, '\x1b'));
    assert_null(strstr(page, "\u202e"));
    assert_has(page, "&lt;script&gt;");
    assert_has(page, "\\x1b[2J\\u202ex");
}

/* What a browser takes for a start without an end is never written. */
static void test_empty_elements(void **state)
{
    static const char *const headings[] = {"A", "", NULL};
    struct nl_html *html = nl_html_new("t");
    cleanup_free char *page = NULL;

    (void)state;
    nl_html_table(html, "c", headings);
    nl_html_open(html, "tr", NULL);
    nl_html_cell(html, NULL, "%s", "");
    nl_html_leaf(html, "span", NULL, NULL);
    page = nl_html_finish(html);
    assert_xml(page);
    assert_has(page, "<td></td><span></span></tr>");
    assert_has(page, "<th scope=\"col\">A</th><td></td></tr>");
}

static void test_pre_keeps_its_end(void **state)
{
    struct nl_html *html = nl_html_new("t");
    cleanup_free char *page = NULL;

    (void)state;
    nl_html_pre(html, "one\ntwo\n\nthree", 10);
    page = nl_html_finish(html);
    assert_has(page, "[4 bytes left out]\ntwo\n\nthree</pre>");
}

static void test_no_memory(void **state)
{
    (void)state;
    nl_html_open(NULL, "p", "c");
    nl_html_pre(NULL, "x\ny", 10);
    nl_html_cell(NULL, NULL, "%d", 1);
    nl_html_table_end(NULL);
    assert_null(nl_html_finish(NULL));
}

/* Without the right hash a browser shows no style at all. */
static void test_policy(void **state)
{
    cleanup_free char *page = nl_html_finish(nl_html_new("t"));
    const char *from = strstr(page, "<style>") + strlen("<style>");
    const char *to = strstr(page, "</style>");
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned char base64[2 * EVP_MAX_MD_SIZE];
    unsigned length;

    (void)state;
    assert_int_equal(EVP_Digest(from, (size_t)(to - from), digest, &length, EVP_sha256(), NULL), 1);
    EVP_EncodeBlock(base64, digest, (int)length);
    assert_has(page, (char *)base64);
    assert_has(page, "default-src 'none'");
    assert_true(strstr(page, "Content-Security-Policy") < strstr(page, "<style>"));
    assert_null(strpbrk(nl_html_style, "<&"));
    assert_null(strstr(nl_html_style, "url("));
    assert_null(strstr(nl_html_style, "@import"));
}

/* The value of --NAME in the block that starts at BLOCK, as "#RRGGBB". */
static const char *variable(const char *block, const char *name)
{
    static char value[8];
    char wanted[32];
    const char *found;

    snprintf(wanted, sizeof(wanted), "--%s: ", name);
    found = strstr(block, wanted);
    if (!found || found > strchr(block, '}'))
        fail_msg("there is no --%s", name);
    snprintf(value, sizeof(value), "%.7s", found + strlen(wanted));
    return value;
}

/* Relative luminance and contrast as in WCAG 2.1. */
static double luminance(const char *colour)
{
    static const double weights[] = {0.2126, 0.7152, 0.0722};
    double sum = 0;

    for (int i = 0; i < 3; i++) {
        char digits[3] = {colour[1 + 2 * i], colour[2 + 2 * i]};
        double part = (double)strtol(digits, NULL, 16) / 255;

        sum += weights[i] * (part <= 0.03928 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4));
    }
    return sum;
}

static void assert_contrast(const char *block, const char *front, const char *back, double least)
{
    double a = luminance(variable(block, front));
    double b = luminance(variable(block, back));
    double contrast = (fmax(a, b) + 0.05) / (fmin(a, b) + 0.05);

    if (contrast < least)
        fail_msg("--%s on --%s: contrast %.2f, wanted %.1f", front, back, contrast, least);
}

static void test_contrast(void **state)
{
    static const char *const texts[] = {"text", "quiet", "link", "good", "bad", "warn"};
    static const char *const grounds[] = {"page", "panel"};
    const char *light = strstr(nl_html_style, ":root {");
    const char *dark = strstr(strstr(nl_html_style, "prefers-color-scheme: dark"), ":root {");
    const char *blocks[] = {light, dark};

    (void)state;
    assert_true(dark > light);
    for (size_t b = 0; b < 2; b++) {
        for (size_t g = 0; g < 2; g++) {
            for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
                assert_contrast(blocks[b], texts[i], grounds[g], 4.5);
            for (int i = 0; i < NL_COLOUR_N_SERIES; i++) {
                char name[16];

                snprintf(name, sizeof(name), "series-%d", i);
                assert_contrast(blocks[b], name, grounds[g], 4.5);
            }
        }
    }
}

/* Colours are nowhere but in the variables, or a theme would miss them. */
static void test_colours_are_variables(void **state)
{
    const char *dark = strstr(nl_html_style, "prefers-color-scheme: dark");
    const char *rules = strchr(strchr(dark, '}'), '\n');

    (void)state;
    for (const char *c = strchr(rules, '#'); c; c = strchr(c + 1, '#'))
        fail_msg("a colour of its own: %.40s", c - 20);
    assert_string_equal(nl_html_colour(NL_COLOUR_TEXT), variable(nl_html_style, "text"));
    assert_string_equal(nl_html_colour(NL_COLOUR_RULE), variable(nl_html_style, "rule"));
    assert_string_equal(nl_html_colour(NL_COLOUR_QUIET), variable(nl_html_style, "quiet"));
    for (unsigned i = 0; i < NL_COLOUR_N_SERIES; i++) {
        char name[16], rule[64];

        snprintf(name, sizeof(name), "series-%u", i);
        assert_string_equal(nl_html_colour(nl_colour_series(i)), variable(nl_html_style, name));
        snprintf(rule, sizeof(rule), ".colour-%u { color: var(--series-%u)", nl_colour_series(i),
                 i);
        assert_has(nl_html_style, rule);
    }
    assert_int_equal(nl_colour_series(NL_COLOUR_N_SERIES), nl_colour_series(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_stays_text),
        cmocka_unit_test(test_empty_elements),
        cmocka_unit_test(test_pre_keeps_its_end),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_policy),
        cmocka_unit_test(test_contrast),
        cmocka_unit_test(test_colours_are_variables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
