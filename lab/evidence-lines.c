/*
 * evidence-lines.c - bytes into lines: see evidence-lines.h. What loggers put in front of a line is
 * taken off in evidence-strip.c.
 *
 * A line is handed on where it lies in the reader's buffer; only one that straddles two reads, or
 * that has to be cleaned, is copied. Logs of gigabytes depend on it.
 */
#include "evidence-lines.h"
#include "cleanup.h"

#include <stdint.h>
#include <string.h>

struct nl_line_cutter {
    nl_line_take *take;
    void *context;
    unsigned long number; /* of lines that began */
    unsigned long cut;
    size_t held;   /* bytes of an unfinished line in HELD_BYTES */
    bool skipping; /* the line at hand was cut already */
    char held_bytes[NL_LINE_MAX];
};

struct nl_line_cutter *nl_line_cutter_new(nl_line_take *take, void *context)
{
    struct nl_line_cutter *cutter = malloc(sizeof(*cutter));

    if (!cutter)
        return NULL;
    cutter->take = take;
    cutter->context = context;
    cutter->number = 0;
    cutter->cut = 0;
    cutter->held = 0;
    cutter->skipping = false;
    return cutter;
}

void nl_line_cutter_free(struct nl_line_cutter **cutter)
{
    free(*cutter);
    *cutter = NULL;
}

unsigned long nl_line_cutter_lines(const struct nl_line_cutter *cutter)
{
    return cutter->number;
}

unsigned long nl_line_cutter_cut(const struct nl_line_cutter *cutter)
{
    return cutter->cut;
}

/* A whole line, or the first part of one that is too long. */
static void hand_on(struct nl_line_cutter *cutter, const char *text, size_t length)
{
    cutter->number++;
    if (length > NL_LINE_MAX) {
        length = NL_LINE_MAX;
        cutter->cut++;
    }
    cutter->take(cutter->context, text, length, cutter->number);
}

/* The end of a read, without its newline yet. */
static void hold(struct nl_line_cutter *cutter, const char *text, size_t length)
{
    size_t room = NL_LINE_MAX - cutter->held;

    if (cutter->skipping || length == 0)
        return;
    memcpy(cutter->held_bytes + cutter->held, text, length < room ? length : room);
    cutter->held += length < room ? length : room;
    if (length <= room)
        return;
    hand_on(cutter, cutter->held_bytes, cutter->held);
    cutter->cut++;
    cutter->held = 0;
    cutter->skipping = true;
}

static void finish_held(struct nl_line_cutter *cutter)
{
    if (!cutter->skipping)
        hand_on(cutter, cutter->held_bytes, cutter->held);
    cutter->skipping = false;
    cutter->held = 0;
}

void nl_line_cutter_feed(struct nl_line_cutter *cutter, const char *bytes, size_t length)
{
    const char *end;

    if (length == 0)
        return;
    end = bytes + length;
    while (bytes < end) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));

        if (!newline) {
            hold(cutter, bytes, (size_t)(end - bytes));
            return;
        }
        if (cutter->held || cutter->skipping) {
            hold(cutter, bytes, (size_t)(newline - bytes));
            finish_held(cutter);
        } else {
            hand_on(cutter, bytes, (size_t)(newline - bytes));
        }
        bytes = newline + 1;
    }
}

void nl_line_cutter_end(struct nl_line_cutter *cutter)
{
    if (cutter->held || cutter->skipping)
        finish_held(cutter);
}

#define EVERY_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* Eight bytes at a time: has one of them a value below 0x20, or 0x7f? */
static bool has_control(uint64_t word)
{
    uint64_t low = (word - EVERY_BYTE(0x20)) & ~word;
    uint64_t not_delete = word ^ EVERY_BYTE(0x7f);
    uint64_t is_delete = (not_delete - EVERY_BYTE(0x01)) & ~not_delete;

    return ((low | is_delete) & EVERY_BYTE(0x80)) != 0;
}

bool nl_line_is_clean(const char *text, size_t length)
{
    size_t i = 0;
    uint64_t word;

    for (; i + sizeof(word) <= length; i += sizeof(word)) {
        memcpy(&word, text + i, sizeof(word));
        if (has_control(word))
            return false;
    }
    for (; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return false;
    return true;
}

/* Length of the escape sequence at TEXT, which starts with ESC; an unfinished one goes to the end
   of the line. ECMA-48: CSI ("\e[...m"), strings ("\e]...\a" or "\e]...\e\\"), "\e(B", "\ec". */
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
    if (text[1] == ']' || text[1] == 'P' || text[1] == '^' || text[1] == '_') {
        while (i < length && text[i] != '\a' && text[i] != 0x1b)
            i++;
        if (i + 1 < length && text[i] == 0x1b && text[i + 1] == '\\')
            return i + 2;
        return i < length && text[i] == '\a' ? i + 1 : i;
    }
    return text[1] >= 0x20 && text[1] < 0x30 && length > 2 ? 3 : 2;
}

size_t nl_line_clean(const char *text, size_t length, char *out)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t n = 0;

    for (size_t i = 0; i < length;) {
        if (bytes[i] == 0x1b) {
            i += escape_length(bytes + i, length - i);
            continue;
        }
        if (bytes[i] == '\b' && n > 0)
            n--;
        else if (bytes[i] == '\t')
            out[n++] = ' ';
        else if (bytes[i] >= 0x20 && bytes[i] != 0x7f)
            out[n++] = text[i];
        i++;
    }
    return n;
}
