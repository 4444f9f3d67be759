/*
 * hang-text.c - evidence out of text: see hang-text.h.
 */
#include "hang-text.h"
#include "cleanup.h"
#include "dig.h"
#include "exits.h"
#include "document.h"

#include <string.h>

#define ADDRESSES_MAX 64
#define REASONS_MAX 40
#define SHOWN_MAX 6

/* Where x86-64 kernels and their modules are (Documentation/arch/x86/x86_64/mm.rst). */
#define TEXT_FIRST 0xffffffff80000000ULL
#define TEXT_LAST 0xfffffffffeffffffULL

static json_t *counter(bool known, unsigned long long value)
{
    return known ? json_sprintf("%llu", value) : json_null();
}

static json_t *describe_vcpus(const char *registers)
{
    struct nl_vcpu vcpus[NL_VCPUS_MAX];
    size_t n = nl_look_vcpus(registers, vcpus);
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, json_pack("{s:o, s:n, s:b, s:b, s:i}", "rip",
                                               json_sprintf("%016llx", vcpus[i].rip), "symbol",
                                               "interrupts", vcpus[i].interrupts, "halted",
                                               vcpus[i].halted, "cpl", vcpus[i].cpl));
    return array;
}

json_t *nl_hang_looks(const struct nl_look *looks, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(
            array, json_pack("{s:f, s:o, s:o, s:o, s:o}", "after_s",
                             (double)(looks[i].at_ms - looks[0].at_ms) / 1000.0, "console_bytes",
                             counter(true, looks[i].console_bytes), "exits",
                             counter(looks[i].has_exits, looks[i].exits), "disk_bytes",
                             counter(looks[i].has_disk, looks[i].disk_bytes), "vcpus",
                             describe_vcpus(looks[i].registers)));
    return array;
}

static bool is_text(unsigned long long address)
{
    return address >= TEXT_FIRST && address <= TEXT_LAST;
}

static void add_address(json_t *addresses, unsigned long long address)
{
    char text[24];
    size_t i;
    json_t *one;

    if (!is_text(address) || json_array_size(addresses) >= ADDRESSES_MAX)
        return;
    snprintf(text, sizeof(text), "%016llx", address);
    json_array_foreach(addresses, i, one)
    {
        if (strcmp(json_string_value(one), text) == 0)
            return;
    }
    json_array_append_new(addresses, json_string(text));
}

/* The next word of "ffffc90000003e50: 0xffffffff81001234 0x0000000000000000", or false. */
static bool next_word(const char **at, unsigned long long *word)
{
    const char *begin = *at ? strstr(*at, " 0x") : NULL;
    char *end;

    if (!begin)
        return false;
    *word = strtoull(begin + 1, &end, 16);
    *at = end;
    return true;
}

json_t *nl_hang_addresses(const struct nl_look *looks, size_t n, const char *stack)
{
    json_t *addresses = json_array();
    unsigned long long word;

    for (size_t i = 0; i < n; i++) {
        struct nl_vcpu vcpus[NL_VCPUS_MAX];
        size_t n_vcpus = nl_look_vcpus(looks[i].registers, vcpus);

        for (size_t k = 0; k < n_vcpus; k++)
            add_address(addresses, vcpus[k].rip);
    }
    while (next_word(&stack, &word))
        add_address(addresses, word);
    return addresses;
}

/* "default_idle+0x1c", as an agent named ADDRESS (agents/protocol.h, "symbols"); new reference,
   NULL: it has no name. */
static json_t *name_of(const json_t *addresses, const json_t *symbols, const char *address)
{
    size_t i;
    json_t *one;

    json_array_foreach(addresses, i, one)
    {
        const json_t *symbol = json_array_get(symbols, i);
        const char *name = json_string_value(json_array_get(symbol, 0));
        cleanup_free char *text = NULL;

        if (!address || !name || strcmp(json_string_value(one), address) != 0)
            continue;
        if (asprintf(&text, "%s+0x%llx", name,
                     (unsigned long long)json_integer_value(json_array_get(symbol, 1))) < 0)
            text = NULL;
        return text ? nl_document_text(text) : NULL;
    }
    return NULL;
}

json_t *nl_hang_name(const json_t *addresses, const json_t *symbols, json_t *looks,
                     const char *stack)
{
    json_t *backtrace = json_array();
    unsigned long long word;
    size_t i, k;
    json_t *look, *vcpu;

    json_array_foreach(looks, i, look)
    {
        json_array_foreach(json_object_get(look, "vcpus"), k, vcpu)
        {
            json_t *name = name_of(addresses, symbols, nl_dig_string(vcpu, "rip", NULL));

            if (name)
                json_object_set_new(vcpu, "symbol", name);
        }
    }
    while (next_word(&stack, &word)) {
        char address[24];
        json_t *name;

        snprintf(address, sizeof(address), "%016llx", word);
        name = is_text(word) ? name_of(addresses, symbols, address) : NULL;
        /* Where mitigations return through a thunk, it leaves its address all over the stack. */
        if (name && !strstr(json_string_value(name), "return_thunk"))
            json_array_append_new(backtrace, name);
        else
            json_decref(name);
    }
    return backtrace;
}

json_t *nl_hang_reasons(const json_t *reply)
{
    cleanup_json json_t *all = json_pack("{s:O?}", "exits", json_object_get(reply, "exits"));
    cleanup_json json_t *counts = json_array();
    json_t *reasons = json_object();
    json_t *reason;
    size_t i;

    nl_exits_by_reason("", all, counts);
    json_array_foreach(nl_dig(json_array_get(counts, 0), "reasons"), i, reason)
    {
        if (i < REASONS_MAX)
            json_object_set_new(
                reasons, nl_dig_string(reason, "reason", "?"),
                json_sprintf("%" JSON_INTEGER_FORMAT, nl_dig_integer(reason, "times", 0)));
    }
    return reasons;
}

json_t *nl_hang_since_nmi(json_t *lines)
{
    json_t *since = json_array();
    bool begun = false;
    size_t i;
    json_t *line;

    json_array_foreach(lines, i, line)
    {
        /* arch/x86/kernel/nmi.c, unknown_nmi_error(). */
        begun = begun || strstr(json_string_value(line), "NMI received for unknown reason");
        if (begun)
            json_array_append(since, line);
    }
    json_decref(lines);
    return since;
}

/* "look 1: at native_halt+0xe (halted), ..." is as long as there are looks; equal ones are told
 * once.
 */
static void summarize_looks(const json_t *looks, json_t *lines)
{
    cleanup_free char *text = NULL;
    cleanup_json json_t *told = json_object();
    size_t size;
    FILE *out = open_memstream(&text, &size);
    size_t i, k;
    json_t *look, *vcpu;

    if (!out)
        return;
    json_array_foreach(looks, i, look)
    {
        json_array_foreach(json_object_get(look, "vcpus"), k, vcpu)
        {
            const char *rip = nl_dig_string(vcpu, "rip", "?");
            const char *where = nl_dig_string(vcpu, "symbol", rip);

            if (json_object_get(told, where) || json_object_size(told) >= SHOWN_MAX)
                continue;
            fprintf(out, "%s%s%s%s", json_object_size(told) ? ", " : "seen at ", where,
                    nl_dig_true(vcpu, "halted") ? " (halted)" : "",
                    nl_dig_true(vcpu, "interrupts") ? "" : " (interrupts off)");
            json_object_set_new(told, where, json_true());
        }
    }
    fclose(out);
    if (text && *text)
        json_array_append_new(lines, json_string(text));
}

/* "LABEL: A, B, C" of an array's strings, or an object's keys with values. */
static void summarize_list(const char *label, const json_t *list, json_t *lines)
{
    cleanup_free char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const char *key;
    json_t *value;
    size_t i;

    if (!out)
        return;
    json_array_foreach(list, i, value)
    {
        if (i < SHOWN_MAX && json_is_string(value))
            fprintf(out, "%s%s", i ? ", " : "", json_string_value(value));
    }
    json_object_foreach((json_t *)list, key, value)
    {
        if (i < SHOWN_MAX && json_is_string(value))
            fprintf(out, "%s%s %s", i++ ? ", " : "", key, json_string_value(value));
    }
    fclose(out);
    if (text && *text)
        json_array_append_new(lines, json_sprintf("%s: %s", label, text));
}

/* The lines of a backtrace that name a place. */
static void summarize_backtrace(const json_t *backtrace, json_t *lines)
{
    size_t i;
    json_t *line;
    size_t shown = 0;

    json_array_foreach(backtrace, i, line)
    {
        const char *text = json_string_value(line);
        const char *at = text ? strstr(text, "RIP: ") : NULL;

        if (at && shown++ < 2)
            json_array_append_new(lines, json_sprintf("by NMI: %s", at));
    }
}

bool nl_hang_stopped(const json_t *evidence)
{
    const char *process = nl_dig_string(evidence, "process", "R");

    return !strchr("RS", process[0]);
}

json_t *nl_hang_summary(const json_t *evidence)
{
    json_t *lines = json_array();
    const char *process = nl_dig_string(evidence, "process", NULL);

    if (nl_hang_stopped(evidence))
        json_array_append_new(lines, json_sprintf("its QEMU's process: %s", process));
    summarize_looks(nl_dig(evidence, "looks"), lines);
    summarize_backtrace(nl_dig(evidence, "backtrace"), lines);
    summarize_list("on its stack", nl_dig(evidence, "stack"), lines);
    summarize_list("exits in one second", nl_dig(evidence, "exit_reasons"), lines);
    return lines;
}
