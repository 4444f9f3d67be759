/*
 * report-html-logs.c - commands and logs in the report's page, folded away.
 */
#include "cleanup.h"
#include "dig.h"
#include "figure.h"
#include "report-html.h"

#include <string.h>

#define COMMANDS_MAX 300
#define OUTPUT_LIMIT 20000
#define LOG_LIMIT 200000

static void write_output(struct nl_html *html, const char *name, const char *text)
{
    if (!*text)
        return;
    nl_html_leaf(html, "p", "note", name);
    nl_html_pre(html, text, OUTPUT_LIMIT);
}

static char *outcome(const json_t *command)
{
    char *text = NULL;

    if (nl_dig_true(command, "timed_out"))
        return strdup("did not end in time");
    if (nl_dig(command, "signal")) {
        if (asprintf(&text, "killed by signal %" JSON_INTEGER_FORMAT,
                     nl_dig_integer(command, "signal", 0)) < 0)
            return NULL;
    } else if (nl_dig(command, "exit")) {
        if (asprintf(&text, "exit status %" JSON_INTEGER_FORMAT,
                     nl_dig_integer(command, "exit", 0)) < 0)
            return NULL;
    } else {
        return strdup(nl_dig_string(command, "message", "did not run"));
    }
    return text;
}

static void write_command(struct nl_html *html, const json_t *command)
{
    cleanup_free char *summary = NULL;
    cleanup_free char *end = outcome(command);
    size_t i;
    json_t *arg;

    if (asprintf(&summary, "%s at %s: %s, %s, %s s", nl_dig_string(command, "name", "unnamed"),
                 nl_dig_string(command, "layer", "?"), nl_dig_string(command, "verdict", "?"),
                 end ? end : "", nl_figure_fixed(nl_dig_number(command, "seconds", 0), 1).text) < 0)
        return;
    nl_html_details(html, summary);
    nl_html_open(html, "p", NULL);
    json_array_foreach(json_object_get(command, "argv"), i, arg)
    {
        nl_html_leaf(html, "code", NULL, json_string_value(arg));
        nl_html_text(html, " ");
    }
    nl_html_close(html);
    write_output(html, "Standard output", nl_dig_string(command, "stdout", ""));
    write_output(html, "Standard error", nl_dig_string(command, "stderr", ""));
    if (nl_dig_true(command, "truncated"))
        nl_html_leaf(html, "p", "note", "It said more than was kept.");
    nl_html_close(html);
}

void nl_page_commands(const struct nl_page *page)
{
    size_t i;
    json_t *command;

    json_array_foreach(json_object_get(page->document, "commands"), i, command)
    {
        if (i < COMMANDS_MAX)
            write_command(page->html, command);
    }
}

static bool has_log(const json_t *layer)
{
    return json_array_size(nl_dig(layer, "log.records")) > 0;
}

bool nl_page_has_logs(const json_t *document)
{
    size_t i;
    json_t *layer;

    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        if (has_log(layer) || json_object_size(json_object_get(layer, "files")) > 0)
            return true;
    }
    return false;
}

/* As the kernel log files beside the document. */
static char *log_text(const json_t *records)
{
    static const char *const levels[] = {"emerg", "alert",  "crit", "err",
                                         "warn",  "notice", "info", "debug"};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    size_t i;
    json_t *record;

    if (!out)
        return NULL;
    json_array_foreach(records, i, record)
    {
        double seconds = nl_dig_number(record, "time_us", 0) / 1e6;
        double level = nl_dig_number(record, "level", 6);

        fprintf(out, "%-6s [%12.6f] %s\n", level >= 0 && level < 8 ? levels[(int)level] : "?",
                seconds, nl_dig_string(record, "text", ""));
    }
    fclose(out);
    return text;
}

static void write_log(const struct nl_page *page, size_t index)
{
    const json_t *layer = json_array_get(json_object_get(page->document, "layers"), index);
    const json_t *records = nl_dig(layer, "log.records");
    cleanup_free char *text = log_text(records);
    cleanup_free char *summary = NULL;

    if (asprintf(&summary, "%s: kernel log, %zu records, %s lost",
                 nl_page_layer_name(page->document, index), json_array_size(records),
                 nl_figure_fixed(nl_dig_number(layer, "log.lost", 0), 0).text) < 0)
        return;
    nl_html_details(page->html, summary);
    nl_html_pre(page->html, text ? text : "", LOG_LIMIT);
    nl_html_close(page->html);
}

static void write_files(const struct nl_page *page)
{
    size_t i;
    json_t *layer;

    nl_html_open(page->html, "p", "note");
    nl_html_text(page->html, "Files beside the document:");
    json_array_foreach(json_object_get(page->document, "layers"), i, layer)
    {
        const char *kind;
        json_t *file;

        json_object_foreach(json_object_get(layer, "files"), kind, file)
        {
            nl_html_text(page->html, " ");
            nl_html_leaf(page->html, "code", NULL, json_string_value(file));
        }
    }
    nl_html_close(page->html);
}

void nl_page_logs(const struct nl_page *page)
{
    for (size_t i = 0; i < nl_page_layers(page->document); i++)
        if (has_log(json_array_get(json_object_get(page->document, "layers"), i)))
            write_log(page, i);
    write_files(page);
}
