/*
 * symbols.c - names of addresses in this layer's kernel: see symbols.h.
 */
#include "symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESSES_MAX 100000
#define TABLE_MAX (64 << 20)
/* A kernel's functions are smaller, and what is so far above the last one is no address of code. */
#define REACH (1024UL * 1024)

struct symbol {
    uint64_t start;
    const char *name; /* in the table's text */
    size_t line;      /* of several names for one address the first counts */
};

struct symbols {
    char *text;
    struct symbol *list; /* sorted */
    size_t n;
};

static void clear_symbols(struct symbols *symbols)
{
    free(symbols->text);
    free(symbols->list);
}

static int compare(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->line > y->line ? -1 : x->line < y->line;
}

/* "ffffffff81000000 T name", for modules "ffffffffc0000000 t name\t[module]"; only code. */
static bool read_symbol(char *line, struct symbol *symbol)
{
    char *rest;

    symbol->start = strtoull(line, &rest, 16);
    if (rest == line || rest[0] != ' ' || !rest[1] || !strchr("tTwW", rest[1]) || rest[2] != ' ')
        return false;
    symbol->name = rest + 3;
    rest = strchr(rest, '\t');
    if (rest)
        *rest = ' ';
    return symbol->start && *symbol->name;
}

static int read_table(const char *file, struct symbols *symbols, struct agent_error *error)
{
    size_t lines = 1;
    char *next;

    symbols->text = agent_read_file(file, TABLE_MAX, NULL);
    if (!symbols->text)
        return agent_fail(error, NULL, "%s: %s", file, strerror(errno));
    for (const char *c = symbols->text; *c; c++)
        lines += *c == '\n';
    symbols->list = calloc(lines, sizeof *symbols->list);
    if (!symbols->list)
        return agent_fail(error, NULL, "no memory");
    for (char *line = symbols->text; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        symbols->list[symbols->n].line = symbols->n;
        symbols->n += read_symbol(line, &symbols->list[symbols->n]);
    }
    if (!symbols->n)
        return agent_fail(error, "only root sees addresses, and only if kernel.kptr_restrict is 0",
                          "%s has no address of a function", file);
    qsort(symbols->list, symbols->n, sizeof *symbols->list, compare);
    return 0;
}

/* The last symbol that starts at or before ADDRESS, not far from it, or NULL. */
static const struct symbol *find(const struct symbols *symbols, uint64_t address)
{
    size_t low = 0, high = symbols->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (symbols->list[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address - symbols->list[low - 1].start >= REACH)
        return NULL;
    return &symbols->list[low - 1];
}

static json_t *describe(const struct symbol *symbol, uint64_t address)
{
    if (!symbol)
        return json_null();
    return json_pack("[o, I]", agent_json_string(symbol->name),
                     (json_int_t)(address - symbol->start));
}

int agent_symbols(const char *file, const json_t *addresses, json_t **result,
                  struct agent_error *error)
{
    AGENT_CLEANUP(clear_symbols) struct symbols symbols = {0};
    cleanup_json json_t *names = json_array();
    size_t i;
    json_t *address;

    if (!json_is_array(addresses) || json_array_size(addresses) > ADDRESSES_MAX)
        return agent_fail(error, NULL, "\"addresses\" is not an array of at most %d",
                          ADDRESSES_MAX);
    if (read_table(file, &symbols, error))
        return -1;
    json_array_foreach(addresses, i, address)
    {
        const char *text = json_string_value(address);
        char *end = NULL;
        uint64_t value;

        errno = 0;
        value = text ? strtoull(text, &end, 16) : 0;
        if (!text || end == text || *end || errno)
            return agent_fail(error, NULL, "address %zu is not a string such as \"0xffff\"", i);
        json_array_append_new(names, describe(find(&symbols, value), value));
    }
    *result = json_pack("{s:O}", "symbols", names);
    return *result ? 0 : agent_fail(error, NULL, "no memory");
}
