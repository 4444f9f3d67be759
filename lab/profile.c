/*
 * profile.c - functions by layer: see profile.h.
 */
#include "profile.h"
#include "cleanup.h"
#include "dig.h"

#include <string.h>

#define USER_SPACE "user space"

struct function {
    unsigned layer;
    char *module; /* "kernel", a module's name, or USER_SPACE */
    char *name;
    uint64_t instructions;
};

static void free_functions(struct function *functions, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(functions[i].module);
        free(functions[i].name);
    }
    free(functions);
}

/* "svm_vcpu_run [kvm_amd]" in its two parts. */
static void set_names(struct function *function, const struct nl_meter_place *place,
                      const char *name)
{
    const char *bracket = name ? strrchr(name, '[') : NULL;
    size_t length = name ? strlen(name) : 0;
    bool module = bracket && bracket > name + 1 && name[length - 1] == ']';

    if (!place->address) {
        function->module = strdup(USER_SPACE);
        function->name = strdup(USER_SPACE);
    } else if (!name) {
        function->module = strdup("kernel");
        function->name = strdup("unknown");
    } else {
        function->module = module ? strndup(bracket + 1, length - (size_t)(bracket + 1 - name) - 1)
                                  : strdup("kernel");
        function->name =
            strndup(name, module ? (size_t)(bracket - name) - (bracket[-1] == ' ') : length);
    }
}

static bool is_same(const struct function *a, const struct function *b)
{
    return a->layer == b->layer && a->module && b->module && a->name && b->name &&
           strcmp(a->name, b->name) == 0 && strcmp(a->module, b->module) == 0;
}

static int most_first(const void *a, const void *b)
{
    const struct function *x = a, *y = b;

    if (x->instructions != y->instructions)
        return x->instructions > y->instructions ? -1 : 1;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    return strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

/* Places are sorted by layer and address, so those of one function are neighbours, but for parts
   that the compiler put elsewhere. */
static size_t add_up(const struct nl_meter_place *places, const json_t *names, size_t n,
                     struct function *functions)
{
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        struct function one = {.layer = places[i].layer, .instructions = places[i].instructions};
        size_t k = used;

        set_names(&one, &places[i], json_string_value(json_array_get(names, i)));
        while (k > 0 && !is_same(&functions[k - 1], &one))
            k--;
        if (k == 0) {
            functions[used++] = one;
            continue;
        }
        functions[k - 1].instructions += one.instructions;
        free(one.module);
        free(one.name);
    }
    return used;
}

static json_t *function_json(const struct function *function)
{
    return json_pack("{s:o, s:s?, s:s?, s:I}", "layer", json_sprintf("L%u", function->layer),
                     "module", function->module, "function", function->name, "instructions",
                     (json_int_t)function->instructions);
}

json_t *nl_profile(const struct nl_meter_place *places, const json_t *names, size_t n,
                   uint64_t operations)
{
    struct function *functions = calloc(n + 1, sizeof(*functions));
    json_t *list = json_array();
    size_t used;

    if (!functions)
        return NULL;
    used = add_up(places, names, n, functions);
    qsort(functions, used, sizeof(*functions), most_first);
    for (size_t i = 0; i < used; i++)
        json_array_append_new(list, function_json(&functions[i]));
    free_functions(functions, used);
    return json_pack("{s:I, s:o}", "operations", (json_int_t)operations, "functions", list);
}

/* A frame must hold neither ';' nor a line's end. */
static void print_frame(const char *text, FILE *out)
{
    for (; *text; text++)
        fputc(*text == ';' || (unsigned char)*text < ' ' ? '_' : *text, out);
}

void nl_profile_folded(const json_t *profile, const char *benchmark, const char *layer, FILE *out)
{
    size_t i;
    json_t *function;

    json_array_foreach(json_object_get(profile, "functions"), i, function)
    {
        const char *name = nl_dig_string(function, "function", "?");
        const char *module = nl_dig_string(function, "module", "?");

        print_frame(benchmark, out);
        fprintf(out, " at %s;", layer);
        print_frame(nl_dig_string(function, "layer", "?"), out);
        fputc(';', out);
        print_frame(module, out);
        if (strcmp(name, module) != 0) {
            fputc(';', out);
            print_frame(name, out);
        }
        fprintf(out, " %" JSON_INTEGER_FORMAT "\n", nl_dig_integer(function, "instructions", 0));
    }
}

/* The caller's. */
static char *reason_of(const char *layer, const json_t *metered)
{
    const char *name = nl_dig_string(metered, "name", "?");
    const char *skipped = nl_dig_string(metered, "skipped", NULL);
    char *why = NULL;

    if ((skipped ? asprintf(&why, "%s was left out at %s: %s", name, layer, skipped)
                 : asprintf(&why, "no operation of %s at %s was undisturbed", name, layer)) < 0)
        abort();
    return why;
}

char *nl_profile_missing(const json_t *document)
{
    cleanup_free char *why = NULL;
    size_t l, i;
    json_t *layer, *metered;

    json_array_foreach(json_object_get(document, "layers"), l, layer)
    {
        json_array_foreach(json_object_get(layer, "metered"), i, metered)
        {
            if (nl_dig_number(metered, "profile.operations", 0) > 0)
                return NULL;
            if (!why)
                why = reason_of(nl_dig_string(layer, "name", "?"), metered);
        }
    }
    return why ? nl_steal(&why) : strdup("nothing was metered");
}
