/*
 * report-checks.c - the checks in the text report: what failed first and at length, what could not
 * be evaluated by its reason, what passed in a line per layer.
 */
#include "cleanup.h"
#include "dig.h"
#include "printable.h"
#include "report-text.h"
#include "report-words.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Of a failed command's output. */
#define OUTPUT_LINES 6

static void labelled(const struct nl_text *to, const char *label, const char *text)
{
    if (!text || !*text)
        return;
    fprintf(to->out, "       %s%s%s ", to->dim, label, to->plain);
    nl_text_wrap(to, text, 8 + (int)strlen(label), 8 + (int)strlen(label));
}

/* The last lines of what a failed command said, on standard error if it said anything there. */
static void print_output(const struct nl_text *to, const json_t *command)
{
    const char *text = nl_dig_string(command, "stderr", "");
    const char *from;
    int lines = 0;

    if (!*text)
        text = nl_dig_string(command, "stdout", "");
    for (from = text + strlen(text); from > text; from--)
        if (from[-1] == '\n' && from[0] && ++lines == OUTPUT_LINES)
            break;
    while (*from) {
        size_t length = strcspn(from, "\n");
        cleanup_free char *line = strndup(from, length);
        cleanup_free char *printable = nl_printable(line, NL_REPORT_WIDTH - 9);

        fprintf(to->out, "       %s|%s %s\n", to->dim, to->plain, printable ? printable : "");
        from += length + (from[length] == '\n');
    }
}

static void print_failed(const struct nl_text *to, const json_t *document, const json_t *check)
{
    cleanup_free char *name = nl_printable(nl_dig_string(check, "name", "unnamed"), 60);

    fprintf(to->out, "  %sFAIL%s %s%s%s", to->red, to->plain, to->bold, name ? name : "",
            to->plain);
    if (nl_dig(check, "message")) {
        fputs(": ", to->out);
        nl_text_wrap(to, nl_dig_string(check, "message", ""), 9 + (int)nl_columns(name ? name : ""),
                     7);
    } else {
        fputc('\n', to->out);
    }
    print_output(to, nl_check_command(document, check));
    if (nl_check_is_of_failure(document, check))
        return;
    labelled(to, "proves:", nl_dig_string(check, "explanation", NULL));
    labelled(to, "do:", nl_dig_string(check, "hint", NULL));
}

/* Names of all checks from FROM on with that verdict and message, joined by commas. */
static char *names_with(const json_t *checks, size_t from, const char *verdict, const char *message)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const char *between = "";

    for (size_t i = from; out && i < json_array_size(checks); i++) {
        const json_t *check = json_array_get(checks, i);

        if (!nl_dig_is(check, "verdict", verdict) || !nl_dig_is(check, "message", message))
            continue;
        fprintf(out, "%s%s", between, nl_dig_string(check, "name", "unnamed"));
        between = ", ";
    }
    if (out)
        fclose(out);
    return text;
}

static bool is_first_with(const json_t *checks, size_t i, const char *verdict, const char *message)
{
    for (size_t k = 0; k < i; k++) {
        const json_t *earlier = json_array_get(checks, k);

        if (nl_dig_is(earlier, "verdict", verdict) && nl_dig_is(earlier, "message", message))
            return false;
    }
    return true;
}

/* Checks that share a verdict and a reason, together: twelve checks of a layer that was not reached
   are one thing to know. */
static void print_grouped(const struct nl_text *to, const json_t *checks, const char *verdict,
                          const char *word, const char *colour)
{
    size_t i;
    json_t *check;

    json_array_foreach(checks, i, check)
    {
        const char *message = nl_dig_string(check, "message", "");
        cleanup_free char *names = NULL;
        cleanup_free char *text = NULL;

        if (!nl_dig_is(check, "verdict", verdict) || !is_first_with(checks, i, verdict, message))
            continue;
        names = names_with(checks, i, verdict, message);
        if (asprintf(&text, "%s: %s", names, *message ? message : "no reason given") < 0)
            continue;
        fprintf(to->out, "  %s%s%s ", colour, word, to->plain);
        nl_text_wrap(to, text, 3 + (int)strlen(word), 7);
    }
}

/* "l0-booted" in the line of L0 is "booted". */
static const char *short_name(const char *name, const char *layer)
{
    size_t length = strlen(layer);

    if (length > 1 && strncasecmp(name, layer, length) == 0 && name[length] == '-')
        return name + length + 1;
    return name;
}

static void print_passed(const struct nl_text *to, const json_t *checks, const char *layer)
{
    cleanup_free char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const char *between = "";
    size_t i;
    json_t *check;

    if (!out)
        return;
    json_array_foreach(checks, i, check)
    {
        if (!nl_dig_is(check, "verdict", "pass") ||
            strcmp(nl_dig_string(check, "layer", ""), layer) != 0)
            continue;
        fprintf(out, "%s%s", between, short_name(nl_dig_string(check, "name", "unnamed"), layer));
        between = ", ";
    }
    fclose(out);
    if (!*text)
        return;
    fprintf(to->out, "  %spass%s ", to->green, to->plain);
    if (*layer) {
        cleanup_free char *name = nl_printable(layer, 10);

        fprintf(to->out, "%s: ", name ? name : "");
    }
    nl_text_wrap(to, text, 11, 11);
}

static bool layer_came_before(const json_t *checks, size_t i, const char *layer)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(nl_dig_string(json_array_get(checks, k), "layer", ""), layer) == 0)
            return true;
    return false;
}

void nl_text_checks(const struct nl_text *to, const json_t *document)
{
    const json_t *checks = json_object_get(document, "checks");
    char note[128];
    size_t i;
    json_t *check;

    if (json_array_size(checks) == 0)
        return;
    snprintf(note, sizeof(note), "%zu passed, %zu failed, %zu not evaluated, %zu skipped",
             nl_checks_count(checks, "pass"), nl_checks_count(checks, "fail"),
             nl_checks_count(checks, "error"), nl_checks_count(checks, "skip"));
    nl_text_section(to, "Checks", note);
    json_array_foreach(checks, i, check)
    {
        if (nl_dig_is(check, "verdict", "fail"))
            print_failed(to, document, check);
    }
    print_grouped(to, checks, "error", "ERR ", to->yellow);
    print_grouped(to, checks, "skip", "skip", to->dim);
    json_array_foreach(checks, i, check)
    {
        const char *layer = nl_dig_string(check, "layer", "");

        if (!layer_came_before(checks, i, layer))
            print_passed(to, checks, layer);
    }
}
