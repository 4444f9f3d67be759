/*
 * report-text.c - the report on a terminal: verdict, stack, times, failure, files. See report.h.
 */
#include "report-text.h"
#include "dig.h"
#include "document.h"
#include "figure.h"
#include "hang-text.h"
#include "printable.h"
#include "report-words.h"
#include "report.h"
#include "table.h"

#include <string.h>

/* More layers or phases than a table takes are left to the document. */
#define LAYERS_MAX 12
#define PHASES_MAX 40
#define CONSOLE_LINES 12

bool nl_report_wants_colour(FILE *out)
{
    const char *no = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    return isatty(fileno(out)) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

struct nl_text nl_text_to(FILE *out, bool colour)
{
    if (!colour)
        return (struct nl_text){out, "", "", "", "", "", ""};
    return (struct nl_text){out,          "\033[1m", "\033[1;31m", "\033[1;32m",
                            "\033[1;33m", "\033[2m", "\033[0m"};
}

void nl_text_wrap(const struct nl_text *to, const char *text, int used, int indent)
{
    cleanup_free char *printable = nl_printable(text, 0);
    char *rest = NULL;
    int column = used;
    bool first = true; /* on its line */

    for (char *word = strtok_r(printable ? printable : (char[]){""}, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        int width = (int)nl_columns(word);

        if (!first && column + 1 + width > NL_REPORT_WIDTH) {
            fprintf(to->out, "\n%*s", indent, "");
            column = indent;
            first = true;
        }
        fprintf(to->out, "%s%s", first ? "" : " ", word);
        column += width + (first ? 0 : 1);
        first = false;
    }
    fputc('\n', to->out);
}

void nl_text_lines(const struct nl_text *to, const json_t *lines)
{
    size_t i;
    json_t *line;

    json_array_foreach(lines, i, line)
    {
        fputs("  ", to->out);
        nl_text_wrap(to, json_is_string(line) ? json_string_value(line) : "", 2, 4);
    }
}

void nl_text_section(const struct nl_text *to, const char *title, const char *note)
{
    cleanup_free char *clean = nl_printable(title, 0);

    fprintf(to->out, "\n%s%s%s%s%s\n", to->bold, clean ? clean : "", to->plain, note ? "  " : "",
            note ? note : "");
}

static void print_verdict(const struct nl_text *to, const json_t *document)
{
    const char *status = nl_dig_string(document, "verdict.status", "");
    const char *colour = strcmp(status, "passed") == 0   ? to->green
                         : strcmp(status, "failed") == 0 ? to->red
                                                         : to->yellow;
    cleanup_free char *name = nl_printable(nl_dig_string(document, "scenario.name", "unnamed"), 40);
    const char *word = nl_verdict_word(document);
    double seconds = nl_dig_number(document, "run.seconds", -1);

    fprintf(to->out, "%s%s%s  %s", colour, word, to->plain, name ? name : "");
    if (seconds >= 0)
        fprintf(to->out, " in %s s", nl_figure_fixed(seconds, 1).text);
    fputs(": ", to->out);
    nl_text_wrap(to, nl_dig_string(document, "verdict.summary", "the run has not ended"),
                 (int)(strlen(word) + nl_columns(name ? name : "") + 14), 8);
}

static void print_stack(const struct nl_text *to, const json_t *document)
{
    struct nl_table *table = nl_table_new("lllllllr");
    static const char *const titles[] = {"",          "state",          "image", "kernel",
                                         "processor", "virtualization", "under", "ready after"};
    size_t i;
    json_t *layer;

    nl_text_section(to, "Stack", NULL);
    for (i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        nl_table_cell(table, "%s", titles[i]);
    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        double ready = nl_dig_number(layer, "facts.uptime_at_ready_s", -1);
        bool local = i == 0 && nl_dig_is(document, "run.l0.taken", "local");

        if (i == LAYERS_MAX)
            break;
        nl_table_cell(table, "%s", nl_dig_string(layer, "name", "?"));
        nl_table_cell(table, "%s", nl_dig_string(layer, "state", "?"));
        nl_table_cell(table, "%s",
                      nl_dig_string(layer, "image.recipe", local ? "this machine" : ""));
        nl_table_cell(table, "%s", nl_dig_string(layer, "facts.kernel.release", ""));
        nl_table_cell(table, "%s", nl_dig_string(layer, "facts.cpuid.vendor", ""));
        nl_table_cell(table, "%s", nl_virtualization_word(layer));
        nl_table_cell(table, "%s", nl_hypervisor_word(layer));
        if (ready >= 0 && !local)
            nl_table_cell(table, "%s s", nl_figure_fixed(ready, 1).text);
        else
            nl_table_cell(table, "%s", "");
    }
    nl_table_print(table, to->out, to->dim, to->plain);
    if (nl_dig(document, "run.l0.taken")) {
        fputs("  ", to->out);
        if (nl_dig_is(document, "run.l0.taken", "local"))
            fputs("L0 is this machine: ", to->out);
        else
            fputs("L0 is emulated: ", to->out);
        nl_text_wrap(to, nl_dig_string(document, "run.l0.why", "no reason given"), 20, 4);
    }
}

static void seconds_cell(struct nl_table *table, double seconds)
{
    if (seconds < 0)
        nl_table_cell(table, "%s", "");
    else
        nl_table_cell(table, "%s", nl_figure_fixed(seconds, 1).text);
}

/* A row of the times, NAME NULL for the sums. */
static void time_row(struct nl_table *table, const json_t *document, const char *name)
{
    size_t i;
    json_t *layer;

    nl_table_cell(table, "%s", name ? name : "sum");
    seconds_cell(table, nl_phase_seconds(document, name, NULL));
    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        if (i < LAYERS_MAX)
            seconds_cell(table,
                         nl_phase_seconds(document, name, nl_dig_string(layer, "name", "?")));
    }
}

static void print_times(const struct nl_text *to, const json_t *document)
{
    char align[LAYERS_MAX + 3] = "lr";
    const char *names[PHASES_MAX];
    size_t n_layers = json_array_size(json_object_get(document, "layers"));
    size_t n = nl_phase_names(document, names, PHASES_MAX);
    struct nl_table *table;
    size_t i;
    json_t *layer;

    if (n == 0)
        return;
    memset(align + 2, 'r', n_layers < LAYERS_MAX ? n_layers : LAYERS_MAX);
    table = nl_table_new(align);
    nl_table_cell(table, "%s", "");
    nl_table_cell(table, "%s", "run");
    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        if (i < LAYERS_MAX)
            nl_table_cell(table, "%s", nl_dig_string(layer, "name", "?"));
    }
    for (i = 0; i < n; i++)
        time_row(table, document, names[i]);
    time_row(table, document, NULL);
    nl_text_section(to, "Time", "seconds per phase");
    nl_table_print(table, to->out, to->dim, to->plain);
}

static void print_console(const struct nl_text *to, const json_t *lines)
{
    size_t n = json_array_size(lines);

    if (n == 0)
        return;
    fputs("  the last lines of its console:\n", to->out);
    for (size_t i = n > CONSOLE_LINES ? n - CONSOLE_LINES : 0; i < n; i++) {
        cleanup_free char *line =
            nl_printable(json_string_value(json_array_get(lines, i)), NL_REPORT_WIDTH - 4);

        fprintf(to->out, "  %s|%s %s\n", to->dim, to->plain, line ? line : "");
    }
}

static void print_evidence(const struct nl_text *to, const json_t *evidence)
{
    cleanup_json json_t *lines = nl_hang_summary(evidence);
    size_t i;
    json_t *line;

    json_array_foreach(lines, i, line)
    {
        fputs("  ", to->out);
        nl_text_wrap(to, json_string_value(line), 2, 4);
    }
}

/* All that is known of how it failed, at length. */
static void print_failure(const struct nl_text *to, const json_t *document)
{
    const json_t *failure = nl_dig(document, "failure");
    const char *hint = nl_dig_string(failure, "hint", "");
    cleanup_free char *where = NULL, *title = NULL;

    if (!failure)
        return;
    if (asprintf(&where, "%s, phase %s, %s", nl_dig_string(failure, "layer", "the run"),
                 nl_dig_string(failure, "phase", "unknown"),
                 nl_dig_string(failure, "kind", "error")) >= 0)
        title = nl_printable(where, NL_REPORT_WIDTH - 10);
    nl_text_section(to, "Failure", title);
    fputs("  ", to->out);
    nl_text_wrap(to, nl_dig_string(failure, "message", "no message"), 2, 4);
    if (*hint && !nl_dig_is(document, "diagnosis.remedy", hint)) {
        fputs("  do: ", to->out);
        nl_text_wrap(to, hint, 6, 6);
    }
    print_evidence(to, nl_dig(failure, "evidence"));
    print_console(to, nl_dig(failure, "console_tail"));
}

static void print_files(const struct nl_text *to, const json_t *document)
{
    cleanup_free char *text = NULL;
    size_t size;
    FILE *list = open_memstream(&text, &size);
    size_t i;
    json_t *layer;

    if (!list)
        return;
    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        const char *kind;
        json_t *file;

        json_object_foreach(json_object_get(layer, "files"), kind, file)
        {
            fprintf(list, "%s ", json_is_string(file) ? json_string_value(file) : "");
        }
    }
    fclose(list);
    if (!*text)
        return;
    nl_text_section(to, "Files", "beside the document");
    fputs("  ", to->out);
    nl_text_wrap(to, text, 2, 2);
}

/* The end is what a terminal shows, and the diagnosis may be out of sight. */
static void print_next(const struct nl_text *to, const json_t *document)
{
    const char *next = nl_verdict_next(document);

    fprintf(to->out, "\n%sNext:%s ", to->bold, to->plain);
    nl_text_wrap(to, next ? next : "see \"do\" under Diagnosis, above", 6, 6);
}

void nl_report_text(const json_t *document, FILE *out, bool colour)
{
    struct nl_text to = nl_text_to(out, colour);

    print_verdict(&to, document);
    nl_text_diagnosis(&to, document);
    print_stack(&to, document);
    print_failure(&to, document);
    nl_text_document_findings(&to, document);
    nl_text_checks(&to, document);
    nl_text_slowdown(&to, document);
    nl_text_clocks(&to, document);
    nl_text_exits(&to, document);
    nl_text_exit_reasons(&to, document);
    nl_text_meter(&to, document);
    nl_text_profile(&to, document);
    print_times(&to, document);
    print_files(&to, document);
    print_next(&to, document);
}
