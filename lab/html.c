/*
 * html.c - HTML pages that are also XML: see html.h.
 */
#include "html.h"
#include "cleanup.h"
#include "printable.h"

#include <libxml/xmlwriter.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <string.h>

#define DEPTH_MAX 64
#define SVG "http://www.w3.org/2000/svg"
#define POLICY_FORMAT                                                                              \
    "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'"

struct nl_html {
    xmlBufferPtr buffer;
    xmlTextWriterPtr writer;
    const char *open[DEPTH_MAX];
    size_t depth;
    unsigned numbers;
    bool failed;
};

/* What a line ends after: the source stays readable. */
static const char *const blocks[] = {"head", "title",   "style", "header", "main",    "nav",
                                     "h1",   "h2",      "h3",    "p",      "section", "ul",
                                     "li",   "dl",      "dd",    "div",    "details", "summary",
                                     "tr",   "caption", "table", "pre",    "svg",     "body"};

static void check(struct nl_html *html, int written)
{
    html->failed |= written < 0;
}

static bool is_block(const char *name)
{
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        if (strcmp(blocks[i], name) == 0)
            return true;
    return false;
}

static void write_attribute(struct nl_html *html, const char *name, const char *value)
{
    cleanup_free char *clean = nl_printable(value, 0);

    html->failed |= !clean;
    if (clean)
        check(html, xmlTextWriterWriteAttribute(html->writer, BAD_CAST name, BAD_CAST clean));
}

void nl_html_open(struct nl_html *html, const char *name, const char *class)
{
    if (!html)
        return;
    if (html->depth == DEPTH_MAX) {
        html->failed = true;
        return;
    }
    html->open[html->depth++] = name;
    check(html, xmlTextWriterStartElement(html->writer, BAD_CAST name));
    if (class && *class)
        write_attribute(html, "class", class);
}

void nl_html_attribute(struct nl_html *html, const char *name, const char *format, ...)
{
    cleanup_free char *value = NULL;
    va_list args;

    if (!html)
        return;
    va_start(args, format);
    if (vasprintf(&value, format, args) < 0)
        value = NULL;
    va_end(args);
    html->failed |= !value;
    if (value)
        write_attribute(html, name, value);
}

void nl_html_close(struct nl_html *html)
{
    if (!html || html->depth == 0)
        return;
    /* Never <td/>: to a browser that is a start without an end. */
    check(html, xmlTextWriterFullEndElement(html->writer));
    if (is_block(html->open[--html->depth]))
        check(html, xmlTextWriterWriteRaw(html->writer, BAD_CAST "\n"));
}

void nl_html_text(struct nl_html *html, const char *text)
{
    cleanup_free char *clean = html ? nl_printable(text, 0) : NULL;

    if (!html)
        return;
    html->failed |= !clean;
    if (clean)
        check(html, xmlTextWriterWriteString(html->writer, BAD_CAST clean));
}

void nl_html_format(struct nl_html *html, const char *format, ...)
{
    cleanup_free char *text = NULL;
    va_list args;

    if (!html)
        return;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    html->failed |= !text;
    if (text)
        nl_html_text(html, text);
}

void nl_html_leaf(struct nl_html *html, const char *name, const char *class, const char *text)
{
    nl_html_open(html, name, class);
    nl_html_text(html, text);
    nl_html_close(html);
}

void nl_html_pre(struct nl_html *html, const char *text, size_t limit)
{
    cleanup_free char *clean = nl_xml_text(text, limit);
    char *rest = NULL;

    nl_html_open(html, "pre", NULL);
    nl_html_attribute(html, "tabindex", "0");
    for (char *line = clean; line; line = rest) {
        rest = strchr(line, '\n');
        if (rest)
            *rest++ = '\0';
        nl_html_text(html, line);
        if (rest && html)
            check(html, xmlTextWriterWriteString(html->writer, BAD_CAST "\n"));
    }
    nl_html_close(html);
}

void nl_html_section(struct nl_html *html, int level, const char *id, const char *title,
                     const char *note)
{
    nl_html_open(html, "section", NULL);
    if (id)
        nl_html_attribute(html, "id", "%s", id);
    nl_html_leaf(html, level == 2 ? "h2" : "h3", NULL, title);
    if (note)
        nl_html_leaf(html, "p", "note", note);
}

void nl_html_details(struct nl_html *html, const char *summary)
{
    nl_html_open(html, "details", NULL);
    nl_html_leaf(html, "summary", NULL, summary);
}

void nl_html_table(struct nl_html *html, const char *caption, const char *const *headings)
{
    nl_html_open(html, "div", "scroll");
    nl_html_attribute(html, "role", "region");
    nl_html_attribute(html, "aria-label", "%s", caption);
    nl_html_attribute(html, "tabindex", "0");
    nl_html_open(html, "table", NULL);
    nl_html_leaf(html, "caption", NULL, caption);
    nl_html_open(html, "thead", NULL);
    nl_html_open(html, "tr", NULL);
    for (; *headings; headings++) {
        bool number = **headings == '>';

        /* A heading without text would be read aloud as one. */
        nl_html_open(html, **headings ? "th" : "td", number ? "number" : NULL);
        if (**headings)
            nl_html_attribute(html, "scope", "col");
        nl_html_text(html, *headings + number);
        nl_html_close(html);
    }
    nl_html_close(html);
    nl_html_close(html);
    nl_html_open(html, "tbody", NULL);
}

void nl_html_table_end(struct nl_html *html)
{
    for (int i = 0; i < 3; i++)
        nl_html_close(html);
}

void nl_html_row_heading(struct nl_html *html, const char *text)
{
    nl_html_open(html, "th", NULL);
    nl_html_attribute(html, "scope", "row");
    nl_html_text(html, text);
    nl_html_close(html);
}

void nl_html_cell(struct nl_html *html, const char *class, const char *format, ...)
{
    cleanup_free char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    nl_html_leaf(html, "td", class, text);
}

void nl_html_term(struct nl_html *html, const char *term, const char *text)
{
    if (!text || !*text)
        return;
    nl_html_leaf(html, "dt", NULL, term);
    nl_html_leaf(html, "dd", NULL, text);
}

unsigned nl_html_number(struct nl_html *html)
{
    return html ? ++html->numbers : 0;
}

void nl_html_ornament(struct nl_html *html, const char *class, double width, double height)
{
    nl_html_open(html, "svg", class);
    nl_html_attribute(html, "xmlns", SVG);
    nl_html_attribute(html, "aria-hidden", "true");
    nl_html_attribute(html, "width", "%g", width);
    nl_html_attribute(html, "height", "%g", height);
}

void nl_html_picture(struct nl_html *html, const char *class, double width, double height,
                     const char *title, const char *description)
{
    unsigned number = nl_html_number(html);

    nl_html_open(html, "svg", class);
    nl_html_attribute(html, "xmlns", SVG);
    nl_html_attribute(html, "role", "img");
    nl_html_attribute(html, "aria-labelledby", "t%u d%u", number, number);
    nl_html_attribute(html, "viewBox", "0 0 %g %g", width, height);
    nl_html_attribute(html, "width", "%g", width);
    nl_html_open(html, "title", NULL);
    nl_html_attribute(html, "id", "t%u", number);
    nl_html_text(html, title);
    nl_html_close(html);
    nl_html_open(html, "desc", NULL);
    nl_html_attribute(html, "id", "d%u", number);
    nl_html_text(html, description);
    nl_html_close(html);
}

/* The hash of the style sheet, as a policy names it. */
static int write_policy(struct nl_html *html)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned char base64[2 * EVP_MAX_MD_SIZE];
    unsigned length;

    if (!EVP_Digest(nl_html_style, strlen(nl_html_style), digest, &length, EVP_sha256(), NULL))
        return -1;
    EVP_EncodeBlock(base64, digest, (int)length);
    xmlTextWriterStartElement(html->writer, BAD_CAST "meta");
    nl_html_attribute(html, "http-equiv", "Content-Security-Policy");
    nl_html_attribute(html, "content", POLICY_FORMAT, (char *)base64);
    return xmlTextWriterEndElement(html->writer);
}

static void write_head(struct nl_html *html, const char *title)
{
    nl_html_open(html, "head", NULL);
    check(html, xmlTextWriterWriteRaw(html->writer, BAD_CAST "<meta charset=\"utf-8\"/>\n"));
    check(html, write_policy(html));
    check(html, xmlTextWriterWriteRaw(html->writer, BAD_CAST
                                      "\n<meta name=\"viewport\" "
                                      "content=\"width=device-width, initial-scale=1\"/>\n"));
    nl_html_leaf(html, "title", NULL, title);
    nl_html_open(html, "style", NULL);
    check(html, xmlTextWriterWriteRaw(html->writer, BAD_CAST nl_html_style));
    nl_html_close(html);
    nl_html_close(html);
}

static void free_html(struct nl_html **html)
{
    if (!*html)
        return;
    if ((*html)->writer)
        xmlFreeTextWriter((*html)->writer);
    if ((*html)->buffer)
        xmlBufferFree((*html)->buffer);
    free(*html);
    *html = NULL;
}

struct nl_html *nl_html_new(const char *title)
{
    struct nl_html *html = calloc(1, sizeof(*html));

    if (!html)
        return NULL;
    html->buffer = xmlBufferCreate();
    html->writer = html->buffer ? xmlNewTextWriterMemory(html->buffer, 0) : NULL;
    if (!html->writer) {
        free_html(&html);
        return NULL;
    }
    check(html, xmlTextWriterWriteRaw(html->writer, BAD_CAST "<!DOCTYPE html>\n"));
    nl_html_open(html, "html", NULL);
    nl_html_attribute(html, "xmlns", "http://www.w3.org/1999/xhtml");
    nl_html_attribute(html, "lang", "en");
    write_head(html, title);
    nl_html_open(html, "body", NULL);
    return html;
}

char *nl_html_finish(struct nl_html *html)
{
    char *text = NULL;

    if (!html)
        return NULL;
    while (html->depth > 0)
        nl_html_close(html);
    check(html, xmlTextWriterFlush(html->writer));
    if (!html->failed)
        text = strdup((const char *)xmlBufferContent(html->buffer));
    free_html(&html);
    return text;
}
