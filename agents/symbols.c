/*
 * symbols.c - see symbols.h.
 */
#include "symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A kernel's functions are smaller, and far below them is what is no address of a function. */
#define REACH (1024UL * 1024)

/* An address, and the nearest function at or below it so far. */
struct query {
    unsigned long long address, start;
    char name[128];
};

static int parse_queries(const json_t *request, struct query *queries, size_t *n,
                         struct agent_error *error)
{
    const json_t *addresses = json_object_get(request, "addresses");
    size_t i;
    json_t *address;

    *n = json_array_size(addresses);
    if (*n == 0 || *n > AGENT_SYMBOLS_MAX)
        return agent_fail(error, NULL, "\"addresses\" is not an array of 1 to %d strings",
                          AGENT_SYMBOLS_MAX);
    json_array_foreach(addresses, i, address)
    {
        const char *text = json_string_value(address);
        char *end = NULL;

        errno = 0;
        queries[i].address = text ? strtoull(text, &end, 16) : 0;
        if (!text || end == text || *end || errno)
            return agent_fail(error, NULL, "an address is not a hexadecimal number");
    }
    return 0;
}

/* "ffffffff81000000 T _text"; data are no place to be executing at. */
static void take_line(const char *line, struct query *queries, size_t n)
{
    unsigned long long start;
    char type, name[128];

    if (sscanf(line, "%llx %c %127s", &start, &type, name) != 3 || !strchr("tTwW", type))
        return;
    for (size_t i = 0; i < n; i++) {
        struct query *query = &queries[i];

        if (start == 0 || start > query->address || query->address - start > REACH ||
            start < query->start)
            continue;
        query->start = start;
        strcpy(query->name, name);
    }
}

int agent_symbols(const char *path, const json_t *request, json_t **result,
                  struct agent_error *error)
{
    struct query queries[AGENT_SYMBOLS_MAX] = {0};
    cleanup_fclose FILE *file = NULL;
    json_t *symbols;
    char line[512];
    size_t n;

    if (parse_queries(request, queries, &n, error) < 0)
        return -1;
    file = fopen(path, "re");
    if (!file)
        return agent_fail(error, NULL, "%s: %s", path, strerror(errno));
    while (fgets(line, sizeof(line), file))
        take_line(line, queries, n);
    symbols = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(symbols, queries[i].start == 0
                                           ? json_null()
                                           : json_sprintf("%s+0x%llx", queries[i].name,
                                                          queries[i].address - queries[i].start));
    *result = json_pack("{s:o}", "symbols", symbols);
    return 0;
}
