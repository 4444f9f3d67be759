/*
 * kmsg.c - see kmsg.h. The format is described in the kernel's
 * Documentation/ABI/testing/dev-kmsg.
 */
#include "kmsg.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What one reply may hold: a record's text can grow fivefold on its way into JSON. */
#define REPLY_BYTES_MAX (2 * 1024 * 1024)
#define RECORD_OVERHEAD 100

/* A decimal number that ends at a comma; the kernel's are below 2^63. */
static bool take_number(const char **at, const char *end, char stop, long long *value)
{
    long long n = 0;
    const char *p = *at;

    while (p < end && *p >= '0' && *p <= '9') {
        if (n > (LLONG_MAX - 9) / 10)
            return false;
        n = n * 10 + (*p++ - '0');
    }
    if (p == *at || p >= end || *p != stop)
        return false;
    *at = p + 1;
    *value = n;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The kernel writes what is not printable, and the backslash, as \xNN. In place. */
static size_t unescape(char *text, size_t length)
{
    size_t used = 0;

    for (size_t i = 0; i < length; i++) {
        int high = -1, low = -1;
        if (text[i] == '\\' && length - i >= 4 && text[i + 1] == 'x') {
            high = hex_digit(text[i + 2]);
            low = hex_digit(text[i + 3]);
        }
        if (high >= 0 && low >= 0) {
            text[used++] = (char)(high << 4 | low);
            i += 3;
        } else {
            text[used++] = text[i];
        }
    }
    return used;
}

json_t *agent_kmsg_parse(const char *record, size_t length)
{
    const char *at = record, *end = record + length;
    long long priority, seq, time_us;

    if (!take_number(&at, end, ',', &priority) || !take_number(&at, end, ',', &seq) ||
        !take_number(&at, end, ',', &time_us))
        return NULL;
    const char *text = memchr(at, ';', (size_t)(end - at));
    if (!text)
        return NULL;
    text++;
    const char *stop = memchr(text, '\n', (size_t)(end - text));
    size_t text_length = (size_t)((stop ? stop : end) - text);
    cleanup_free char *copy = malloc(text_length + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, text_length);
    text_length = unescape(copy, text_length);
    return json_pack("{s:I, s:I, s:I, s:I, s:o}", "seq", (json_int_t)seq, "level",
                     (json_int_t)(priority & 7), "facility", (json_int_t)(priority >> 3), "time_us",
                     (json_int_t)time_us, "text", agent_json_text(copy, text_length));
}

/* The next record; 0 at the end of what is there, -1 with errno. */
static ssize_t read_record(int fd, char *buffer, size_t size)
{
    for (;;) {
        ssize_t n = read(fd, buffer, size);
        if (n >= 0)
            return n;
        if (errno == EAGAIN)
            return 0;
        /* EPIPE: records were overwritten under us. The next read goes on after the gap, which
           the numbers show. */
        if (errno != EINTR && errno != EPIPE)
            return -1;
    }
}

int agent_kmsg_read(const char *path, json_int_t since, json_t **result, struct agent_error *error)
{
    cleanup_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    cleanup_json json_t *records = json_array();
    json_int_t next = since > 0 ? since : 0, lost = 0;
    size_t bytes = 0;
    char buffer[8192 + 1]; /* no record is longer: CONSOLE_EXT_LOG_MAX, PRINTKRB_RECORD_MAX */

    if (fd < 0)
        return agent_fail(error, "reading the kernel's log needs root or dmesg_restrict=0",
                          "cannot open %s: %s", path, strerror(errno));
    while (bytes < REPLY_BYTES_MAX) {
        ssize_t n = read_record(fd, buffer, sizeof(buffer) - 1);
        if (n < 0)
            return agent_fail(error, NULL, "cannot read %s: %s", path, strerror(errno));
        if (n == 0)
            break;
        json_t *record = agent_kmsg_parse(buffer, (size_t)n);
        json_int_t seq = json_integer_value(json_object_get(record, "seq"));
        if (!record || seq < next) {
            json_decref(record);
            continue;
        }
        lost += seq - next;
        next = seq + 1;
        bytes += (size_t)n + RECORD_OVERHEAD;
        json_array_append_new(records, record);
    }
    *result = json_pack("{s:O, s:I, s:I}", "records", records, "lost", lost, "next", next);
    return *result ? 0 : agent_fail(error, NULL, "no memory");
}
