/*
 * evidence-convert.c - module parameters and journal entries into lines: see evidence-convert.h.
 * XML is in evidence-xml.c.
 */
#include "evidence-convert.h"
#include "cleanup.h"

#include <stdbool.h>
#include <string.h>

#define PARAMETER_MAX 512

size_t nl_squeeze_blanks(const char *text, size_t length, char *to)
{
    size_t n = 0;

    for (size_t i = 0; i < length; i++) {
        if (text[i] != ' ')
            to[n++] = text[i];
        else if (n > 0 && to[n - 1] != ' ')
            to[n++] = ' ';
    }
    return n > 0 && to[n - 1] == ' ' ? n - 1 : n;
}

static bool starts_with(const char *text, size_t length, const char *start)
{
    return length >= strlen(start) && memcmp(text, start, strlen(start)) == 0;
}

/* The kernel takes both in names of modules and shows '_'. */
static void join(const char *module, size_t module_length, const char *rest, size_t rest_length,
                 unsigned long number, nl_converted *take, void *context)
{
    char line[PARAMETER_MAX];

    if (module_length + rest_length + 1 > sizeof(line))
        return;
    for (size_t i = 0; i < module_length; i++)
        line[i] = module[i] == '-' ? '_' : module[i];
    line[module_length] = '.';
    memcpy(line + module_length + 1, rest, rest_length);
    take(context, line, module_length + 1 + rest_length, number);
}

/* "/sys/module/MODULE/parameters/NAME:VALUE", as `grep . FILE...` prints it. */
static bool convert_grep(const char *text, size_t length, unsigned long number, nl_converted *take,
                         void *context)
{
    static const char folder[] = "/sys/module/";
    static const char between[] = "/parameters/";
    const char *module = text + strlen(folder);
    const char *name, *colon;
    char rest[PARAMETER_MAX];
    size_t n;

    if (!starts_with(text, length, folder))
        return false;
    name = memmem(module, length - strlen(folder), between, strlen(between));
    if (!name)
        return true;
    n = (size_t)(text + length - (name + strlen(between)));
    if (n >= sizeof(rest))
        return true;
    memcpy(rest, name + strlen(between), n);
    colon = memchr(rest, ':', n);
    if (!colon)
        return true;
    rest[colon - rest] = '=';
    join(module, (size_t)(name - module), rest, n, number, take, context);
    return true;
}

/* The next word of a line without tabs; false: there is none. */
static bool next_word(const char **at, const char *end, const char **word, size_t *length)
{
    while (*at < end && **at == ' ')
        (*at)++;
    *word = *at;
    while (*at < end && **at != ' ')
        (*at)++;
    *length = (size_t)(*at - *word);
    return *length > 0;
}

void nl_convert_parameters(const char *text, size_t length, unsigned long number,
                           nl_converted *take, void *context)
{
    const char *at = text, *end = text + length;
    const char *module = NULL, *word;
    size_t module_length = 0, n;

    if (convert_grep(text, length, number, take, context))
        return;
    if (!next_word(&at, end, &word, &n) || *word == '#')
        return;
    if (n == strlen("options") && memcmp(word, "options", n) == 0) {
        if (!next_word(&at, end, &module, &module_length))
            return;
    } else {
        at = word;
    }
    while (next_word(&at, end, &word, &n)) {
        const char *equals = memchr(word, '=', n);
        const char *dot = equals ? memchr(word, '.', (size_t)(equals - word)) : NULL;

        if (module)
            join(module, module_length, word, n, number, take, context);
        else if (dot)
            join(word, (size_t)(dot - word), dot + 1, (size_t)(word + n - dot - 1), number, take,
                 context);
    }
}

/* A journal gives a message that is not UTF-8 as an array of bytes. */
static char *message_of(const json_t *message)
{
    size_t n = json_array_size(message);
    char *text;

    if (json_is_string(message))
        return strdup(json_string_value(message));
    text = json_is_array(message) ? malloc(n + 1) : NULL;
    if (!text)
        return NULL;
    for (size_t i = 0; i < n; i++)
        text[i] = (char)json_integer_value(json_array_get(message, i));
    text[n] = '\0';
    return text;
}

int nl_convert_journal(const char *text, size_t length, char **message, char **program)
{
    cleanup_json json_t *entry = json_loadb(text, length, 0, NULL);
    const char *name = json_string_value(json_object_get(entry, "SYSLOG_IDENTIFIER"));

    *message = message_of(json_object_get(entry, "MESSAGE"));
    *program = strdup(name ? name : "");
    if (*message && *program)
        return 0;
    free(nl_steal(message));
    free(nl_steal(program));
    return -1;
}
