/*
 * fuzz-evidence.c - libFuzzer target: any bytes as evidence, through identification, the lines,
 * libvirt's XML, parameters, documents, archives and the rules.
 *
 * The first byte chooses the evidence's name, since some evidence is known by its path. Findings
 * are printed as reports print them. Lines must not depend on how the bytes are cut.
 */
#include "inquiry-internal.h"
#include "evidence-convert.h"
#include "report-text.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Patterns that short inputs reach. */
static const char rules_text[] =
    "{\"subject\": \"s\", \"rules\": [{\"id\": \"any\", \"severity\": \"error\", \"in\": "
    "[\"any\"],\n"
    "\"patterns\": [\"[0-9](?<x>[a-z])\"], \"meaning\": \"m\", \"remedy\": \"r\", \"source\": "
    "\"s\",\n"
    "\"values\": {\"x\": {\"a\": \"b\"}}, \"match\": [\"x\"], \"no_match\": [\"x\"]},\n"
    "{\"id\": \"xml\", \"severity\": \"ok\", \"in\": [\"domain-xml\", \"module-parameter\"],\n"
    "\"patterns\": [\"=\"], \"about\": \"guest\", \"meaning\": \"m\", \"remedy\": \"r\", "
    "\"source\": \"s\",\n"
    "\"match\": [\"x\"], \"no_match\": [\"x\"]}]}";

static const char *const names[] = {"log", "sys/module/kvm/parameters/nested", "proc/cmdline",
                                    "L1-console.log"};

/* Text without end, for functions that take a length: reading on is an error. */
static void check_lines(const char *text, size_t length)
{
    cleanup_free char *clean = malloc(length + 1);
    struct nl_line line = {0};
    size_t n;

    if (!clean)
        return;
    n = nl_line_clean(text, length, clean);
    if (n > length || !nl_line_is_clean(clean, n))
        abort();
    nl_line_strip(clean, n, NL_KIND_TEXT, &line);
    if (line.text < clean || line.text + line.length > clean + n)
        abort();
}

static void sum(void *context, const char *text, size_t length, unsigned long number)
{
    uint64_t *total = context;

    for (size_t i = 0; i < length; i++)
        *total = *total * 31 + (unsigned char)text[i];
    *total = *total * 31 + number;
}

static uint64_t sum_of_lines(const char *bytes, size_t length, size_t piece)
{
    uint64_t total = 0;
    struct nl_line_cutter *cutter = nl_line_cutter_new(sum, &total);

    for (size_t i = 0; cutter && i < length; i += piece)
        nl_line_cutter_feed(cutter, bytes + i, length - i < piece ? length - i : piece);
    if (cutter)
        nl_line_cutter_end(cutter);
    nl_line_cutter_free(&cutter);
    return total;
}

struct bytes {
    struct nl_stream stream;
    const uint8_t *at;
    size_t left;
};

static ssize_t read_bytes(struct nl_stream *stream, char *buffer, size_t size)
{
    struct bytes *bytes = (struct bytes *)stream;
    size_t n = size < bytes->left ? size : bytes->left;

    if (n)
        memcpy(buffer, bytes->at, n);
    bytes->at += n;
    bytes->left -= n;
    return (ssize_t)n;
}

static void inquire(struct nl_rules *rules, const char *name, const uint8_t *data, size_t size)
{
    cleanup_inquiry struct nl_inquiry *inquiry = nl_inquiry_new(rules);
    struct bytes bytes = {{read_bytes, NULL}, data, size};
    cleanup_fclose FILE *out = fopen("/dev/null", "w");
    cleanup_json json_t *findings = NULL;
    cleanup_json json_t *evidence = NULL;
    cleanup_json json_t *unread = NULL;

    if (!inquiry || !out)
        abort();
    inquiry->limits.unpacked_bytes = 1 << 20;
    inquiry->limits.entries = 100;
    nl_inquiry_stream(inquiry, name, &bytes.stream);
    nl_inquiry_conclude(inquiry);
    findings = nl_inquiry_findings(inquiry, NL_SEVERITY_OK);
    evidence = nl_inquiry_evidence(inquiry);
    unread = nl_inquiry_unread(inquiry);
    if (!findings || !evidence || !unread)
        abort();
    const struct nl_text to = nl_text_to(out, true);
    nl_text_findings(&to, findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nl_rules *rules;
    const char *text;

    if (!rules && nl_rules_parse("r.json", rules_text, strlen(rules_text), &rules, NULL) < 0)
        abort();
    if (size == 0)
        return 0;
    text = (const char *)data + 1;
    check_lines(text, size - 1);
    if (sum_of_lines(text, size - 1, 3) != sum_of_lines(text, size - 1, size))
        abort();
    inquire(rules, names[data[0] % 4], data + 1, size - 1);
    return 0;
}
