/*
 * evidence-xml.c - libvirt's XML into lines: see evidence-convert.h.
 *
 * It is somebody else's XML: no network, no files, no entities (a document type ends the reading),
 * limits on depth and length.
 */
#include "evidence-convert.h"

#include <libxml/xmlreader.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 32
#define LINE_MAX_BYTES 4096
#define ATTRIBUTES_MAX 64

struct converter {
    xmlTextReader *reader;
    nl_converted *take;
    void *context;
    char path[1024];
    size_t lengths[DEPTH_MAX + 1]; /* of the path, by depth */
    char line[LINE_MAX_BYTES];     /* that of the element at hand; "" if it was handed on */
    size_t length;
    unsigned long number;
    bool has_text;
};

static void flush(struct converter *c)
{
    if (c->length)
        c->take(c->context, c->line, c->length, c->number);
    c->length = 0;
}

/* Line ends and other control characters would make two lines of one. */
static void add(struct converter *c, const char *text)
{
    for (; *text && c->length < sizeof(c->line); text++)
        c->line[c->length++] = (unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All attributes as NAME="VALUE", sorted. */
static void add_attributes(struct converter *c)
{
    char *attributes[ATTRIBUTES_MAX] = {NULL};
    size_t n = 0;

    while (n < ATTRIBUTES_MAX && xmlTextReaderMoveToNextAttribute(c->reader) == 1) {
        const xmlChar *name = xmlTextReaderConstName(c->reader);
        const xmlChar *value = xmlTextReaderConstValue(c->reader);

        if (asprintf(&attributes[n], " %s=\"%s\"", (const char *)name,
                     value ? (const char *)value : "") >= 0)
            n++;
    }
    xmlTextReaderMoveToElement(c->reader);
    qsort(attributes, n, sizeof(attributes[0]), compare_names);
    for (size_t i = 0; i < n; i++) {
        add(c, attributes[i]);
        free(attributes[i]);
    }
}

static void begin_element(struct converter *c, int depth)
{
    const char *name = (const char *)xmlTextReaderConstLocalName(c->reader);
    size_t from = depth > 0 ? c->lengths[depth - 1] : 0;
    int n;

    flush(c);
    /* The domain's status has the domain inside: rules need not care. */
    if (strcmp(name, "domain") == 0 && depth == 1)
        from = 0;
    n = snprintf(c->path + from, sizeof(c->path) - from, "/%s", name);
    if (n < 0 || (size_t)n >= sizeof(c->path) - from) {
        c->path[from] = '\0';
        n = 0;
    }
    c->lengths[depth] = from + (size_t)n;
    c->number = (unsigned long)xmlGetLineNo(xmlTextReaderCurrentNode(c->reader));
    c->has_text = false;
    add(c, c->path);
    add_attributes(c);
}

/* The element's own text, if it has any but white space. */
static void add_text(struct converter *c)
{
    const char *text = (const char *)xmlTextReaderConstValue(c->reader);
    char piece[512];
    size_t n;

    while (text && *text && strchr(" \t\r\n", *text))
        text++;
    if (!text || !*text || !c->length || c->has_text)
        return;
    n = strnlen(text, sizeof(piece) - 1);
    memcpy(piece, text, n);
    while (n > 0 && strchr(" \t\r\n", piece[n - 1]))
        n--;
    piece[n] = '\0';
    add(c, ": ");
    add(c, piece);
    c->has_text = true;
}

static const char *walk(struct converter *c)
{
    int rc;

    while ((rc = xmlTextReaderRead(c->reader)) == 1) {
        int depth = xmlTextReaderDepth(c->reader);

        switch (xmlTextReaderNodeType(c->reader)) {
        case XML_READER_TYPE_DOCUMENT_TYPE:
            return "it has a document type, which libvirt never writes";
        case XML_READER_TYPE_ELEMENT:
            if (depth > DEPTH_MAX)
                return "elements are nested too deep";
            begin_element(c, depth);
            if (xmlTextReaderIsEmptyElement(c->reader) == 1)
                flush(c);
            break;
        case XML_READER_TYPE_END_ELEMENT:
            flush(c);
            break;
        case XML_READER_TYPE_TEXT:
        case XML_READER_TYPE_CDATA:
            add_text(c);
            break;
        default:
            break;
        }
    }
    flush(c);
    return rc == 0 ? NULL : "it is not well-formed XML to its end";
}

static void ignore_error(void *context, const char *message, xmlParserSeverities severity,
                         xmlTextReaderLocatorPtr locator)
{
    (void)context, (void)message, (void)severity, (void)locator;
}

const char *nl_convert_xml(const char *text, size_t length, nl_converted *take, void *context)
{
    struct converter *c = calloc(1, sizeof(*c));
    const char *why;

    if (!c)
        return "out of memory";
    if (length > NL_XML_MAX) {
        free(c);
        return "it is too long";
    }
    c->take = take;
    c->context = context;
    c->reader = xmlReaderForMemory(text, (int)length, NULL, NULL, XML_PARSE_NONET);
    if (!c->reader) {
        free(c);
        return "out of memory";
    }
    xmlTextReaderSetErrorHandler(c->reader, ignore_error, NULL);
    why = walk(c);
    flush(c);
    xmlFreeTextReader(c->reader);
    free(c);
    return why;
}
