/*
 * report-findings.c - findings as a person reads them: what is bad at length, the rest in a line.
 */
#include "cleanup.h"
#include "dig.h"
#include "printable.h"
#include "report-text.h"
#include "report-words.h"

#include <string.h>

#define INDENT 9

static const char *colour_of(const struct nl_text *to, const char *severity)
{
    if (strcmp(severity, "error") == 0)
        return to->red;
    if (strcmp(severity, "warning") == 0)
        return to->yellow;
    return strcmp(severity, "ok") == 0 ? to->green : to->dim;
}

static bool is_bad(const json_t *finding)
{
    return nl_dig_is(finding, "severity", "error") || nl_dig_is(finding, "severity", "warning");
}

static void labelled(const struct nl_text *to, const char *label, const char *text)
{
    int indent = INDENT + 1 + (int)strlen(label);

    if (!*text)
        return;
    fprintf(to->out, "%*s%s%s%s ", INDENT, "", to->dim, label, to->plain);
    nl_text_wrap(to, text, indent, indent);
}

/* "FILE:LINE: " and the line itself, which is not wrapped: it is to be found again. */
static void print_line(const struct nl_text *to, const json_t *finding)
{
    const json_t *place = json_array_get(nl_dig(finding, "places"), 0);
    cleanup_free char *file = nl_printable(nl_dig_string(place, "file", "?"), 0);
    cleanup_free char *line = nl_printable(nl_dig_string(finding, "line", ""), 0);

    fprintf(to->out, "%*s%s:%" JSON_INTEGER_FORMAT ": %s%s%s\n", INDENT, "", file ? file : "?",
            nl_dig_integer(place, "line", 0), to->bold, line ? line : "", to->plain);
}

static void print_place(FILE *out, const json_t *place, bool first)
{
    json_int_t line = nl_dig_integer(place, "line", 0);
    json_int_t last = nl_dig_integer(place, "last", line);
    json_int_t count = nl_dig_integer(place, "count", 1);

    if (first && count < 2)
        return;
    if (first)
        fprintf(out, "%" JSON_INTEGER_FORMAT " times up to line %" JSON_INTEGER_FORMAT, count,
                last);
    else if (count < 2)
        fprintf(out, "%s:%" JSON_INTEGER_FORMAT, nl_dig_string(place, "file", "?"), line);
    else
        fprintf(out,
                "%s:%" JSON_INTEGER_FORMAT " (%" JSON_INTEGER_FORMAT
                " times up to line %" JSON_INTEGER_FORMAT ")",
                nl_dig_string(place, "file", "?"), line, count, last);
}

/* Where else: how often, in which other files. */
static void print_places(const struct nl_text *to, const json_t *finding)
{
    cleanup_free char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    json_int_t more = nl_dig_integer(finding, "more_places", 0);
    size_t i;
    json_t *place;

    if (!out)
        return;
    json_array_foreach(nl_dig(finding, "places"), i, place)
    {
        if (ftell(out) > 0)
            fputs(", ", out);
        print_place(out, place, i == 0);
    }
    if (more > 0)
        fprintf(out, ", and %" JSON_INTEGER_FORMAT " more files", more);
    fclose(out);
    labelled(to, "seen:", text);
}

static void print_layer(FILE *out, const json_t *finding)
{
    cleanup_free char *layer = nl_finding_layer(finding);
    cleanup_free char *shown = layer ? nl_printable(layer, 64) : NULL;

    fputs(shown ? shown : "", out);
}

static void print_finding(const struct nl_text *to, const json_t *finding)
{
    const char *severity = nl_dig_string(finding, "severity", "?");
    const char *values = nl_dig_string(finding, "values", "");
    cleanup_free char *meaning = NULL;
    cleanup_free char *rule = nl_printable(nl_dig_string(finding, "rule", "?"), 64);
    cleanup_free char *shown = nl_printable(severity, 8);

    fprintf(to->out, "\n%s%-8s%s ", colour_of(to, severity), shown ? shown : "", to->plain);
    print_layer(to->out, finding);
    fprintf(to->out, "  %s%s%s\n", to->dim, rule ? rule : "", to->plain);
    print_line(to, finding);
    print_places(to, finding);
    if (asprintf(&meaning, "%s%s%s", nl_dig_string(finding, "meaning", ""), *values ? " " : "",
                 values) < 0)
        meaning = NULL;
    labelled(to, "means:", meaning ? meaning : "");
    labelled(to, "do:", nl_dig_string(finding, "remedy", ""));
    labelled(to, "note:", nl_dig_string(finding, "note", ""));
    labelled(to, "source:", nl_dig_string(finding, "source", ""));
}

static void print_short(const struct nl_text *to, const json_t *finding)
{
    const char *severity = nl_dig_string(finding, "severity", "?");
    const json_t *place = json_array_get(nl_dig(finding, "places"), 0);
    cleanup_free char *text = NULL;
    cleanup_free char *shown = nl_printable(severity, 8);

    fprintf(to->out, "%s%-8s%s ", colour_of(to, severity), shown ? shown : "", to->plain);
    if (asprintf(&text, "%s: %s:%" JSON_INTEGER_FORMAT ": %s (%s: %s)",
                 nl_dig_string(finding, "layer", "an unknown layer"),
                 nl_dig_string(place, "file", "?"), nl_dig_integer(place, "line", 0),
                 nl_dig_string(finding, "line", ""), nl_dig_string(finding, "rule", "?"),
                 nl_dig_string(finding, "meaning", "")) < 0)
        return;
    nl_text_wrap(to, text, INDENT, INDENT);
}

void nl_text_findings(const struct nl_text *to, const json_t *findings)
{
    bool bad = false;
    size_t i;
    json_t *finding;

    json_array_foreach(findings, i, finding)
    {
        if (is_bad(finding))
            print_finding(to, finding);
        bad |= is_bad(finding);
    }
    json_array_foreach(findings, i, finding)
    {
        if (is_bad(finding))
            continue;
        if (bad)
            fputc('\n', to->out);
        bad = false;
        print_short(to, finding);
    }
}

void nl_text_document_findings(const struct nl_text *to, const json_t *document)
{
    const json_t *findings = nl_dig(document, "findings");
    cleanup_free char *sum = nl_findings_sum(findings);
    size_t n_bad = 0, i;
    json_t *finding;

    if (json_array_size(findings) == 0)
        return;
    nl_text_section(to, "Findings", sum);
    json_array_foreach(findings, i, finding)
    {
        if (!is_bad(finding))
            continue;
        print_finding(to, finding);
        n_bad++;
    }
    if (n_bad < json_array_size(findings))
        fprintf(
            to->out,
            "%s  what is harmless or good is in report.html; `nestlab diagnose FOLDER` prints it\n",
            n_bad > 0 ? "\n" : "");
}
