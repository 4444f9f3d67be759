/*
 * exits.c - VM exits while a benchmark ran: see exits.h.
 */
#include "exits.h"
#include "cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
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

/* Far more than KVM has. */
#define REASONS_MAX 256

struct reason {
    const char *name;
    json_int_t times;
};

struct reasons {
    struct reason list[REASONS_MAX];
    size_t n;
};

/* Two codes may have one name, those that only flags tell apart. */
static struct reason *reason_of(struct reasons *reasons, const char *name)
{
    for (size_t i = 0; i < reasons->n; i++)
        if (!strcmp(reasons->list[i].name, name))
            return &reasons->list[i];
    if (reasons->n == REASONS_MAX)
        return NULL;
    reasons->list[reasons->n] = (struct reason){.name = name};
    return &reasons->list[reasons->n++];
}

/* SIGN times what ARRAY counts. */
static void add_reasons(struct reasons *reasons, const json_t *array, int sign)
{
    size_t i;
    json_t *item;

    json_array_foreach(array, i, item)
    {
        const char *name = json_string_value(json_object_get(item, "reason"));
        json_int_t times = json_integer_value(json_object_get(item, "times"));
        struct reason *reason = name && times > 0 ? reason_of(reasons, name) : NULL;

        if (reason && times <= INT64_MAX / 2 - llabs(reason->times))
            reason->times += sign * times;
    }
}

static int more_first(const void *a, const void *b)
{
    const struct reason *one = a, *other = b;

    if (one->times != other->times)
        return one->times < other->times ? 1 : -1;
    return strcmp(one->name, other->name);
}

static void append_reasons(json_t *counts, const char *layer, bool inside, struct reasons *reasons)
{
    json_t *array = json_array();

    qsort(reasons->list, reasons->n, sizeof(reasons->list[0]), more_first);
    for (size_t i = 0; i < reasons->n && reasons->list[i].times > 0; i++)
        json_array_append_new(array, json_pack("{s:s, s:I}", "reason", reasons->list[i].name,
                                               "times", reasons->list[i].times));
    json_array_append_new(
        counts, json_pack("{s:s, s:b, s:o}", "layer", layer, "inside", inside, "reasons", array));
}

void nl_exits_by_reason(const char *layer, const json_t *reply, json_t *counts)
{
    const json_t *inside = json_object_get(reply, "inside");
    struct reasons own = {0}, nested = {0};

    if (!json_is_array(json_object_get(reply, "exits")))
        return;
    add_reasons(&own, json_object_get(reply, "exits"), 1);
    add_reasons(&own, inside, -1);
    append_reasons(counts, layer, false, &own);
    if (!json_is_array(inside))
        return;
    add_reasons(&nested, inside, 1);
    append_reasons(counts, layer, true, &nested);
}
