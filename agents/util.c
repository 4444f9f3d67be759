/*
 * util.c - see util.h.
 */
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void agent_cleanup_freep(void *p)
{
    free(*(void **)p);
}

void agent_cleanup_closep(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

void agent_cleanup_fclosep(FILE **file)
{
    if (*file)
        fclose(*file);
}

void agent_cleanup_jsonp(json_t **json)
{
    json_decref(*json);
}

int agent_fail(struct agent_error *error, const char *hint, const char *format, ...)
{
    char *message = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&message, format, args) < 0)
        message = NULL;
    va_end(args);
    agent_error_clear(error);
    error->message = message;
    error->hint = hint ? strdup(hint) : NULL;
    return -1;
}

void agent_error_clear(struct agent_error *error)
{
    free(error->message);
    free(error->hint);
    error->message = NULL;
    error->hint = NULL;
}

char *agent_read_file(const char *path, size_t limit, size_t *length)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    size_t size = 0, used = 0;
    char *text = NULL;

    if (fd < 0)
        return NULL;
    for (;;) {
        if (used + 1 >= size) {
            size = size ? size * 2 : 1024;
            char *grown = realloc(text, size);
            if (!grown)
                break;
            text = grown;
        }
        size_t room = size - used - 1;
        if (room > limit - used)
            room = limit - used;
        ssize_t n = room ? read(fd, text + used, room) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        if (n == 0) {
            text[used] = '\0';
            if (length)
                *length = used;
            return text;
        }
        used += (size_t)n;
    }
    int saved = errno;
    free(text);
    errno = saved;
    return NULL;
}

char *agent_read_line(const char *path)
{
    char *text = agent_read_file(path, 65536, NULL);

    if (!text)
        return NULL;
    size_t end = strcspn(text, "\n");
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\t' || text[end - 1] == '\r'))
        end--;
    text[end] = '\0';
    return text;
}

int agent_write_all(int fd, const void *bytes, size_t length)
{
    const char *at = bytes;

    while (length > 0) {
        ssize_t n = write(fd, at, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        at += n;
        length -= (size_t)n;
    }
    return 0;
}

int agent_make_folders(const char *path)
{
    char copy[PATH_MAX];

    if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (char *slash = copy; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        if (mkdir(copy, 0755) < 0 && errno != EEXIST)
            return -1;
        *slash = '/';
    }
    return mkdir(copy, 0755) < 0 && errno != EEXIST ? -1 : 0;
}

void agent_klog(int level, const char *format, ...)
{
    cleanup_close int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC | O_NOCTTY);
    char line[960]; /* the kernel takes about 1000 bytes a record */
    va_list args;

    if (fd < 0)
        return;
    int start = snprintf(line, sizeof(line), "<%d>nestlab-agent: ", level);
    va_start(args, format);
    int n = vsnprintf(line + start, sizeof(line) - (size_t)start, format, args);
    va_end(args);
    if (n < 0)
        return;
    size_t length = strlen(line);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line[i] < ' ')
            line[i] = ' ';
    agent_write_all(fd, line, length);
}

double agent_uptime_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    long ms = now.tv_nsec / 1000000; /* more digits would be noise in every event */
    return (double)now.tv_sec + (double)ms / 1000.0;
}

int64_t agent_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Bytes of the UTF-8 sequence that starts at BYTES, 0 if there is none: shortest forms only, no
   surrogates, as JSON wants it. */
static size_t utf8_length(const unsigned char *bytes, size_t left)
{
    static const struct {
        size_t length;
        uint32_t least;
        unsigned char mask, lead;
    } forms[] = {{1, 1, 0x80, 0x00},
                 {2, 0x80, 0xe0, 0xc0},
                 {3, 0x800, 0xf0, 0xe0},
                 {4, 0x10000, 0xf8, 0xf0}};

    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
        if ((bytes[0] & forms[f].mask) != forms[f].lead)
            continue;
        if (left < forms[f].length)
            return 0;
        uint32_t code = bytes[0] & (unsigned char)~forms[f].mask;
        for (size_t i = 1; i < forms[f].length; i++) {
            if ((bytes[i] & 0xc0) != 0x80)
                return 0;
            code = code << 6 | (bytes[i] & 0x3f);
        }
        bool valid = code >= forms[f].least && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
        return valid ? forms[f].length : 0;
    }
    return 0;
}

json_t *agent_json_text(const char *bytes, size_t length)
{
    const unsigned char *in = (const unsigned char *)bytes;
    cleanup_free char *out = malloc(length * 4 + 1);
    size_t used = 0;

    if (!out)
        return NULL;
    for (size_t i = 0; i < length;) {
        size_t n = utf8_length(in + i, length - i);
        if (n == 0) {
            used += (size_t)sprintf(out + used, "\\x%02x", in[i++]);
            continue;
        }
        memcpy(out + used, in + i, n);
        used += n;
        i += n;
    }
    return json_stringn_nocheck(out, used);
}

json_t *agent_json_string(const char *text)
{
    return text ? agent_json_text(text, strlen(text)) : json_null();
}

json_t *agent_json_hex(uint64_t value, int digits)
{
    char text[32];

    snprintf(text, sizeof(text), "0x%0*llx", digits, (unsigned long long)value);
    return json_string(text);
}
