/*
 * outbox.c - see outbox.h.
 */
#include "outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int agent_outbox_add(struct agent_outbox *outbox, const char *line, size_t length)
{
    if (outbox->length + length > outbox->size) {
        size_t size = (outbox->length + length) * 2;
        char *grown = realloc(outbox->bytes, size);
        if (!grown)
            return -1;
        outbox->bytes = grown;
        outbox->size = size;
    }
    memcpy(outbox->bytes + outbox->length, line, length);
    outbox->length += length;
    return 0;
}

/* Forget whole lines that are sent: the one under way must stay, to be sent again. */
static void drop_sent_lines(struct agent_outbox *outbox)
{
    char *last = outbox->sent ? memrchr(outbox->bytes, '\n', outbox->sent) : NULL;

    if (!last)
        return;
    size_t done = (size_t)(last + 1 - outbox->bytes);
    outbox->length -= done;
    outbox->sent -= done;
    memmove(outbox->bytes, outbox->bytes + done, outbox->length);
}

int agent_outbox_flush(struct agent_outbox *outbox, int fd)
{
    while (outbox->sent < outbox->length) {
        ssize_t n = write(fd, outbox->bytes + outbox->sent, outbox->length - outbox->sent);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0)
            return -1;
        outbox->sent += (size_t)n;
    }
    drop_sent_lines(outbox);
    return 0;
}

void agent_outbox_rewind(struct agent_outbox *outbox)
{
    if (outbox->sent == 0)
        return;
    outbox->sent = 0;
    if (outbox->bytes[0] == '\n' || agent_outbox_add(outbox, "", 1) < 0)
        return;
    memmove(outbox->bytes + 1, outbox->bytes, outbox->length - 1);
    outbox->bytes[0] = '\n';
}

void agent_outbox_drop(struct agent_outbox *outbox, const char *prefix)
{
    size_t kept = 0, prefix_length = strlen(prefix);

    for (size_t at = 0; at < outbox->length;) {
        char *line = outbox->bytes + at;
        char *end = memchr(line, '\n', outbox->length - at);
        size_t length = end ? (size_t)(end + 1 - line) : outbox->length - at;
        at += length;
        if (length >= prefix_length && memcmp(line, prefix, prefix_length) == 0)
            continue;
        memmove(outbox->bytes + kept, line, length);
        kept += length;
    }
    outbox->length = kept;
}

bool agent_outbox_empty(const struct agent_outbox *outbox)
{
    return outbox->sent == outbox->length;
}

size_t agent_outbox_pending(const struct agent_outbox *outbox)
{
    return outbox->length - outbox->sent;
}

void agent_outbox_clear(struct agent_outbox *outbox)
{
    free(outbox->bytes);
    *outbox = (struct agent_outbox){0};
}
