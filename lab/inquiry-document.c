/*
 * inquiry-document.c - a run's document as evidence: the kernel log, the facts and the messages of
 * each layer. See inquiry.h.
 */
#include "inquiry-internal.h"
#include "dig.h"
#include "document-shape.h"

#include <ctype.h>
#include <string.h>

/* Longer texts (the output of commands) are looked at up to here. */
#define TEXT_MAX (1UL << 20)

static int layer_index(const char *name)
{
    return name[0] == 'L' && isdigit((unsigned char)name[1]) ? atoi(name + 1) : NL_LAYER_UNKNOWN;
}

static char *part_name(const char *name, const char *layer, const char *what)
{
    char *part = NULL;

    return asprintf(&part, "%s: %.16s: %s", name, layer, what) < 0 ? NULL : part;
}

/* The line's number is the record's in the log, from 1. */
static void read_log(struct nl_inquiry *inquiry, const char *name, const char *layer_name,
                     const json_t *layer)
{
    static const struct nl_identity identity = {NL_FORM_LINES, NL_KIND_KERNEL_LOG, "kernel log",
                                                true, NULL};
    const json_t *records = nl_dig(layer, "log.records");
    cleanup_free char *part = part_name(name, layer_name, "kernel log");
    size_t i;
    json_t *record;

    if (json_array_size(records) == 0 || !part ||
        nl_inquiry_begin(inquiry, part, &identity, layer_index(layer_name)) < 0)
        return;
    json_array_foreach(records, i, record)
    {
        const char *text = nl_dig_string(record, "text", "");
        size_t length = strlen(text);

        nl_inquiry_line(inquiry, text, length < NL_LINE_MAX ? length : NL_LINE_MAX, i + 1);
    }
    inquiry->evidence[inquiry->n_evidence - 1].lines = json_array_size(records);
    nl_inquiry_end(inquiry);
}

/* The facts, as the same machine's /proc/cpuinfo and /sys/module would say them. */
static void print_facts(const json_t *facts, FILE *out)
{
    const char *module, *parameter;
    json_t *value, *parameters;
    size_t i;

    fprintf(out, "vendor_id : %.32s\nflags :", nl_dig_string(facts, "cpuid.vendor", "unknown"));
    json_array_foreach(nl_dig(facts, "flags"), i, value)
    {
        if (json_is_string(value))
            fprintf(out, " %.64s", json_string_value(value));
    }
    fputc('\n', out);
    json_object_foreach(json_object_get(facts, "modules"), module, value)
    {
        parameters = json_object_get(value, "parameters");
        json_object_foreach(parameters, parameter, value)
        {
            if (json_is_string(value))
                fprintf(out, "/sys/module/%.64s/parameters/%.64s:%.256s\n", module, parameter,
                        json_string_value(value));
        }
    }
}

static void read_facts(struct nl_inquiry *inquiry, const char *name, const char *layer_name,
                       const json_t *layer)
{
    const json_t *facts = nl_dig(layer, "facts");
    cleanup_free char *part = part_name(name, layer_name, "facts");
    cleanup_free char *text = NULL;
    size_t size;
    FILE *out = facts && part ? open_memstream(&text, &size) : NULL;

    if (!out)
        return;
    print_facts(facts, out);
    fclose(out);
    nl_inquiry_text(inquiry, part, "facts", NL_KIND_CPUINFO, layer_index(layer_name), text);
}

static void read_told(struct nl_inquiry *inquiry, const char *name, const char *layer_name,
                      int teller, const char *what, unsigned kinds, const char *text)
{
    cleanup_free char *part = part_name(name, layer_name, what);
    cleanup_free char *cut = strndup(text, TEXT_MAX);

    if (part && cut && *cut)
        nl_inquiry_text(inquiry, part, what, kinds, teller, cut);
}

static void read_message(struct nl_inquiry *inquiry, const char *name, const char *layer_name,
                         const char *what, unsigned kinds, const char *text)
{
    read_told(inquiry, name, layer_name, layer_index(layer_name), what, kinds, text);
}

static void read_tail(struct nl_inquiry *inquiry, const char *name, const char *layer_name,
                      const json_t *lines)
{
    cleanup_free char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    size_t i;
    json_t *line;

    if (!out)
        return;
    json_array_foreach(lines, i, line)
    {
        if (json_is_string(line))
            fprintf(out, "%s\n", json_string_value(line));
    }
    fclose(out);
    read_message(inquiry, name, layer_name, "console", NL_KIND_KERNEL_LOG, text);
}

/* What keeps a domain from being made is told by the libvirt and the QEMU of the layer below. */
static void read_failure(struct nl_inquiry *inquiry, const char *name, const json_t *failure)
{
    const char *layer = nl_dig_string(failure, "layer", "the run");
    int teller = layer_index(layer);

    read_tail(inquiry, name, layer, nl_dig(failure, "console_tail"));
    if (nl_dig_is(failure, "phase", "create") && teller >= 0)
        teller--;
    read_told(inquiry, name, layer, teller, "failure", NL_KIND_VIRT_LOGS | NL_KIND_TEXT,
              nl_dig_string(failure, "message", ""));
}

/* What a run made of it itself. A run that is not over has no diagnosis yet. */
static void read_diagnosis(struct nl_inquiry *inquiry, const char *name, const json_t *diagnosis)
{
    const char *layer = nl_dig_string(diagnosis, "layer", "the run");
    cleanup_free char *line = NULL;

    if (nl_dig_string(diagnosis, "name", NULL) &&
        asprintf(&line, "nestlab diagnosis: %s at %s: %s", nl_dig_string(diagnosis, "name", "?"),
                 layer, nl_dig_string(diagnosis, "summary", "")) >= 0)
        read_message(inquiry, name, layer, "diagnosis", NL_KIND_TEXT, line);
}

void nl_inquiry_document(struct nl_inquiry *inquiry, const char *name, const json_t *document)
{
    const json_t *failure = nl_dig(document, "failure");
    size_t i;
    json_t *element;

    json_array_foreach(json_object_get(document, "layers"), i, element)
    {
        const char *layer = nl_dig_string(element, "name", "?");

        read_log(inquiry, name, layer, element);
        read_facts(inquiry, name, layer, element);
    }
    read_diagnosis(inquiry, name, nl_dig(document, "diagnosis"));
    if (failure)
        read_failure(inquiry, name, failure);
    json_array_foreach(json_object_get(document, "commands"), i, element)
    {
        const char *layer = nl_dig_string(element, "layer", "?");

        read_message(inquiry, name, layer, "a command's errors", NL_KIND_ANY_LOG,
                     nl_dig_string(element, "stderr", ""));
        read_message(inquiry, name, layer, "a command's output", NL_KIND_ANY_LOG,
                     nl_dig_string(element, "stdout", ""));
    }
}

void nl_inquiry_document_text(struct nl_inquiry *inquiry, const char *name, const char *text,
                              size_t length)
{
    struct nl_json_source source = {.name = name, .text = text, .length = length};
    cleanup_error struct nl_error *err = NULL;
    cleanup_json json_t *document = NULL;
    json_error_t wrong;

    document = json_loadb(text, length, JSON_REJECT_DUPLICATES, &wrong);
    if (!document) {
        nl_inquiry_not_read(inquiry, name, "is no document: it is not JSON to its end", true);
        return;
    }
    if (nl_document_shape(document, &source, &err) < 0 ||
        nl_document_layer_names(document, &source, &err) < 0) {
        nl_inquiry_not_read(inquiry, name, nl_error_message(err), true);
        return;
    }
    nl_inquiry_document(inquiry, name, document);
}
