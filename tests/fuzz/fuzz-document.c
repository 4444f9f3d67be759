/*
 * fuzz-document.c - libFuzzer target: any bytes as a run's document, through its shape, the
 * verdict, all reports, folded profiles and the comparison with itself.
 *
 * Reports are printed for terminals, browsers and CI systems, so what comes out is looked at: no
 * control characters, well-formed XML, as many fields in every row.
 */
#include "compare.h"
#include "dig.h"
#include "document.h"
#include "json-mutator.h"
#include "no-gnuplot.h"
#include "profile.h"
#include "report.h"
#include "slowdown.h"

#include <libxml/parser.h>
#include <math.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    srand(seed);
    return mutate_json(data, size, max);
}

/* What is meant for a terminal: UTF-8, and no control character but the end of a line. */
static void check_terminal(const char *text)
{
    cleanup_json json_t *string = json_string(text);

    if (!string)
        abort();
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if ((*at < 0x20 && *at != '\n') || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0))
            abort();
}

static void check_xml(const char *text)
{
    xmlDocPtr xml = text ? xmlReadMemory(text, (int)strlen(text), "report", NULL,
                                         XML_PARSE_NONET | XML_PARSE_HUGE)
                         : NULL;

    if (!xml)
        abort();
    xmlFreeDoc(xml);
}

/* Rows have as many fields as the heading, which quotes nothing. */
static void check_csv(const char *text)
{
    size_t columns = 0, fields = 0;
    bool quoted = false;

    for (const char *at = text; *at; at++) {
        quoted ^= *at == '"';
        fields += *at == ',' && !quoted;
        if (*at != '\n' || quoted)
            continue;
        if (columns && fields != columns)
            abort();
        columns = fields;
        fields = 0;
    }
    if (quoted || fields)
        abort();
}

static void print(const json_t *json, void (*report)(const json_t *json, FILE *out), bool terminal)
{
    cleanup_free char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    if (!out)
        abort();
    report(json, out);
    fclose(out);
    if (strlen(text) != length)
        abort();
    if (terminal)
        check_terminal(text);
}

static void print_report(const json_t *document, FILE *out)
{
    nl_report_text(document, out, false);
}

static void print_profiles(const json_t *document, FILE *out)
{
    const json_t *layer, *metered;
    size_t i, k;

    json_array_foreach(nl_dig(document, "layers"), i, layer)
    {
        json_array_foreach(nl_dig(layer, "metered"), k, metered)
        {
            if (nl_dig(metered, "profile"))
                nl_profile_folded(nl_dig(metered, "profile"), nl_dig_string(metered, "name", "?"),
                                  "L1", out);
        }
    }
}

static void print_comparison(const json_t *comparison, FILE *out)
{
    nl_compare_text(comparison, out, false);
}

static void compare(json_t *document)
{
    char *path = "document.json";
    json_t *documents[] = {document, document, document, document};
    char *paths[] = {path, path, path, path};
    cleanup_error struct nl_error *err = NULL;
    cleanup_json json_t *comparison = NULL;

    for (size_t n = 1; n <= 4; n += 3) {
        struct nl_document_set base = {documents, paths, n};
        struct nl_document_set new = {documents, paths, n};
        struct nl_compare_options options = {.alpha = 0.05, .fail_above = 5, .force = n == 4};
        cleanup_free char *csv = NULL;

        if (nl_compare(&base, &new, &options, &comparison, &err) < 0)
            return;
        print(comparison, print_comparison, true);
        csv = nl_compare_csv(comparison);
        check_csv(csv);
        /* What is the same has not changed. */
        if (nl_dig_integer(comparison, "sum.failed", 0) != 0)
            abort();
        json_decref(nl_steal(&comparison));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_close int fd = memfd_create("document", MFD_CLOEXEC);
    cleanup_error struct nl_error *err = NULL;
    cleanup_json json_t *document = NULL;
    char path[64];
    int rc;

    if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size))
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    rc = nl_document_load(path, &document, &err);
    if ((rc == 0) != (document != NULL) || (rc == 0) == (err != NULL))
        abort();
    if (rc < 0)
        return 0;
    print(document, print_report, true);
    print(document, print_profiles, false);
    json_object_set_new(document, "slowdown", nl_slowdown(document));
    nl_document_judge(document);
    nl_document_exit(document);
    print(document, print_report, true);
    cleanup_free char *junit = nl_report_junit_text(document);
    cleanup_free char *html = nl_report_html_text(document);
    check_xml(junit);
    check_xml(html);
    /* Ranks and intervals take longer than all the rest. */
    if (size % 4 == 0)
        compare(document);
    return 0;
}
