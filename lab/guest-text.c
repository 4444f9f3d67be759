/*
 * guest-text.c - making guests' text printable: see guest-text.h.
 */
#include "guest-text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Length of the escape sequence at TEXT, which starts with ESC: CSI ("\e[...m"), OSC and the like
   ("\e]...\a" or "\e]...\e\\"), or two bytes ("\ec"). An unfinished one goes to the end. */
static size_t escape_length(const unsigned char *text, size_t length)
{
    size_t i = 2;

    if (length < 2)
        return length;
    if (text[1] == '[') {
        while (i < length && text[i] >= 0x20 && text[i] < 0x40)
            i++;
        return i < length ? i + 1 : length;
    }
    if (strchr("]P^_X", text[1]) && text[1]) {
        while (i < length && text[i] != '\a' && text[i] != 0x1b)
            i++;
        if (i + 1 < length && text[i] == 0x1b && text[i + 1] == '\\')
            return i + 2;
        return i < length && text[i] == '\a' ? i + 1 : i;
    }
    /* Intermediate bytes, as in the choice of a character set: "\e(B". */
    if (text[1] >= 0x20 && text[1] < 0x30 && length > 2)
        return 3;
    return text[1] >= 0x20 && text[1] < 0x7f ? 2 : 1;
}

/* Length of the printable UTF-8 character at TEXT, 0 if there is none. */
static size_t character_length(const unsigned char *text, size_t length)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

    if (text[0] < 0x80)
        return text[0] >= 0x20 && text[0] != 0x7f;
    for (size_t form = 0; form < 3; form++) {
        uint32_t point = text[0] & (unsigned char)~forms[form].mask;
        size_t n = form + 2;

        if ((text[0] & forms[form].mask) != forms[form].lead || n > length)
            continue;
        for (size_t i = 1; i < n; i++) {
            if ((text[i] & 0xc0) != 0x80)
                return 0;
            point = point << 6 | (text[i] & 0x3f);
        }
        /* C1 controls steer terminals too; overlong forms, surrogates and beyond are no UTF-8. */
        if (point < forms[form].least || point < 0xa0 || point > 0x10ffff ||
            (point >= 0xd800 && point < 0xe000))
            return 0;
        return n;
    }
    return 0;
}

char *nl_guest_text(const char *bytes, size_t length)
{
    const unsigned char *text = (const unsigned char *)bytes;
    char *out = malloc(length * 4 + 1);
    size_t i = 0, o = 0;

    if (!out)
        abort();
    while (length > 0 && text[length - 1] == '\r')
        length--;
    while (i < length) {
        size_t n = character_length(text + i, length - i);

        if (n > 0) {
            memcpy(out + o, text + i, n);
            o += n;
            i += n;
        } else if (text[i] == 0x1b) {
            i += escape_length(text + i, length - i);
        } else if (text[i] == '\t') {
            out[o++] = ' ';
            i++;
        } else {
            o += (size_t)sprintf(out + o, "\\x%02x", text[i++]);
        }
    }
    out[o] = '\0';
    return out;
}
