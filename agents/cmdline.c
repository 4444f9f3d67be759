/*
 * cmdline.c - see cmdline.h.
 */
#include "cmdline.h"

#include "util.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The next word of *AT without its quotes, malloc'd; NULL at the end. */
static char *next_word(const char **at)
{
    const char *from = *at;
    bool quoted = false;
    size_t used = 0;

    while (isspace((unsigned char)*from))
        from++;
    if (*from == '\0')
        return NULL;
    char *word = malloc(strlen(from) + 1);
    if (!word)
        return NULL;
    for (; *from && (quoted || !isspace((unsigned char)*from)); from++) {
        if (*from == '"')
            quoted = !quoted;
        else
            word[used++] = *from;
    }
    word[used] = '\0';
    *at = from;
    return word;
}

static char dashed(char c)
{
    return c == '-' ? '_' : c;
}

/* WORD begins with NAME, '-' being '_'. */
static bool begins_with(const char *word, const char *name)
{
    while (*name && dashed(*word) == dashed(*name)) {
        word++;
        name++;
    }
    return *name == '\0';
}

char *agent_cmdline_value(const char *cmdline, const char *key)
{
    size_t length = strlen(key);
    char *value = NULL;

    for (;;) {
        cleanup_free char *word = next_word(&cmdline);
        if (!word || strcmp(word, "--") == 0)
            return value;
        if (!begins_with(word, key) || (word[length] != '=' && word[length] != '\0'))
            continue;
        free(value);
        value = strdup(word[length] == '=' ? word + length + 1 : "");
    }
}

char *agent_cmdline_parameters(const char *cmdline, const char *module)
{
    /* No parameter grows but by its quotes, and those it had before, or it has no blank. */
    char *all = calloc(1, strlen(cmdline) * 2 + 3);
    size_t length = strlen(module);

    if (!all)
        return NULL;
    for (;;) {
        cleanup_free char *word = next_word(&cmdline);
        if (!word || strcmp(word, "--") == 0)
            return all;
        if (!begins_with(word, module) || word[length] != '.' || word[length + 1] == '\0')
            continue;
        const char *parameter = word + length + 1;
        const char *quote = parameter[strcspn(parameter, " \t\n")] ? "\"" : "";
        sprintf(all + strlen(all), "%s%s%s%s", *all ? " " : "", quote, parameter, quote);
    }
}

char *agent_cmdline_own(const char *key)
{
    cleanup_free char *cmdline = agent_read_file("/proc/cmdline", 65536, NULL);

    return cmdline ? agent_cmdline_value(cmdline, key) : NULL;
}
