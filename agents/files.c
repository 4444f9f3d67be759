/*
 * files.c - see files.h.
 */
#include "files.h"

#include "base64.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *wanted_path(const json_t *request, struct agent_error *error)
{
    const char *path = json_string_value(json_object_get(request, "path"));

    if (path && path[0] == '/' && strlen(path) < PATH_MAX - 16)
        return path;
    agent_fail(error, NULL, "\"path\" is not an absolute path");
    return NULL;
}

/* The optional whole number KEY, within 0..MAX. */
static int wanted_number(const json_t *request, const char *key, json_int_t max, json_int_t *value,
                         struct agent_error *error)
{
    const json_t *number = json_object_get(request, key);

    if (!number || json_is_null(number))
        return 0;
    *value = json_integer_value(number);
    if (!json_is_integer(number) || *value < 0 || *value > max)
        return agent_fail(error, NULL, "\"%s\" is not a whole number from 0 to %lld", key,
                          (long long)max);
    return 0;
}

/* Write a new file beside PATH and move it there. */
static int replace(const char *path, mode_t mode, const void *bytes, size_t length,
                   struct agent_error *error)
{
    char folder[PATH_MAX], temporary[PATH_MAX];

    snprintf(folder, sizeof(folder), "%s", path);
    *strrchr(folder, '/') = '\0';
    if (folder[0] && agent_make_folders(folder) < 0)
        return agent_fail(error, NULL, "cannot make %s: %s", folder, strerror(errno));
    snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    cleanup_close int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return agent_fail(error, NULL, "cannot make %s: %s", temporary, strerror(errno));
    if (agent_write_all(fd, bytes, length) < 0 || fchmod(fd, mode) < 0 ||
        rename(temporary, path) < 0) {
        agent_fail(error, NULL, "cannot write %s: %s", path, strerror(errno));
        unlink(temporary);
        return -1;
    }
    return 0;
}

static int append(const char *path, mode_t mode, const void *bytes, size_t length,
                  struct agent_error *error)
{
    cleanup_close int fd =
        open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode);

    if (fd < 0 || agent_write_all(fd, bytes, length) < 0)
        return agent_fail(error, NULL, "cannot write %s: %s", path, strerror(errno));
    return 0;
}

int agent_put(const json_t *request, json_t **result, struct agent_error *error)
{
    const char *path = wanted_path(request, error);
    const json_t *data = json_object_get(request, "data");
    const json_t *append_to = json_object_get(request, "append");
    json_int_t mode = 0644;
    size_t length = 0;
    struct stat about;

    if (!path || wanted_number(request, "mode", 07777, &mode, error) < 0)
        return -1;
    if (append_to && !json_is_boolean(append_to) && !json_is_null(append_to))
        return agent_fail(error, NULL, "\"append\" is not true or false");
    cleanup_free unsigned char *bytes =
        json_is_string(data)
            ? agent_base64_decode(json_string_value(data), json_string_length(data), &length)
            : NULL;
    if (!bytes)
        return agent_fail(error, NULL, "\"data\" is not a base64 string");
    int (*write_file)(const char *, mode_t, const void *, size_t, struct agent_error *) =
        json_is_true(append_to) ? append : replace;
    if (write_file(path, (mode_t)mode, bytes, length, error) < 0)
        return -1;
    if (stat(path, &about) < 0)
        return agent_fail(error, NULL, "cannot stat %s: %s", path, strerror(errno));
    *result = json_pack("{s:I}", "size", (json_int_t)about.st_size);
    return 0;
}

/* Up to SIZE bytes at OFFSET; -1 with errno. */
static ssize_t read_at(int fd, char *bytes, size_t size, off_t offset)
{
    size_t used = 0;

    while (used < size) {
        ssize_t n = pread(fd, bytes + used, size - used, offset + (off_t)used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        used += (size_t)n;
    }
    return (ssize_t)used;
}

int agent_get(const json_t *request, json_t **result, struct agent_error *error)
{
    const char *path = wanted_path(request, error);
    json_int_t offset = 0, limit = AGENT_GET_MAX;
    struct stat about;

    if (!path || wanted_number(request, "offset", LLONG_MAX - AGENT_GET_MAX, &offset, error) < 0 ||
        wanted_number(request, "limit", AGENT_GET_MAX, &limit, error) < 0)
        return -1;
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &about) < 0)
        return agent_fail(error, NULL, "cannot open %s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return agent_fail(error, NULL, "%s is not a regular file", path);
    cleanup_free char *bytes = malloc((size_t)limit + 1);
    ssize_t n = bytes ? read_at(fd, bytes, (size_t)limit + 1, (off_t)offset) : -1;
    if (n < 0)
        return agent_fail(error, NULL, "cannot read %s: %s", path, strerror(errno));
    /* One byte more was asked for: files of /proc do not know their size. */
    bool eof = n <= limit;
    cleanup_free char *text = agent_base64_encode(bytes, (size_t)(eof ? n : limit));
    *result = json_pack("{s:s, s:I, s:b}", "data", text, "size",
                        (json_int_t)(about.st_size > offset + n ? about.st_size : offset + n),
                        "eof", eof);
    return *result ? 0 : agent_fail(error, NULL, "no memory");
}
