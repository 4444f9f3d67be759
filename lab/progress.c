/*
 * progress.c - steps on standard error: see progress.h.
 */
#include "progress.h"
#include "deadline.h"
#include "printable.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

#define PLAIN_INTERVAL_MS 10000
#define TEXT_CHARACTERS 250
#define TEXT_BYTES (4 * TEXT_CHARACTERS + 1)

static struct {
    bool quiet;
    bool open;
    char what[TEXT_BYTES];
    char last[TEXT_BYTES];
    char item[48]; /* " 5 of 6", or nothing */
    int64_t started;
    int64_t printed;
} step;

static bool is_live(void)
{
    return isatty(STDERR_FILENO);
}

static double seconds_open(void)
{
    return (double)(nl_now_ms() - step.started) / 1000.0;
}

/* Printable: it may quote a guest, which must not move the cursor. At most CHARACTERS; 0: all. */
static char *format_text(size_t characters, const char *format, va_list args)
{
    cleanup_free char *formatted = NULL;

    if (vasprintf(&formatted, format, args) < 0)
        formatted = NULL;
    return nl_printable(formatted, characters);
}

static void put_text(char text[TEXT_BYTES], const char *format, va_list args)
{
    cleanup_free char *printable = format_text(TEXT_CHARACTERS, format, args);

    snprintf(text, TEXT_BYTES, "%s", printable ? printable : "");
}

static void draw_live(const char *detail)
{
    struct winsize size = {0};
    cleanup_free char *line = NULL;
    cleanup_free char *fitting = NULL;
    int width = 80;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
        width = size.ws_col;
    if (asprintf(&line, "%s%s%s%s  %.0f s", step.what, step.item, detail[0] ? ": " : " ...", detail,
                 seconds_open()) < 0)
        return;
    fitting = nl_printable(line, (size_t)width - 1);
    fprintf(stderr, "\r\033[K%s", fitting ? fitting : "");
    fflush(stderr);
}

static void clear_live(void)
{
    if (step.open && is_live())
        fputs("\r\033[K", stderr);
}

void nl_progress_quiet(bool quiet)
{
    step.quiet = quiet;
}

bool nl_progress_is_quiet(void)
{
    return step.quiet;
}

void nl_progress_begin(const char *format, ...)
{
    va_list args;

    if (step.open)
        nl_progress_end("done");
    va_start(args, format);
    put_text(step.what, format, args);
    va_end(args);
    step.open = true;
    step.last[0] = step.item[0] = '\0';
    step.started = step.printed = nl_now_ms();
    if (step.quiet)
        return;
    if (is_live())
        draw_live("");
    else
        fprintf(stderr, "%s ...\n", step.what);
}

void nl_progress_update(const char *format, ...)
{
    va_list args;

    if (!step.open || step.quiet)
        return;
    va_start(args, format);
    put_text(step.last, format, args);
    va_end(args);
    if (is_live()) {
        draw_live(step.last);
    } else if (nl_now_ms() - step.printed >= PLAIN_INTERVAL_MS) {
        step.printed = nl_now_ms();
        fprintf(stderr, "%s%s: %s (%.0f s so far)\n", step.what, step.item, step.last,
                seconds_open());
    }
}

void nl_progress_item(size_t number, size_t of)
{
    snprintf(step.item, sizeof(step.item), " %zu of %zu", number, of);
}

void nl_progress_end(const char *format, ...)
{
    char result[TEXT_BYTES];
    va_list args;

    if (!step.open)
        return;
    va_start(args, format);
    put_text(result, format, args);
    va_end(args);
    clear_live();
    step.open = false;
    if (!step.quiet)
        fprintf(stderr, "%s: %s (%.1f s)\n", step.what, result, seconds_open());
}

void nl_progress_note(const char *format, ...)
{
    cleanup_free char *text = NULL;
    va_list args;

    if (step.quiet)
        return;
    va_start(args, format);
    text = format_text(0, format, args);
    va_end(args);
    clear_live();
    fprintf(stderr, "%s\n", text ? text : "");
}
