/*
 * headline.c - the words that a reader needs first: see headline.h.
 */
#include "headline.h"
#include "printable.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LINE 120
/* Of a first part without an end. */
#define LONGEST 200

/* The end of the part that begins at TEXT: a colon, semicolon or full stop with a blank after it.
 */
static const char *end_of_part(const char *text)
{
    const char *end = strpbrk(text, ":;.");

    while (end && *end && end[1] != ' ')
        end = strpbrk(end + 1, ":;.");
    return end ? end : text + strlen(text);
}

static bool has(const char *from, const char *to, const char *word)
{
    const char *at = word && *word ? strstr(from, word) : NULL;

    return at && at < to;
}

static bool is_one_word(const char *from, const char *to)
{
    return !memchr(from, ' ', (size_t)(to - from));
}

/* "2026-12-01T..." */
static bool is_time(const char *text)
{
    for (size_t i = 0; i < 4; i++)
        if (!isdigit((unsigned char)text[i]))
            return false;
    return text[4] == '-' && isdigit((unsigned char)text[5]);
}

static bool is_raw(const char *from, const char *to, const char *id)
{
    return has(from, to, "{") || is_time(from) || has(from, to, id);
}

char *nl_headline(const char *message, const char *id)
{
    const char *end = end_of_part(message);
    const char *before = end; /* without the last part */
    const char *next, *to;
    char *text, *line;

    /* What follows a sentence is about how it was noticed. */
    for (; *end && *end != '.'; before = end, end = to) {
        next = end + 2;
        to = end_of_part(next);
        if (is_raw(next, to, id)) {
            /* Who printed it says nothing without it. */
            if (before < end && is_one_word(before + 2, end))
                end = before;
            break;
        }
        if (to - message > LINE)
            break;
    }
    /* One that begins with a mark has no first words: all of it is better than nothing. */
    text = end > message ? strndup(message, (size_t)(end - message)) : strdup(message);
    line = text ? nl_printable(text, LONGEST) : NULL;
    free(text);
    return line;
}
