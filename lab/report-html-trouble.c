/*
 * report-html-trouble.c - what went wrong, in the report's page: diagnosis, failure, findings.
 */
#include "cleanup.h"
#include "diagnosis.h"
#include "dig.h"
#include "report-html.h"
#include "report-words.h"

#include <string.h>

#define LINES_LIMIT 20000
#define FINDINGS_MAX 200

bool nl_page_has_diagnosis(const json_t *document)
{
    return nl_dig(document, "diagnosis") || nl_diagnosis_expected(document);
}

/* What is seen of the diagnosis besides the failure, which comes next. */
static void write_evidence(struct nl_html *html, const json_t *document)
{
    size_t i, n = 0;
    json_t *evidence;

    json_array_foreach(nl_dig(document, "diagnosis.evidence"), i, evidence)
    {
        const char *seen = json_string_value(evidence);

        if (nl_diagnosis_is_of_failure(document, seen))
            continue;
        if (n++ == 0)
            nl_html_leaf(html, "dt", NULL, "Seen");
        nl_html_leaf(html, "dd", NULL, seen);
    }
}

void nl_page_diagnosis(const struct nl_page *page)
{
    const json_t *diagnosis = nl_dig(page->document, "diagnosis");
    const json_t *expected = nl_diagnosis_expected(page->document);
    const char *summary = nl_dig_string(diagnosis, "summary", "");
    cleanup_free char *title = nl_diagnosis_title(diagnosis);
    cleanup_free char *advice =
        nl_diagnosis_advice(page->document, nl_dig_string(diagnosis, "remedy", NULL));
    bool met = expected && nl_diagnosis_is_expected(page->document);
    struct nl_html *html = page->html;

    nl_html_open(html, "div", met ? "card" : "card bad");
    nl_html_leaf(html, "h3", NULL, title);
    if (*summary && !strstr(nl_dig_string(page->document, "verdict.summary", ""), summary))
        nl_html_leaf(html, "p", NULL, summary);
    nl_html_open(html, "dl", NULL);
    nl_html_term(html, "Means", nl_dig_string(diagnosis, "explanation", NULL));
    nl_html_term(html, "Do", advice);
    write_evidence(html, page->document);
    if (expected) {
        cleanup_free char *wanted = nl_diagnosis_title(expected);

        nl_html_term(html, met ? "As expected" : "Expected", wanted);
    }
    nl_html_close(html);
    nl_html_close(html);
}

void nl_page_failure(const struct nl_page *page)
{
    const json_t *failure = nl_dig(page->document, "failure");
    const json_t *tail = nl_dig(failure, "console_tail");
    const char *hint = nl_dig_string(failure, "hint", NULL);
    struct nl_html *html = page->html;
    cleanup_free char *text = NULL;
    size_t size;
    FILE *lines = open_memstream(&text, &size);
    size_t i;
    json_t *line;

    nl_html_open(html, "p", NULL);
    nl_html_leaf(html, "b", NULL, nl_dig_string(failure, "layer", "the run"));
    nl_html_format(html, ", phase %s, %s: %s", nl_dig_string(failure, "phase", "unknown"),
                   nl_dig_string(failure, "kind", "error"),
                   nl_dig_string(failure, "message", "no message"));
    nl_html_close(html);
    if (hint && !nl_dig_is(page->document, "diagnosis.remedy", hint)) {
        nl_html_open(html, "dl", NULL);
        nl_html_term(html, "Do", hint);
        nl_html_close(html);
    }
    if (!lines)
        return;
    json_array_foreach(tail, i, line)
        fprintf(lines, "%s\n", json_is_string(line) ? json_string_value(line) : "");
    fclose(lines);
    if (*text) {
        nl_html_leaf(html, "p", "note", "The last lines of its console:");
        nl_html_pre(html, text, LINES_LIMIT);
    }
    nl_page_evidence(page);
}

static bool is_bad(const json_t *finding)
{
    return nl_dig_is(finding, "severity", "error") || nl_dig_is(finding, "severity", "warning");
}

/* One of the words that the style sheet knows. */
static const char *severity_class(const json_t *finding)
{
    static const char *const known[] = {"error", "warning", "harmless", "ok"};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (nl_dig_is(finding, "severity", known[i]))
            return known[i];
    return NULL;
}

static void write_finding(struct nl_html *html, const json_t *finding)
{
    const json_t *place = json_array_get(nl_dig(finding, "places"), 0);
    const char *values = nl_dig_string(finding, "values", "");
    cleanup_free char *layer = nl_finding_layer(finding);
    cleanup_free char *meaning = NULL;

    nl_html_open(html, "div", nl_dig_is(finding, "severity", "error") ? "card bad" : "card warn");
    nl_html_open(html, "h3", NULL);
    nl_html_leaf(html, "span", severity_class(finding), nl_dig_string(finding, "severity", "?"));
    nl_html_format(html, " %s: %s", layer ? layer : "", nl_dig_string(finding, "rule", "?"));
    nl_html_close(html);
    nl_html_pre(html, nl_dig_string(finding, "line", ""), LINES_LIMIT);
    nl_html_open(html, "p", "note");
    nl_html_format(html, "%s:%" JSON_INTEGER_FORMAT, nl_dig_string(place, "file", "?"),
                   nl_dig_integer(place, "line", 0));
    if (nl_dig_integer(place, "count", 1) > 1)
        nl_html_format(html, ", %" JSON_INTEGER_FORMAT " times", nl_dig_integer(place, "count", 1));
    if (json_array_size(nl_dig(finding, "places")) > 1)
        nl_html_format(html, ", and in %zu more files",
                       json_array_size(nl_dig(finding, "places")) - 1);
    nl_html_close(html);
    nl_html_open(html, "dl", NULL);
    if (asprintf(&meaning, "%s%s%s", nl_dig_string(finding, "meaning", ""), *values ? " " : "",
                 values) >= 0)
        nl_html_term(html, "Means", meaning);
    nl_html_term(html, "Do", nl_dig_string(finding, "remedy", NULL));
    nl_html_term(html, "Note", nl_dig_string(finding, "note", NULL));
    nl_html_term(html, "Source", nl_dig_string(finding, "source", NULL));
    nl_html_close(html);
    nl_html_close(html);
}

static void write_short(struct nl_html *html, const json_t *finding)
{
    cleanup_free char *layer = nl_finding_layer(finding);

    nl_html_open(html, "li", NULL);
    nl_html_leaf(html, "span", severity_class(finding), nl_dig_string(finding, "severity", "?"));
    nl_html_format(html, " %s: %s: ", layer ? layer : "", nl_dig_string(finding, "rule", "?"));
    nl_html_leaf(html, "code", NULL, nl_dig_string(finding, "line", ""));
    nl_html_format(html, " %s", nl_dig_string(finding, "meaning", ""));
    nl_html_close(html);
}

void nl_page_findings(const struct nl_page *page)
{
    const json_t *findings = nl_dig(page->document, "findings");
    cleanup_free char *sum = nl_findings_sum(findings);
    struct nl_html *html = page->html;
    size_t bad = 0;
    char text[64];
    size_t i;
    json_t *finding;

    nl_html_leaf(html, "p", NULL, sum);
    json_array_foreach(findings, i, finding)
    {
        if (is_bad(finding) && bad++ < FINDINGS_MAX)
            write_finding(html, finding);
    }
    if (bad > FINDINGS_MAX)
        nl_html_leaf(html, "p", "note", "There are more in the document.");
    if (bad == i)
        return;
    snprintf(text, sizeof(text), "%zu that are harmless or good", i - bad);
    nl_html_details(html, text);
    nl_html_open(html, "ul", NULL);
    json_array_foreach(findings, i, finding)
    {
        if (!is_bad(finding) && i < FINDINGS_MAX)
            write_short(html, finding);
    }
    nl_html_close(html);
    nl_html_close(html);
}
