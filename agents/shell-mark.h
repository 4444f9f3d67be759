/*
 * shell-mark.h - marks in the raw stream of a terminal, between `nestlab shell` and the agent: what
 * a terminal has to be told besides its bytes. Shared by both sides.
 *
 * A mark is MARK_BEGIN, words, and BEL. Its first byte is no part of UTF-8 text, so that nothing
 * that is typed has to wait for what comes next.
 */
#ifndef SHELL_MARK_H
#define SHELL_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SHELL_MARK_BEGIN "\xff]nestlab;"
#define SHELL_MARK_END '\a'
#define SHELL_MARK_MAX 48

/* Zero-initialized. */
struct shell_mark {
    char held[SHELL_MARK_MAX]; /* what may become a mark */
    size_t n;
};

/* Take BYTE. OUT gets the *N bytes, at most SHELL_MARK_MAX, that are no part of a mark. True: a
   mark is complete, and its words are the string at mark->held until the next call. */
static inline bool shell_mark_take(struct shell_mark *mark, char byte, char *out, size_t *n)
{
    static const char begin[] = SHELL_MARK_BEGIN;
    const size_t begin_length = sizeof(begin) - 1;
    bool fits = mark->n < begin_length ? byte == begin[mark->n]
                                       : byte == SHELL_MARK_END || (byte >= ' ' && byte < 0x7f);

    *n = 0;
    if (!fits || mark->n == SHELL_MARK_MAX - 1) {
        /* The first byte of a mark occurs nowhere else in it: a mismatch can only start over. */
        memcpy(out, mark->held, mark->n);
        *n = mark->n;
        mark->n = 0;
        if (byte != begin[0]) {
            out[(*n)++] = byte;
            return false;
        }
    }
    mark->held[mark->n++] = byte;
    if (mark->n <= begin_length || byte != SHELL_MARK_END)
        return false;
    mark->n -= begin_length + 1;
    memmove(mark->held, mark->held + begin_length, mark->n);
    mark->held[mark->n] = '\0';
    mark->n = 0;
    return true;
}

#endif
