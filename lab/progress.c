/*
 * progress.c - steps on standard error: see progress.h.
 */
#include "progress.h"
#include "deadline.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

#define PLAIN_INTERVAL_MS 10000
#define LINE_MAX_CHARS 400

static struct {
    bool quiet;
    bool open;
    char what[LINE_MAX_CHARS];
    char last[LINE_MAX_CHARS];
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

/* Text may quote a guest: keep it from moving the cursor. */
static void make_printable(char *text)
{
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
}

static void draw_live(const char *detail)
{
    struct winsize size = {0};
    char line[2 * LINE_MAX_CHARS + 64];
    int width = 80;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
        width = size.ws_col;
    snprintf(line, sizeof(line), "%s%s%s  %.0f s", step.what, detail[0] ? ": " : " ...", detail,
             seconds_open());
    fprintf(stderr, "\r\033[K%.*s", width - 1, line);
    fflush(stderr);
}

static void clear_live(void)
{
    if (step.open && is_live())
        fputs("\r\033[K", stderr);
}

static void print_line(const char *format, va_list args, const char *suffix)
{
    char text[LINE_MAX_CHARS];

    vsnprintf(text, sizeof(text), format, args);
    make_printable(text);
    fprintf(stderr, "%s%s\n", text, suffix);
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
    vsnprintf(step.what, sizeof(step.what), format, args);
    va_end(args);
    make_printable(step.what);
    step.open = true;
    step.last[0] = '\0';
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
    vsnprintf(step.last, sizeof(step.last), format, args);
    va_end(args);
    make_printable(step.last);
    if (is_live()) {
        draw_live(step.last);
    } else if (nl_now_ms() - step.printed >= PLAIN_INTERVAL_MS) {
        step.printed = nl_now_ms();
        fprintf(stderr, "%s: %s (%.0f s so far)\n", step.what, step.last, seconds_open());
    }
}

void nl_progress_end(const char *format, ...)
{
    char result[LINE_MAX_CHARS];
    va_list args;

    if (!step.open)
        return;
    va_start(args, format);
    vsnprintf(result, sizeof(result), format, args);
    va_end(args);
    make_printable(result);
    clear_live();
    step.open = false;
    if (!step.quiet)
        fprintf(stderr, "%s: %s (%.1f s)\n", step.what, result, seconds_open());
}

void nl_progress_note(const char *format, ...)
{
    va_list args;

    if (step.quiet)
        return;
    clear_live();
    va_start(args, format);
    print_line(format, args, "");
    va_end(args);
}
