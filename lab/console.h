/*
 * console.h - a guest's serial console: kept in a file as it comes (so whoever looks at it live
 * follows the file), its last lines at hand, its bytes counted (progress for the hang watch).
 *
 * Safe from several threads, but for closing.
 */
#ifndef NL_CONSOLE_H
#define NL_CONSOLE_H

#include "link.h"

struct nl_console;

/* Open the console of a paused DOMAIN; what it says goes to FILE (appended). */
int nl_console_open(virDomainPtr domain, const char *file, struct nl_console **console,
                    struct nl_error **err);
/* A console read by another means, or a test: bytes are fed by hand; LENGTH 0 ends it. */
int nl_console_open_detached(const char *file, struct nl_console **console, struct nl_error **err);
void nl_console_feed(struct nl_console *console, const char *bytes, size_t length);

/* Bytes so far, and nl_now_ms() of the last one (0: none yet). */
unsigned long long nl_console_bytes(const struct nl_console *console);
int64_t nl_console_last_ms(const struct nl_console *console);
bool nl_console_ended(const struct nl_console *console);

/* The last N lines (NL_CONSOLE_LINES at most) as an array of printable strings (new reference):
   UTF-8, no terminal control sequences, other bytes as \xNN, long lines cut. A line begun counts as
   one. */
#define NL_CONSOLE_LINES 200
json_t *nl_console_tail(struct nl_console *console, size_t n);
/* The last line that is not blank, printable; the text is the caller's, "" when there is none. */
char *nl_console_last_line(struct nl_console *console);
/* Does any line so far contain one of the marks of a dead kernel ("Kernel panic", ...)? The mark.
 */
const char *nl_console_crash(const struct nl_console *console);

/* Type into it. Queued, does not block. */
int nl_console_write(struct nl_console *console, const char *bytes, size_t length,
                     struct nl_error **err);

void nl_console_close(struct nl_console **console);

#endif
