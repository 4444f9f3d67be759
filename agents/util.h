/*
 * util.h - what every part of the agent needs: cleanup attributes, errors with a hint, small file
 * reads, clocks, and JSON strings made of bytes that nobody vouches for.
 */
#ifndef AGENT_UTIL_H
#define AGENT_UTIL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define AGENT_CLEANUP(function) __attribute__((cleanup(function)))

void agent_cleanup_freep(void *p);
void agent_cleanup_closep(int *fd);
void agent_cleanup_fclosep(FILE **file);
void agent_cleanup_jsonp(json_t **json);

#define cleanup_free AGENT_CLEANUP(agent_cleanup_freep)
#define cleanup_close AGENT_CLEANUP(agent_cleanup_closep)
#define cleanup_fclose AGENT_CLEANUP(agent_cleanup_fclosep)
#define cleanup_json AGENT_CLEANUP(agent_cleanup_jsonp)

/* Why a request failed; both are malloc'd, the hint may be NULL. */
struct agent_error {
    char *message;
    char *hint;
};

/* Set ERROR (an earlier message is replaced). HINT may be NULL. Returns -1. */
int agent_fail(struct agent_error *error, const char *hint, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void agent_error_clear(struct agent_error *error);
#define cleanup_agent_error AGENT_CLEANUP(agent_error_clear)

/* The whole file, up to LIMIT bytes, zero-terminated; NULL with errno. LENGTH may be NULL. */
char *agent_read_file(const char *path, size_t limit, size_t *length);

/* The first line of a file, without its newline and trailing blanks; NULL with errno. */
char *agent_read_line(const char *path);

/* Write all of it, through EINTR; -1 with errno. */
int agent_write_all(int fd, const void *bytes, size_t length);

/* Make the folder PATH and those above it; -1 with errno. */
int agent_make_folders(const char *path);

/* A line in the kernel's log, where the console shows it if LEVEL (0..7) is severe enough. As an
   ordinary process (no rights for /dev/kmsg) this does nothing. */
void agent_klog(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

double agent_uptime_s(void); /* CLOCK_BOOTTIME: what /proc/uptime shows */
int64_t agent_now_ms(void);  /* CLOCK_MONOTONIC */

/* A JSON string of LENGTH bytes; a byte that is not part of valid UTF-8, and zero, becomes the four
   characters \xNN. */
json_t *agent_json_text(const char *bytes, size_t length);
json_t *agent_json_string(const char *text);        /* the same, zero-terminated; NULL gives null */
json_t *agent_json_hex(uint64_t value, int digits); /* "0x..." */

#endif
