/*
 * lines.c - see lines.h.
 */
#include "lines.h"

#include <stdlib.h>
#include <string.h>

int agent_lines_feed(struct agent_lines *lines, const char *bytes, size_t length)
{
    if (lines->start > 0) {
        memmove(lines->bytes, lines->bytes + lines->start, lines->length);
        lines->start = 0;
    }
    if (lines->length + length > lines->size) {
        size_t size = (lines->length + length) * 2;
        char *grown = realloc(lines->bytes, size);
        if (!grown)
            return -1;
        lines->bytes = grown;
        lines->size = size;
    }
    memcpy(lines->bytes + lines->length, bytes, length);
    lines->length += length;
    return 0;
}

/* No newline yet: drop what is over the limit at once, it may go on without end. */
static void limit_partial(struct agent_lines *lines)
{
    if (!lines->too_long && lines->length <= lines->max)
        return;
    lines->too_long = true;
    lines->start = lines->length = lines->scanned = 0;
}

enum agent_line agent_lines_next(struct agent_lines *lines, char **line, size_t *length)
{
    char *begin, *end;

    if (!lines->bytes)
        return AGENT_LINE_NONE; /* nothing came yet, and there is no buffer */
    begin = lines->bytes + lines->start;
    end = lines->length > lines->scanned
              ? memchr(begin + lines->scanned, '\n', lines->length - lines->scanned)
              : NULL;

    if (!end) {
        lines->scanned = lines->length;
        limit_partial(lines);
        return AGENT_LINE_NONE;
    }
    *end = '\0';
    *line = begin;
    *length = (size_t)(end - begin);
    lines->start += *length + 1;
    lines->length -= *length + 1;
    lines->scanned = 0;
    bool too_long = lines->too_long || *length > lines->max;
    lines->too_long = false;
    return too_long ? AGENT_LINE_TOO_LONG : AGENT_LINE;
}

bool agent_lines_partial(const struct agent_lines *lines)
{
    return lines->length > 0 || lines->too_long;
}

void agent_lines_clear(struct agent_lines *lines)
{
    free(lines->bytes);
    *lines = (struct agent_lines){.max = lines->max};
}
