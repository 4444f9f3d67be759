/*
 * line-buffer.c - lines out of pieces: see line-buffer.h.
 */
#include "line-buffer.h"
#include "protocol.h"

#include <stdlib.h>
#include <string.h>

/* A buffer above this size is given back once its line is done. */
#define BUFFER_KEPT (256 * 1024)

static void drop_line(struct nl_line_buffer *buffer)
{
    buffer->length = 0;
    if (buffer->capacity <= BUFFER_KEPT)
        return;
    free(buffer->line);
    buffer->line = NULL;
    buffer->capacity = 0;
}

/* Add to the line. False: it is too long (or memory is short), and was dropped. */
static bool append(struct nl_line_buffer *buffer, const char *bytes, size_t length)
{
    size_t need = buffer->length + length;
    size_t capacity = buffer->capacity ? buffer->capacity : 4096;
    char *line;

    if (need > NL_PROTOCOL_LINE_MAX)
        return false;
    while (capacity < need)
        capacity *= 2;
    if (capacity != buffer->capacity) {
        line = realloc(buffer->line, capacity);
        if (!line)
            return false;
        buffer->line = line;
        buffer->capacity = capacity;
    }
    memcpy(buffer->line + buffer->length, bytes, length);
    buffer->length = need;
    return true;
}

/* Take one piece of a line, whole or not. */
static void take(struct nl_line_buffer *buffer, const char *bytes, size_t length, bool ends)
{
    if (!buffer->skipping && !append(buffer, bytes, length)) {
        buffer->skipping = true;
        atomic_fetch_add(&buffer->overlong, 1);
        drop_line(buffer);
    }
    if (!ends)
        return;
    if (!buffer->skipping)
        buffer->on_line(buffer->line, buffer->length, buffer->data);
    buffer->skipping = false;
    drop_line(buffer);
}

void nl_line_buffer_feed(struct nl_line_buffer *buffer, const char *bytes, size_t length)
{
    const char *newline;

    while ((newline = memchr(bytes, '\n', length))) {
        size_t piece = (size_t)(newline - bytes);

        take(buffer, bytes, piece, true);
        bytes = newline + 1;
        length -= piece + 1;
    }
    take(buffer, bytes, length, false);
}

void nl_line_buffer_clear(struct nl_line_buffer *buffer)
{
    free(buffer->line);
    buffer->line = NULL;
    buffer->length = buffer->capacity = 0;
}
