/*
 * error.c - error objects: see error.h.
 */
#include "error.h"
#include "printable.h"

#include <stdarg.h>
#include <string.h>

struct nl_error {
    char *message;
    char *hint;
    enum nl_exit status;
};

static char *format_string(const char *format, va_list args)
{
    char *text = NULL;

    if (vasprintf(&text, format, args) < 0)
        return NULL;
    return text;
}

static void set_error(struct nl_error **err, enum nl_exit status, char *message)
{
    if (!err) {
        free(message);
        return;
    }
    nl_error_free(err);
    *err = calloc(1, sizeof(**err));
    if (!*err) {
        free(message);
        return;
    }
    (*err)->message = message;
    (*err)->status = status;
}

int nl_fail(struct nl_error **err, enum nl_exit status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    set_error(err, status, format_string(format, args));
    va_end(args);
    return -1;
}

int nl_fail_errno(struct nl_error **err, enum nl_exit status, int errnum, const char *format, ...)
{
    cleanup_free char *what = NULL;
    char *message = NULL;
    va_list args;

    va_start(args, format);
    what = format_string(format, args);
    va_end(args);
    if (asprintf(&message, "%s: %s", what ? what : "?", strerror(errnum)) < 0)
        message = NULL;
    set_error(err, status, message);
    return -1;
}

int nl_wrap(struct nl_error **err, const char *format, ...)
{
    cleanup_free char *what = NULL;
    char *message = NULL;
    va_list args;

    if (!err || !*err)
        return -1;
    va_start(args, format);
    what = format_string(format, args);
    va_end(args);
    if (asprintf(&message, "%s: %s", what ? what : "?", nl_error_message(*err)) < 0)
        return -1;
    free((*err)->message);
    (*err)->message = message;
    return -1;
}

int nl_hint(struct nl_error **err, const char *format, ...)
{
    va_list args;

    if (!err || !*err || (*err)->hint)
        return -1;
    va_start(args, format);
    (*err)->hint = format_string(format, args);
    va_end(args);
    return -1;
}

const char *nl_error_message(const struct nl_error *err)
{
    return err && err->message ? err->message : "out of memory";
}

const char *nl_error_hint(const struct nl_error *err)
{
    return err ? err->hint : NULL;
}

enum nl_exit nl_error_status(const struct nl_error *err)
{
    return err ? err->status : NL_EXIT_LAB;
}

static void print_line(const char *before, const char *text)
{
    cleanup_free char *shown = nl_printable(text, 0);

    fprintf(stderr, "nestlab: %s%s\n", before, shown ? shown : "out of memory");
}

void nl_error_print(const struct nl_error *err)
{
    print_line("", nl_error_message(err));
    if (nl_error_hint(err))
        print_line("hint: ", nl_error_hint(err));
}

void nl_error_free(struct nl_error **err)
{
    if (!err || !*err)
        return;
    free((*err)->message);
    free((*err)->hint);
    free(*err);
    *err = NULL;
}
