/*
 * printable.c - text made fit for a terminal and for XML: see printable.h.
 */
#include "printable.h"
#include "cleanup.h"

#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* Code points that move the cursor, reorder the line, or cannot be seen. */
static const struct {
    unsigned first;
    unsigned last;
} hidden[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xffff},
};

/* The code point at S and its length; a byte that starts no sequence is itself. The text is UTF-8
   where it comes out of JSON, but nothing breaks if it is not. */
static unsigned decode(const unsigned char *s, size_t *length)
{
    size_t n = s[0] < 0xc2 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 1;
    unsigned code = n == 1 ? s[0] : s[0] & (0x7fU >> n);

    *length = 1;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return s[0];
        code = code << 6 | (s[i] & 0x3f);
    }
    *length = n;
    return code;
}

static int is_hidden(unsigned code)
{
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
        if (code >= hidden[i].first && code <= hidden[i].last)
            return 1;
    return 0;
}

/* One character as it is shown, into PIECE; returns its columns. */
static size_t show(const unsigned char *s, size_t *length, char piece[8])
{
    unsigned code = decode(s, length);
    int broken = *length == 1 && code >= 0x80;

    if (!broken && !is_hidden(code)) {
        memcpy(piece, s, *length);
        piece[*length] = '\0';
        return 1;
    }
    if (code == '\t') {
        return (size_t)snprintf(piece, 8, " ");
    }
    return (size_t)snprintf(piece, 8, code <= 0xff ? "\\x%02x" : "\\u%04x", code & 0xffff);
}

char *nl_printable(const char *text, size_t columns)
{
    const unsigned char *s = (const unsigned char *)(text ? text : "");
    char *result = NULL;
    size_t size;
    FILE *out = open_memstream(&result, &size);
    size_t used = 0;
    long cut_at = 0; /* up to here "..." fits behind it */

    if (!out)
        return NULL;
    while (*s) {
        size_t length;
        char piece[8];
        size_t width = show(s, &length, piece);

        if (columns && used + width > columns)
            break;
        fputs(piece, out);
        used += width;
        if (used + 3 <= columns)
            cut_at = ftell(out);
        s += length;
    }
    if (*s) {
        fseek(out, cut_at, SEEK_SET);
        fputs(columns > 3 ? "..." : "", out);
    }
    fclose(out);
    /* After a seek backwards there is something behind the end. */
    if (result)
        result[size] = '\0';
    return result;
}

/* Char in XML 1.0, 2.2. */
static int is_xml(unsigned code)
{
    if (code < 0x20)
        return code == '\t' || code == '\n' || code == '\r';
    return code <= 0xd7ff || (code >= 0xe000 && code <= 0xfffd) ||
           (code >= 0x10000 && code <= 0x10ffff);
}

char *nl_xml_text(const char *text, size_t limit)
{
    const unsigned char *s = (const unsigned char *)(text ? text : "");
    size_t left = strlen((const char *)s);
    char *result = NULL;
    size_t size;
    FILE *out = open_memstream(&result, &size);

    if (!out)
        return NULL;
    if (left > limit) {
        fprintf(out, "[%zu bytes left out]\n", left - limit);
        s += left - limit;
        while ((*s & 0xc0) == 0x80)
            s++;
    }
    while (*s) {
        size_t length;
        unsigned code = decode(s, &length);

        if ((length == 1 && code >= 0x80) || !is_xml(code))
            fputs(REPLACEMENT, out);
        else
            fwrite(s, 1, length, out);
        s += length;
    }
    fclose(out);
    return result;
}

size_t nl_columns(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}
