/*
 * report-html-checks.c - the checks in the report's page: what did not pass at length, then all of
 * them, a row for each, a column for each layer.
 */
#include "cleanup.h"
#include "dig.h"
#include "report-html.h"
#include "report-words.h"

#include <string.h>

#define ROWS_MAX 300
#define OUTPUT_LIMIT 4000

static const struct verdict {
    const char *name;
    const char *shown;
} verdicts[] = {
    {"pass", "\u2713 pass"},
    {"fail", "\u2717 FAIL"},
    {"error", "? error"},
    {"skip", "\u2013 skip"},
};

/* What the check is called at whatever layer: "l0-booted" of L0 is "booted". */
static const char *short_name(const json_t *check)
{
    const char *name = nl_dig_string(check, "name", "unnamed");
    const char *layer = nl_dig_string(check, "layer", "");
    size_t length = strlen(layer);

    if (length > 1 && strncasecmp(name, layer, length) == 0 && name[length] == '-')
        return name + length + 1;
    return name;
}

static void write_failed(const struct nl_page *page, const json_t *check)
{
    const json_t *command = nl_check_command(page->document, check);
    const char *output = nl_dig_string(command, "stderr", "");
    struct nl_html *html = page->html;

    if (!*output)
        output = nl_dig_string(command, "stdout", "");
    nl_html_open(html, "div", "card bad");
    nl_html_open(html, "h3", NULL);
    nl_html_leaf(html, "span", "fail", "FAIL");
    nl_html_format(html, " %s", nl_dig_string(check, "name", "unnamed"));
    nl_html_close(html);
    nl_html_leaf(html, "p", NULL, nl_dig_string(check, "message", ""));
    if (*output)
        nl_html_pre(html, output, OUTPUT_LIMIT);
    nl_html_open(html, "dl", NULL);
    nl_html_term(html, "Proves", nl_dig_string(check, "explanation", NULL));
    nl_html_term(html, "Do", nl_dig_string(check, "hint", NULL));
    nl_html_close(html);
    nl_html_close(html);
}

static bool same_reason(const json_t *check, const json_t *other)
{
    return strcmp(nl_dig_string(check, "verdict", ""), nl_dig_string(other, "verdict", "")) == 0 &&
           strcmp(nl_dig_string(check, "message", ""), nl_dig_string(other, "message", "")) == 0;
}

static bool is_first(const json_t *checks, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (same_reason(json_array_get(checks, k), json_array_get(checks, i)))
            return false;
    return true;
}

/* Checks that share a verdict and a reason, together: twelve checks of a layer that was not reached
   are one thing to know. */
static void write_grouped(struct nl_html *html, const json_t *checks, size_t first)
{
    const json_t *check = json_array_get(checks, first);
    const char *between = "";

    nl_html_open(html, "li", NULL);
    nl_html_leaf(html, "span", nl_dig_is(check, "verdict", "error") ? "error" : "skip",
                 nl_dig_string(check, "verdict", ""));
    for (size_t i = first; i < json_array_size(checks); i++) {
        const json_t *other = json_array_get(checks, i);

        if (!same_reason(check, other))
            continue;
        nl_html_format(html, "%s %s", between, nl_dig_string(other, "name", "unnamed"));
        between = ",";
    }
    nl_html_format(html, ": %s", nl_dig_string(check, "message", "no reason given"));
    nl_html_close(html);
}

static void write_not_passed(const struct nl_page *page, const json_t *checks)
{
    size_t n = json_array_size(checks) < ROWS_MAX ? json_array_size(checks) : ROWS_MAX;

    for (size_t i = 0; i < n; i++)
        if (nl_dig_is(json_array_get(checks, i), "verdict", "fail"))
            write_failed(page, json_array_get(checks, i));
    if (nl_checks_count(checks, "error") + nl_checks_count(checks, "skip") == 0)
        return;
    nl_html_open(page->html, "ul", NULL);
    for (size_t i = 0; i < n; i++) {
        const json_t *check = json_array_get(checks, i);

        if ((nl_dig_is(check, "verdict", "error") || nl_dig_is(check, "verdict", "skip")) &&
            is_first(checks, i))
            write_grouped(page->html, checks, i);
    }
    nl_html_close(page->html);
}

/* The check of that short name at LAYER (NULL: of none that the document has). */
static const json_t *find(const json_t *document, const char *name, const char *layer)
{
    size_t i;
    json_t *check;

    json_array_foreach(json_object_get(document, "checks"), i, check)
    {
        const char *of = nl_dig_string(check, "layer", NULL);

        if (strcmp(short_name(check), name) != 0)
            continue;
        if (layer ? of && strcmp(of, layer) == 0 : !nl_dig_layer(document, of))
            return check;
    }
    return NULL;
}

static void write_verdict(struct nl_html *html, const json_t *check)
{
    for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
        if (check && nl_dig_is(check, "verdict", verdicts[i].name)) {
            nl_html_cell(html, verdicts[i].name, "%s", verdicts[i].shown);
            return;
        }
    }
    nl_html_cell(html, NULL, "%s", check ? "?" : "");
}

static size_t short_names(const json_t *checks, const char *names[ROWS_MAX])
{
    size_t n = 0;
    size_t i;
    json_t *check;

    json_array_foreach(checks, i, check)
    {
        const char *name = short_name(check);
        size_t k = 0;

        while (k < n && strcmp(names[k], name) != 0)
            k++;
        if (k == n && n < ROWS_MAX)
            names[n++] = name;
    }
    return n;
}

static bool any_of_the_run(const json_t *document)
{
    size_t i;
    json_t *check;

    json_array_foreach(json_object_get(document, "checks"), i, check)
    {
        if (!nl_dig_layer(document, nl_dig_string(check, "layer", NULL)))
            return true;
    }
    return false;
}

static void write_matrix(const struct nl_page *page, const json_t *checks)
{
    const char *headings[NL_PAGE_LAYERS_MAX + 3] = {"Check"};
    const char *names[ROWS_MAX];
    const json_t *document = page->document;
    size_t n_layers = nl_page_layers(document);
    size_t n = short_names(checks, names);
    bool of_run = any_of_the_run(document);

    for (size_t i = 0; i < n_layers; i++)
        headings[1 + i] = nl_page_layer_name(document, i);
    if (of_run)
        headings[1 + n_layers] = "Run";
    nl_html_table(page->html, "All checks, by layer", headings);
    for (size_t i = 0; i < n; i++) {
        nl_html_open(page->html, "tr", NULL);
        nl_html_row_heading(page->html, names[i]);
        for (size_t k = 0; k < n_layers; k++)
            write_verdict(page->html, find(document, names[i], nl_page_layer_name(document, k)));
        if (of_run)
            write_verdict(page->html, find(document, names[i], NULL));
        nl_html_close(page->html);
    }
    nl_html_table_end(page->html);
}

static void write_explanations(struct nl_html *html, const json_t *checks)
{
    size_t i;
    json_t *check;

    nl_html_details(html, "What each check proves, and what was found");
    nl_html_open(html, "dl", NULL);
    json_array_foreach(checks, i, check)
    {
        cleanup_free char *text = NULL;
        const char *message = nl_dig_string(check, "message", "");

        if (i == ROWS_MAX)
            break;
        if (asprintf(&text, "%s%s%s", nl_dig_string(check, "explanation", ""),
                     *message ? " Found: " : "", message) >= 0)
            nl_html_term(html, nl_dig_string(check, "name", "unnamed"), text);
    }
    nl_html_close(html);
    nl_html_close(html);
}

void nl_page_checks(const struct nl_page *page)
{
    const json_t *checks = json_object_get(page->document, "checks");

    nl_html_open(page->html, "p", NULL);
    nl_html_format(page->html, "%zu passed, %zu failed, %zu not evaluated, %zu skipped",
                   nl_checks_count(checks, "pass"), nl_checks_count(checks, "fail"),
                   nl_checks_count(checks, "error"), nl_checks_count(checks, "skip"));
    nl_html_close(page->html);
    write_not_passed(page, checks);
    write_matrix(page, checks);
    write_explanations(page->html, checks);
}
