/*
 * line-buffer.h - cuts what comes from an agent into lines, in bounded memory: a line that is too
 * long is dropped and counted.
 */
#ifndef NL_LINE_BUFFER_H
#define NL_LINE_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Zero-initialized, but for ON_LINE and DATA. Used by one thread, but for OVERLONG. */
struct nl_line_buffer {
    void (*on_line)(const char *line, size_t length, void *data);
    void *data;
    char *line;
    size_t length;
    size_t capacity;
    bool skipping; /* the rest of a line that was too long */
    atomic_uint overlong;
};

void nl_line_buffer_feed(struct nl_line_buffer *buffer, const char *bytes, size_t length);
void nl_line_buffer_clear(struct nl_line_buffer *buffer);

#endif
