/*
 * lines.h - cuts a byte stream into lines with a limit on their length.
 */
#ifndef AGENT_LINES_H
#define AGENT_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* Zero-initialized, but for MAX: the longest line to accept. */
struct agent_lines {
    size_t max;
    char *bytes;
    size_t start, length, size; /* what is there is bytes[start .. start + length) */
    size_t scanned;             /* of that, known to hold no newline */
    bool too_long;              /* within a line over the limit, whose bytes are dropped */
};

enum agent_line { AGENT_LINE_NONE, AGENT_LINE, AGENT_LINE_TOO_LONG };

/* -1 without memory. */
int agent_lines_feed(struct agent_lines *lines, const char *bytes, size_t length);

/* The next complete line, without its newline, zero-terminated, valid until the next call of any
   function here. AGENT_LINE_TOO_LONG comes once for a line over the limit, when it ends. */
enum agent_line agent_lines_next(struct agent_lines *lines, char **line, size_t *length);

/* A line is begun and not complete. */
bool agent_lines_partial(const struct agent_lines *lines);

void agent_lines_clear(struct agent_lines *lines);

#endif
