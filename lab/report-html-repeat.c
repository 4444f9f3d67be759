/*
 * report-html-repeat.c - what it takes to repeat the run, in the report's page: command line,
 * machine, every layer's image, kernel and domain, the scenario.
 */
#include "cleanup.h"
#include "dig.h"
#include "report-html.h"

#include <string.h>

#define SCENARIO_LIMIT 200000

/* As a shell takes it. */
static void write_quoted(FILE *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./,:@%";

    if (*text && text[strspn(text, plain)] == '\0') {
        fputs(text, out);
        return;
    }
    fputc('\'', out);
    for (; *text; text++)
        fputs(*text == '\'' ? "'\\''" : (char[]){*text, '\0'}, out);
    fputc('\'', out);
}

/* The first element is the program and its subcommand. */
static char *command_line(const json_t *document)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    size_t i;
    json_t *arg;

    if (!out)
        return NULL;
    json_array_foreach(nl_dig(document, "run.command"), i, arg)
    {
        const char *word = json_is_string(arg) ? json_string_value(arg) : "";

        if (i == 0) {
            fputs(word, out);
            continue;
        }
        fputc(' ', out);
        write_quoted(out, word);
    }
    fclose(out);
    return text;
}

/* Terms of an object: strings and numbers, by path. */
struct term {
    const char *name;
    const char *path;
};

static void write_terms(struct nl_html *html, const json_t *root, const struct term *terms,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const json_t *value = nl_dig(root, terms[i].path);
        char number[32];

        if (json_is_string(value)) {
            nl_html_term(html, terms[i].name, json_string_value(value));
        } else if (json_is_number(value)) {
            snprintf(number, sizeof(number), "%.15g", json_number_value(value));
            nl_html_term(html, terms[i].name, number);
        }
    }
}

#define WRITE_TERMS(html, root, terms)                                                             \
    write_terms(html, root, terms, sizeof(terms) / sizeof((terms)[0]))

static void write_run(const struct nl_page *page)
{
    static const struct term terms[] = {
        {"nestlab", "nestlab.version"},       {"Kernel here", "run.host.kernel"},
        {"Processor here", "run.host.cpu"},   {"CPUs here", "run.host.cpus"},
        {"MiB here", "run.host.memory_mib"},  {"QEMU here", "run.host.qemu"},
        {"libvirt here", "run.host.libvirt"}, {"L0 asked for", "run.l0.asked"},
        {"L0 taken", "run.l0.taken"},
    };
    cleanup_free char *line = command_line(page->document);

    if (line && *line)
        nl_html_pre(page->html, line, SCENARIO_LIMIT);
    nl_html_open(page->html, "dl", NULL);
    WRITE_TERMS(page->html, page->document, terms);
    nl_html_close(page->html);
}

/* "nested=1 npt=Y": the parameters of a KVM module. */
static char *parameters(const json_t *module)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const char *name;
    json_t *value;

    if (!out)
        return NULL;
    json_object_foreach(json_object_get(module, "parameters"), name, value)
    {
        fprintf(out, "%s=%s ", name, json_is_string(value) ? json_string_value(value) : "");
    }
    fclose(out);
    return text;
}

static void write_layer(const struct nl_page *page, size_t index)
{
    static const struct term terms[] = {
        {"Image", "image.recipe"},
        {"Image digest", "image.digest"},
        {"Kernel", "facts.kernel.release"},
        {"Kernel version", "facts.kernel.version"},
        {"Processor", "facts.cpuid.brand"},
        {"Agent", "facts.agent"},
        {"Clock source", "facts.clock_source.current"},
        {"Domain type", "domain.type"},
        {"Machine type", "domain.machine"},
        {"CPU model", "domain.cpu"},
        {"vCPUs", "domain.vcpus"},
        {"Memory, MiB", "domain.memory_mib"},
        {"Firmware", "domain.firmware"},
        {"Emulator", "domain.emulator"},
        {"Kernel command line", "domain.command_line"},
    };
    const json_t *layer = json_array_get(json_object_get(page->document, "layers"), index);
    cleanup_free char *title = NULL;
    const char *name;
    json_t *module;

    if (asprintf(&title, "%s: image, kernel, domain, KVM's parameters",
                 nl_page_layer_name(page->document, index)) < 0)
        return;
    nl_html_details(page->html, title);
    nl_html_open(page->html, "dl", NULL);
    WRITE_TERMS(page->html, layer, terms);
    json_object_foreach((json_t *)nl_dig(layer, "facts.modules"), name, module)
    {
        cleanup_free char *text = nl_dig_true(module, "loaded") ? parameters(module) : NULL;

        nl_html_term(page->html, name, text);
    }
    nl_html_close(page->html);
    nl_html_close(page->html);
}

void nl_page_repeat(const struct nl_page *page)
{
    cleanup_free char *scenario =
        json_dumps(json_object_get(page->document, "scenario"), JSON_INDENT(2) | JSON_ENCODE_ANY);

    write_run(page);
    for (size_t i = 0; i < nl_page_layers(page->document); i++)
        write_layer(page, i);
    if (!scenario)
        return;
    nl_html_details(page->html, "The scenario as it was run, defaults and options applied");
    nl_html_pre(page->html, scenario, SCENARIO_LIMIT);
    nl_html_close(page->html);
}
