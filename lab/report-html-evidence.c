/*
 * report-html-evidence.c - what was seen of a layer that does not answer, in the report's page: the
 * looks at it, its stack, exits and backtrace.
 */
#include "cleanup.h"
#include "dig.h"
#include "figure.h"
#include "report-html.h"

#include <string.h>

#define LOOKS_MAX 20
#define LINES_LIMIT 20000
#define REASONS_MAX 40

/* "ffffffff81c0de11 default_idle+0x11, halted, interrupts off" */
static void describe_vcpu(FILE *out, const json_t *vcpu)
{
    const json_t *interrupts = json_object_get(vcpu, "interrupts");

    fprintf(out, "%s", nl_dig_string(vcpu, "rip", "?"));
    if (nl_dig(vcpu, "symbol"))
        fprintf(out, " %s", nl_dig_string(vcpu, "symbol", ""));
    if (nl_dig_integer(vcpu, "cpl", 0) == 3)
        fputs(", a program", out);
    if (nl_dig_true(vcpu, "halted"))
        fputs(", halted", out);
    if (json_is_boolean(interrupts))
        fprintf(out, ", interrupts %s", json_is_true(interrupts) ? "on" : "off");
}

static char *describe_vcpus(const json_t *look)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    size_t i;
    json_t *vcpu;

    if (!out)
        return NULL;
    json_array_foreach(json_object_get(look, "vcpus"), i, vcpu)
    {
        if (i > 0)
            fputs("; ", out);
        describe_vcpu(out, vcpu);
    }
    fclose(out);
    return text;
}

static void write_looks(struct nl_html *html, const json_t *looks)
{
    static const char *const headings[] = {"After, s",      ">Console, bytes", ">Exits",
                                           ">Disks, bytes", "vCPUs",           NULL};
    size_t i;
    json_t *look;

    if (json_array_size(looks) == 0)
        return;
    nl_html_table(html, "Looked at from outside", headings);
    json_array_foreach(looks, i, look)
    {
        cleanup_free char *vcpus = describe_vcpus(look);
        char after[32];

        if (i == LOOKS_MAX)
            break;
        snprintf(after, sizeof(after), "%s",
                 nl_figure_fixed(nl_dig_number(look, "after_s", 0), 1).text);
        nl_html_open(html, "tr", NULL);
        nl_html_row_heading(html, after);
        nl_html_cell(html, "number", "%s", nl_dig_string(look, "console_bytes", ""));
        nl_html_cell(html, "number", "%s", nl_dig_string(look, "exits", ""));
        nl_html_cell(html, "number", "%s", nl_dig_string(look, "disk_bytes", ""));
        nl_html_cell(html, NULL, "%s", vcpus ? vcpus : "");
        nl_html_close(html);
    }
    nl_html_table_end(html);
}

/* A list of lines, as the guest's kernel or its names gave them. */
static void write_lines(struct nl_html *html, const char *title, const json_t *lines)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    size_t i;
    json_t *line;

    if (!out)
        return;
    json_array_foreach(lines, i, line)
        fprintf(out, "%s\n", json_is_string(line) ? json_string_value(line) : "");
    fclose(out);
    if (*text) {
        nl_html_leaf(html, "p", "note", title);
        nl_html_pre(html, text, LINES_LIMIT);
    }
    free(text);
}

static void write_reasons(struct nl_html *html, const json_t *reasons)
{
    static const char *const headings[] = {"Reason", ">Exits", NULL};
    const char *name;
    json_t *count;
    size_t n = 0;

    if (json_object_size(reasons) == 0)
        return;
    nl_html_table(html, "VM exits of one second, of all guests of the layer below", headings);
    json_object_foreach((json_t *)reasons, name, count)
    {
        if (n++ == REASONS_MAX)
            break;
        nl_html_open(html, "tr", NULL);
        nl_html_row_heading(html, name);
        nl_html_cell(html, "number", "%s", json_is_string(count) ? json_string_value(count) : "");
        nl_html_close(html);
    }
    nl_html_table_end(html);
}

void nl_page_evidence(const struct nl_page *page)
{
    const json_t *failure = nl_dig(page->document, "failure");
    const json_t *evidence = nl_dig(failure, "evidence");
    struct nl_html *html = page->html;

    if (!evidence)
        return;
    nl_html_section(html, 3, NULL, "What was seen of it", NULL);
    write_looks(html, json_object_get(evidence, "looks"));
    if (nl_dig(evidence, "process")) {
        nl_html_open(html, "dl", NULL);
        nl_html_term(html, "Its QEMU's process", nl_dig_string(evidence, "process", NULL));
        nl_html_close(html);
    }
    write_reasons(html, json_object_get(evidence, "exit_reasons"));
    write_lines(html, "Its kernel's answer to an NMI:", json_object_get(evidence, "backtrace"));
    write_lines(html, "On its stack (callers, and remains of earlier calls):",
                json_object_get(evidence, "stack"));
    if (nl_dig_is(failure, "kind", "hung")) {
        nl_html_open(html, "p", "note");
        nl_html_format(html, "Registers and stack at length: %s-hang.txt beside the document.",
                       nl_dig_string(failure, "layer", "L?"));
        nl_html_close(html);
    }
    nl_html_close(html);
}
