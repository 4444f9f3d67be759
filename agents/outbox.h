/*
 * outbox.h - lines on their way out, kept until they are written; a line that a lost connection cut
 * is sent again from its beginning.
 */
#ifndef AGENT_OUTBOX_H
#define AGENT_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>

/* Zero-initialized. */
struct agent_outbox {
    char *bytes;
    size_t length, size;
    size_t sent;
};

/* LINE ends with a newline. -1 without memory. */
int agent_outbox_add(struct agent_outbox *outbox, const char *line, size_t length);

/* Write what FD takes. 0: all or as much as it takes now; -1 with errno. */
int agent_outbox_flush(struct agent_outbox *outbox, int fd);

/* The reader is gone: what it had of the line under way is void. The next reader gets a newline, to
   end whatever it may have seen, and that line again. */
void agent_outbox_rewind(struct agent_outbox *outbox);

/* Drop all lines that begin with PREFIX. Only after agent_outbox_rewind(). */
void agent_outbox_drop(struct agent_outbox *outbox, const char *prefix);

bool agent_outbox_empty(const struct agent_outbox *outbox);
size_t agent_outbox_pending(const struct agent_outbox *outbox);
void agent_outbox_clear(struct agent_outbox *outbox);

#endif
