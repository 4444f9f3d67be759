/*
 * doctor-print.c - the doctor's table on a terminal.
 */
#include "dig.h"
#include "doctor.h"
#include "printable.h"

#include <string.h>

#define WIDTH 100
#define NAME_COLUMNS 13
#define INDENT (2 + 7 + 2 + NAME_COLUMNS + 2)

static const struct {
    const char *word;
    const char *colour;
} verdicts[] = {
    {"ok", "\033[32m"},
    {"warn", "\033[33m"},
    {"missing", "\033[31m"},
    {"unknown", "\033[36m"},
};

static const char *colour_of(const char *verdict)
{
    for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
        if (!strcmp(verdict, verdicts[i].word))
            return verdicts[i].colour;
    return "";
}

/* TEXT, which begins at column INDENT, in lines of WIDTH at most where words allow. */
static void print_wrapped(FILE *out, const char *text, size_t indent)
{
    cleanup_free char *copy = nl_printable(text, 0);
    size_t column = indent;
    char *rest = NULL;
    bool first = true;

    for (char *word = copy ? strtok_r(copy, " ", &rest) : NULL; word;
         word = strtok_r(NULL, " ", &rest)) {
        size_t width = nl_columns(word);

        if (!first && column + 1 + width > WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
            first = true;
        }
        fprintf(out, "%s%s", first ? "" : " ", word);
        column += width + !first;
        first = false;
    }
    fputc('\n', out);
}

static void print_row(const json_t *row, FILE *out, bool colour)
{
    const char *verdict = nl_dig_string(row, "verdict", "unknown");
    const char *fix = nl_dig_string(row, "fix", NULL);
    cleanup_free char *found = NULL;

    fprintf(out, "  %s%-7s%s  %-*s  ", colour ? colour_of(verdict) : "", verdict,
            colour ? "\033[0m" : "", NAME_COLUMNS, nl_dig_string(row, "name", "?"));
    if (asprintf(&found, "%s [%s]", nl_dig_string(row, "found", ""),
                 nl_dig_string(row, "looked_at", "")) < 0)
        return;
    print_wrapped(out, found, INDENT);
    if (!fix)
        return;
    fprintf(out, "%*s%sfix:%s ", INDENT, "", colour ? "\033[1m" : "", colour ? "\033[0m" : "");
    print_wrapped(out, fix, INDENT + 5);
}

static void print_path(const json_t *judged, const char *name, FILE *out)
{
    const json_t *path = nl_dig(nl_dig(judged, "paths"), name);
    const json_t *possible = json_object_get(path, "possible");

    fprintf(out, "  %-8s  %-7s  ", name,
            json_is_true(possible)    ? "yes"
            : json_is_false(possible) ? "no"
                                      : "unknown");
    print_wrapped(out, nl_dig_string(path, "why", ""), 21);
}

void nl_doctor_print(const json_t *gathered, const json_t *judged, FILE *out, bool colour)
{
    cleanup_free char *subject = nl_printable(nl_dig_string(gathered, "subject.name", "?"), 0);
    const json_t *rows = nl_dig(judged, "rows");
    json_t *row;
    size_t i;

    fprintf(out, "%sWhat nested virtualization needs, and what %s has%s  [looked at]\n\n",
            colour ? "\033[1m" : "", subject ? subject : "?", colour ? "\033[0m" : "");
    json_array_foreach(rows, i, row)
    {
        print_row(row, out, colour);
    }
    fprintf(out, "\n%sPaths%s  local: KVM of that machine; emulated: an L0 under QEMU's TCG\n",
            colour ? "\033[1m" : "", colour ? "\033[0m" : "");
    print_path(judged, "local", out);
    print_path(judged, "emulated", out);
    fprintf(out, "\n%sNext:%s ", colour ? "\033[1m" : "", colour ? "\033[0m" : "");
    print_wrapped(out, nl_dig_string(judged, "next", ""), 6);
}
