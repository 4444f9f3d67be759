/*
 * json-place.c - where in a JSON file a value stands: see json-place.h.
 *
 * jansson does not keep the lines of the values it parsed, so they are found again by walking the
 * text along the place. The text has been parsed successfully before: the walk only has to be safe
 * on anything else, not right.
 */
#include "json-place.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#define QUOTE_MAX 60

struct cursor {
    const char *at;
    const char *end;
};

static char peek(const struct cursor *c)
{
    return c->at < c->end ? *c->at : '\0';
}

static void skip_space(struct cursor *c)
{
    while (c->at < c->end && isspace((unsigned char)*c->at))
        c->at++;
}

static void skip_string(struct cursor *c)
{
    if (peek(c) == '"')
        c->at++;
    while (c->at < c->end && *c->at != '"')
        c->at += *c->at == '\\' && c->end - c->at > 1 ? 2 : 1;
    if (c->at < c->end)
        c->at++;
}

/* Counts brackets instead of recursing: the nesting is the file's author's choice. */
static void skip_value(struct cursor *c)
{
    size_t depth = 0;

    do {
        skip_space(c);
        switch (peek(c)) {
        case '"':
            skip_string(c);
            break;
        case '{':
        case '[':
            depth++;
            c->at++;
            break;
        case '}':
        case ']':
            if (depth == 0)
                return;
            depth--;
            c->at++;
            break;
        case ',':
        case ':':
            if (depth == 0)
                return;
            c->at++;
            break;
        default:
            if (c->at < c->end)
                c->at++;
            while (c->at < c->end && !isspace((unsigned char)*c->at) && !strchr(",:]}\"", *c->at))
                c->at++;
        }
    } while (depth > 0 && c->at < c->end);
}

/* Go to the value of KEY inside the object that C stands at; MARK gets where the key is. Keys
   written with escapes are not recognised: the line of the object has to do. */
static bool enter_key(struct cursor *c, const char *key, const char **mark)
{
    size_t length = strlen(key);

    skip_space(c);
    if (peek(c) != '{')
        return false;
    c->at++;
    while (c->at < c->end) {
        skip_space(c);
        const char *start = c->at;
        if (peek(c) != '"')
            return false;
        skip_string(c);
        bool found = (size_t)(c->at - start) == length + 2 && memcmp(start + 1, key, length) == 0;
        skip_space(c);
        if (peek(c) == ':')
            c->at++;
        if (found) {
            *mark = start;
            return true;
        }
        skip_value(c);
        skip_space(c);
        if (peek(c) != ',')
            return false;
        c->at++;
    }
    return false;
}

static bool enter_index(struct cursor *c, size_t index, const char **mark)
{
    skip_space(c);
    if (peek(c) != '[')
        return false;
    c->at++;
    for (size_t i = 0; i < index; i++) {
        skip_value(c);
        skip_space(c);
        if (peek(c) != ',')
            return false;
        c->at++;
    }
    skip_space(c);
    *mark = c->at;
    return c->at < c->end;
}

static bool walk(const struct nl_json_place *at, struct cursor *c, const char **mark)
{
    if (!at->parent) {
        skip_space(c);
        *mark = c->at;
        return true;
    }
    if (!walk(at->parent, c, mark))
        return false;
    return at->key ? enter_key(c, at->key, mark) : enter_index(c, at->index, mark);
}

int nl_json_place_line(const struct nl_json_place *at)
{
    const struct nl_json_source *source = at->source;
    int line = 1;

    if (!source->text)
        return 0;
    struct cursor c = {source->text, source->text + source->length};
    const char *mark = source->text;
    walk(at, &c, &mark);
    for (const char *p = source->text; p < mark; p++)
        line += *p == '\n';
    return line;
}

static bool is_plain_key(const char *key)
{
    if (!*key)
        return false;
    for (const char *c = key; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_' && *c != '$' && *c != '-')
            return false;
    return true;
}

static void print_place(const struct nl_json_place *at, FILE *out)
{
    if (!at->parent)
        return;
    print_place(at->parent, out);
    if (!at->key) {
        fprintf(out, "[%zu]", at->index);
    } else if (is_plain_key(at->key) && strlen(at->key) <= QUOTE_MAX) {
        fprintf(out, "%s%s", at->parent->parent ? "." : "", at->key);
    } else {
        cleanup_free char *quoted = nl_quote(at->key);
        fprintf(out, "[%s]", quoted ? quoted : "?");
    }
}

char *nl_json_place_name(const struct nl_json_place *at)
{
    char *name = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&name, &size);

    if (!out)
        return NULL;
    print_place(at, out);
    return nl_close_text(out, &name);
}

int nl_fail_at(struct nl_error **err, const struct nl_json_place *at, const char *format, ...)
{
    cleanup_free char *name = at->source->option ? NULL : nl_json_place_name(at);
    cleanup_free char *message = NULL;
    char line[16] = "";
    va_list args;

    va_start(args, format);
    if (vasprintf(&message, format, args) < 0)
        message = NULL;
    va_end(args);
    if (at->source->text)
        snprintf(line, sizeof(line), ":%d", nl_json_place_line(at));
    return nl_fail(err, NL_EXIT_REQUEST, "%s%s: %s%s%s", at->source->name, line, name ? name : "",
                   name && *name ? ": " : "", message ? message : "out of memory");
}

char *nl_quote(const char *text)
{
    size_t length = strlen(text);
    char *quoted = NULL;

    if (length <= QUOTE_MAX)
        return asprintf(&quoted, "\"%s\"", text) < 0 ? NULL : quoted;
    length = QUOTE_MAX;
    /* Not in the middle of a UTF-8 character. */
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    return asprintf(&quoted, "\"%.*s...\"", (int)length, text) < 0 ? NULL : quoted;
}
