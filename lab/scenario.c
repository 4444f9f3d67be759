/*
 * scenario.c - read a scenario, apply the command line's changes, write it out: see scenario.h.
 */
#include "scenario-table.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX (1024 * 1024)

/* The folder that relative names in FILE are relative to; the caller's. */
static char *folder_of(const char *file)
{
    cleanup_free char *copy = strdup(file);

    return copy ? realpath(dirname(copy), NULL) : NULL;
}

int nl_scenario_read(const char *path, char **text, size_t *length, struct nl_error **err)
{
    struct stat st;
    /* Not to hang on a FIFO before fstat() can tell. */
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 || fstat(fd, &st) < 0)
        return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "%s", path);
    if (!S_ISREG(st.st_mode))
        return nl_fail(err, NL_EXIT_REQUEST, "%s: is not a regular file", path);
    if (st.st_size > FILE_MAX)
        return nl_fail(err, NL_EXIT_REQUEST, "%s: has %lld bytes; allowed: at most %d", path,
                       (long long)st.st_size, FILE_MAX);
    cleanup_free char *buffer = malloc((size_t)st.st_size + 1);
    if (!buffer)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    size_t got = 0;
    while (got < (size_t)st.st_size) {
        ssize_t n = read(fd, buffer + got, (size_t)st.st_size - got);
        if (n < 0)
            return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "%s", path);
        if (n == 0)
            break;
        got += (size_t)n;
    }
    buffer[got] = '\0';
    *length = got;
    *text = nl_steal(&buffer);
    return 0;
}

static int parse_json(const struct nl_json_source *source, json_t **json, struct nl_error **err)
{
    json_error_t error;

    *json = json_loadb(source->text, source->length, JSON_REJECT_DUPLICATES, &error);
    if (*json)
        return 0;
    if (json_error_code(&error) == json_error_null_character)
        snprintf(error.text, sizeof(error.text), "\\u0000 is not allowed in a string");
    nl_fail(err, NL_EXIT_REQUEST, "%s:%d:%d: %s", source->name, error.line, error.column,
            error.text);
    return nl_hint(err, "a scenario is one JSON object; docs/scenario.md describes it");
}

int nl_scenario_name_layers(struct nl_scenario *scenario, struct nl_error **err)
{
    for (size_t i = 0; i < scenario->n_layers; i++) {
        char **name = &scenario->layers[i].name;
        free(*name);
        if (asprintf(name, "L%zu", i) < 0) {
            *name = NULL;
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
        }
    }
    return 0;
}

static int resolve(const struct nl_scenario *scenario, char **name, struct nl_error **err)
{
    int index = *name ? nl_scenario_layer_index(scenario, *name) : -1;

    if (index < 0)
        return 0;
    free(*name);
    *name = strdup(scenario->layers[index].name);
    return *name ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
}

/* What depends on the whole: default memory, and which layer is the innermost. */
static int complete(struct nl_scenario *scenario, struct nl_error **err)
{
    char **lists[] = {scenario->benchmarks.layers, scenario->meter.layers};

    for (size_t i = scenario->n_layers; i-- > 0;)
        scenario->layers[i].memory_mib = nl_scenario_memory(scenario, i);
    for (size_t i = 0; i < scenario->n_commands; i++)
        if (resolve(scenario, &scenario->commands[i].layer, err) < 0)
            return -1;
    for (size_t i = 0; i < scenario->n_checks; i++)
        if (resolve(scenario, &scenario->checks[i].layer, err) < 0)
            return -1;
    for (size_t i = 0; i < scenario->n_faults; i++)
        if (resolve(scenario, &scenario->faults[i].layer, err) < 0)
            return -1;
    if (resolve(scenario, &scenario->expect.layer, err) < 0)
        return -1;
    for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++)
        for (char **name = lists[l]; name && *name; name++)
            if (resolve(scenario, name, err) < 0)
                return -1;
    return 0;
}

static int override(struct nl_scenario *scenario, const char *path,
                    const struct nl_overrides *overrides, struct nl_error **err)
{
    cleanup_free char *name = NULL;

    if (!overrides)
        return 0;
    if (nl_scenario_override(scenario, overrides, err) < 0)
        return -1;
    /* The layers are no longer where the text has them: no lines in these messages. */
    if (asprintf(&name, "%s (as the options change it)", path) < 0)
        name = NULL;
    struct nl_json_source source = {.name = name ? name : path};
    struct nl_json_place root = nl_json_root(&source);
    return nl_scenario_check(scenario, &root, err);
}

int nl_scenario_parse(const char *text, size_t length, const char *path,
                      const struct nl_overrides *overrides, struct nl_scenario **scenario,
                      struct nl_error **err)
{
    cleanup_free char *folder = folder_of(path);
    cleanup_json json_t *json = NULL;
    cleanup_scenario struct nl_scenario *made = NULL;

    if (!folder)
        return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "%s", path);
    struct nl_json_source source = {.name = path,
                                    .text = text,
                                    .length = length,
                                    .folder = folder,
                                    .whole = &nl_scenario_record};
    struct nl_json_place root = nl_json_root(&source);
    if (parse_json(&source, &json, err) < 0)
        return -1;
    made = calloc(1, sizeof(*made));
    if (!made || !(made->path = strdup(path)))
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (nl_record_decode(&nl_scenario_record, &root, json, made, err) < 0 ||
        nl_scenario_name_layers(made, err) < 0 || nl_scenario_check(made, &root, err) < 0 ||
        override(made, path, overrides, err) < 0 || complete(made, err) < 0)
        return -1;
    *scenario = nl_steal(&made);
    return 0;
}

json_t *nl_scenario_to_json(const struct nl_scenario *scenario)
{
    return nl_record_encode(&nl_scenario_record, scenario);
}

void nl_scenario_free(struct nl_scenario **scenario)
{
    if (!*scenario)
        return;
    for (size_t i = 0; i < (*scenario)->n_layers; i++)
        free((*scenario)->layers[i].name);
    nl_record_release(&nl_scenario_record, *scenario);
    free((*scenario)->path);
    free(*scenario);
    *scenario = NULL;
}
