/*
 * dig.c - reading untrusted JSON: see dig.h.
 */
#include "dig.h"

#include <string.h>

const json_t *nl_dig(const json_t *root, const char *path)
{
    while (root) {
        const char *dot = strchrnul(path, '.');

        root = json_object_getn(root, path, (size_t)(dot - path));
        if (!*dot)
            break;
        path = dot + 1;
    }
    return json_is_null(root) ? NULL : root;
}

const char *nl_dig_string(const json_t *root, const char *path, const char *fallback)
{
    const char *text = json_string_value(nl_dig(root, path));

    return text ? text : fallback;
}

double nl_dig_number(const json_t *root, const char *path, double fallback)
{
    const json_t *value = nl_dig(root, path);

    return json_is_number(value) ? json_number_value(value) : fallback;
}

json_int_t nl_dig_integer(const json_t *root, const char *path, json_int_t fallback)
{
    const json_t *value = nl_dig(root, path);

    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

bool nl_dig_true(const json_t *root, const char *path)
{
    return json_is_true(nl_dig(root, path));
}

const json_t *nl_dig_layer(const json_t *document, const char *name)
{
    size_t i;
    json_t *layer;

    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        if (name && nl_dig_is(layer, "name", name))
            return layer;
    }
    return NULL;
}

json_t *nl_dig_by_name(const json_t *array)
{
    json_t *by_name = json_object();
    size_t i;
    json_t *element;

    json_array_foreach(array, i, element)
    {
        const char *name = nl_dig_string(element, "name", NULL);

        if (name && !json_object_get(by_name, name))
            json_object_set(by_name, name, element);
    }
    return by_name;
}

bool nl_dig_is(const json_t *root, const char *path, const char *text)
{
    return strcmp(nl_dig_string(root, path, ""), text) == 0;
}

double nl_dig_sum(const json_t *numbers)
{
    double total = 0;
    size_t i;
    json_t *number;

    json_array_foreach(numbers, i, number) total += json_number_value(number);
    return total;
}
