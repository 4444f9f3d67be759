/*
 * exits.c - VM exits while a benchmark ran: see exits.h.
 */
#include "exits.h"
#include "cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* As KVM calls them (Documentation/virt/kvm/api.rst, KVM_GET_STATS_FD), for the sum over vCPUs. */
static const char *const counted[] = {"exits",      "irq_exits",  "io_exits",  "mmio_exits",
                                      "halt_exits", "hypercalls", "nested_run"};

/* vcpu.N.NAME.sum of all N; false: there is none. */
static bool sum_of(const json_t *counters, const char *name, json_int_t *sum)
{
    bool found = false;
    const char *key;
    json_t *value;

    *sum = 0;
    json_object_foreach((json_t *)counters, key, value)
    {
        const char *dot = strncmp(key, "vcpu.", 5) == 0 ? strchr(key + 5, '.') : NULL;
        size_t length = strlen(name);
        const char *text = json_string_value(value);

        if (!dot || !text || strncmp(dot + 1, name, length) != 0 ||
            strcmp(dot + 1 + length, ".sum") != 0)
            continue;
        errno = 0;
        *sum += strtoll(text, NULL, 10);
        found = errno == 0;
    }
    return found;
}

static json_t *of_domain(size_t index, const json_t *before, const json_t *after)
{
    json_t *exits = json_object();

    json_object_set_new(exits, "layer", json_sprintf("L%zu", index));
    for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
        json_int_t from, to;

        if (sum_of(before, counted[i], &from) && sum_of(after, counted[i], &to) && to >= from)
            json_object_set_new(exits, counted[i], json_integer(to - from));
    }
    return exits;
}

json_t *nl_exits_between(const json_t *before, const json_t *after)
{
    json_t *array = json_array();
    size_t i;
    json_t *counters;

    json_array_foreach(after, i, counters)
    {
        cleanup_json json_t *exits = of_domain(i, json_array_get(before, i), counters);

        if (json_object_get(exits, "exits"))
            json_array_append(array, exits);
    }
    return array;
}
