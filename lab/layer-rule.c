/*
 * layer-rule.c - rules made for layers: see layer-rule.h.
 */
#include "layer-rule.h"
#include "dig.h"
#include "document.h"
#include "paths.h"

#include <errno.h>
#include <string.h>

#define LISTS "scenarios/checks/log-lines.json"
#define PRELUDE "scenarios/checks/prelude.jq"
#define PRELUDE_MAX (1UL << 20)

static bool is_any_layer(int layer, int innermost)
{
    return layer <= innermost;
}

static bool is_guest(int layer, int innermost)
{
    return layer > 0 && layer <= innermost;
}

/* L0 boots others by definition, even where a run stops at it. */
static bool is_hypervisor(int layer, int innermost)
{
    return layer == 0 || layer < innermost;
}

static bool is_innermost(int layer, int innermost)
{
    return layer == innermost;
}

static const struct {
    const char *name;
    bool (*applies)(int layer, int innermost);
} kinds_of_layer[] = {
    {"each layer", is_any_layer},
    {"each guest", is_guest},
    {"each hypervisor", is_hypervisor},
    {"innermost", is_innermost},
};

int nl_rule_applies(const json_t *rule, int layer, int innermost, bool *applies,
                    struct nl_error **err)
{
    const char *wanted = nl_dig_string(rule, "for", "");

    for (size_t i = 0; i < sizeof(kinds_of_layer) / sizeof(kinds_of_layer[0]); i++) {
        if (strcmp(kinds_of_layer[i].name, wanted) != 0)
            continue;
        *applies = kinds_of_layer[i].applies(layer, innermost);
        return 0;
    }
    return nl_fail(err, NL_EXIT_LAB, "the rule \"%s\" is for \"%s\", which is no kind of layer",
                   nl_dig_string(rule, "name", "unnamed"), wanted);
}

bool nl_rule_has_subject(const json_t *rule, const json_t *at)
{
    const char *key = nl_dig_string(rule, "only_with", NULL);

    return !key || nl_dig(at, key);
}

const char *nl_rule_unmet_need(const json_t *rule, const json_t *at)
{
    size_t i;
    json_t *need;

    json_array_foreach(nl_dig(rule, "needs"), i, need)
    {
        const char *key = json_string_value(need);

        if (key && !nl_dig(at, key))
            return key;
    }
    return NULL;
}

json_t *nl_rule_fill_in(const char *template, int layer)
{
    cleanup_free char *text = NULL;
    size_t size;
    FILE *out;

    if (!template)
        return json_null();
    out = open_memstream(&text, &size);
    if (!out)
        return json_null();
    while (*template) {
        if (strncmp(template, "{layer}", 7) == 0) {
            fprintf(out, "L%d", layer);
            template += 7;
        } else if (strncmp(template, "{below}", 7) == 0) {
            if (layer > 0)
                fprintf(out, "L%d", layer - 1);
            else
                fputs("the machine below L0", out);
            template += 7;
        } else {
            fputc(*template ++, out);
        }
    }
    fclose(out);
    return nl_document_text(text);
}

char *nl_rule_program(const json_t *rule)
{
    const json_t *program = json_object_get(rule, "program");
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    size_t i;
    json_t *line;

    if (!out)
        return NULL;
    if (json_is_string(program))
        fputs(json_string_value(program), out);
    json_array_foreach(program, i, line)
        fprintf(out, "%s\n", json_is_string(line) ? json_string_value(line) : "");
    fclose(out);
    return text;
}

static int load_json(const char *relative, json_t **json, struct nl_error **err)
{
    cleanup_free char *path = NULL;
    json_error_t wrong;

    if (nl_data_path(relative, &path, err) < 0)
        return -1;
    *json = json_load_file(path, JSON_REJECT_DUPLICATES, &wrong);
    if (!*json)
        return nl_fail(err, NL_EXIT_LAB, "%s:%d: %s", path, wrong.line, wrong.text);
    return 0;
}

static int load_prelude(char **text, struct nl_error **err)
{
    cleanup_free char *path = NULL;
    cleanup_fclose FILE *file = NULL;
    size_t n;

    if (nl_data_path(PRELUDE, &path, err) < 0)
        return -1;
    file = fopen(path, "re");
    *text = calloc(1, PRELUDE_MAX + 1);
    if (!file || !*text)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read %s", path);
    n = fread(*text, 1, PRELUDE_MAX, file);
    if (n == PRELUDE_MAX || ferror(file))
        return nl_fail(err, NL_EXIT_LAB, "cannot read %s", path);
    return 0;
}

int nl_rule_data_load(const char *rules, struct nl_rule_data *data, struct nl_error **err)
{
    if (load_json(rules, &data->rules, err) < 0 || load_json(LISTS, &data->lists, err) < 0)
        return -1;
    return load_prelude(&data->prelude, err);
}

void nl_rule_data_clear(struct nl_rule_data *data)
{
    json_decref(data->rules);
    json_decref(data->lists);
    free(data->prelude);
    *data = (struct nl_rule_data){0};
}
