/*
 * request.c - does all exist that a scenario names? See request.h.
 *
 * Names are looked for in the file as it is written, not in the scenario as options change it: so a
 * message can say the line, and what `--no-benchmarks` leaves out is right as well.
 */
#include "request.h"
#include "check-jq.h"
#include "check.h"
#include "deadline.h"
#include "diagnosis.h"
#include "dig.h"
#include "image.h"
#include "json-place.h"
#include "layer-rule.h"
#include "paths.h"
#include "process.h"
#include "recipe.h"
#include "store.h"
#include "suggest.h"

#include <ctype.h>
#include <string.h>

#define AGENT_ANSWER_MAX (1 << 20)
#define AGENT_S 20.0

static const struct nl_jq_limits compile_limits = {10, 30};

struct request {
    struct nl_json_place root;
    const json_t *json; /* as the file has it */
    size_t n_written;   /* layers in the file */
    size_t n_effective; /* and with the options applied */
};

static bool is_listed(const char *name, char *const *names)
{
    for (; *names; names++)
        if (!strcmp(*names, name))
            return true;
    return false;
}

/* "there is no WHAT "NAME"", and what is meant: PREFIX and one of NAMES. Returns -1. */
static int fail_no_such(const struct nl_json_place *at, const char *what, const char *name,
                        const char *prefix, char *const *names, struct nl_error **err)
{
    const char *near = nl_suggest(name + strlen(prefix), (const char *const *)names);
    cleanup_free char *quoted = nl_quote(name);
    cleanup_free char *all = NULL;
    size_t size = 0;
    FILE *out;

    nl_fail_at(err, at, "there is no %s %s", what, quoted ? quoted : "of that name");
    if (near)
        return nl_hint(err, "did you mean \"%s%s\"?", prefix, near);
    out = open_memstream(&all, &size);
    if (!out)
        return -1;
    for (char *const *one = names; *one; one++)
        fprintf(out, "%s%s", one == names ? "" : ", ", *one);
    fclose(out);
    return nl_hint(err, "there are %s", all ? all : "none");
}

static int check_images(const struct request *request, struct nl_error **err)
{
    struct nl_json_place layers = nl_json_key(&request->root, "layers");
    cleanup_free char *folder = NULL;
    cleanup_strv char **recipes = NULL;
    json_t *layer;
    size_t i;

    if (nl_data_path("images", &folder, err) < 0 || nl_recipe_names(folder, &recipes, err) < 0 ||
        !recipes)
        return -1;
    json_array_foreach(nl_dig(request->json, "layers"), i, layer)
    {
        struct nl_json_place element = nl_json_index(&layers, i);
        struct nl_json_place place = nl_json_key(&element, "image");
        const char *image = nl_dig_string(layer, "image", "");

        if (!is_listed(image, recipes))
            return fail_no_such(&place, "image", image, "", recipes, err);
    }
    return 0;
}

/* The "name" of every object in LIST, NULL-terminated, the caller's. */
static int names_of(const json_t *list, char ***names, struct nl_error **err)
{
    cleanup_strv char **made = calloc(json_array_size(list) + 1, sizeof(*made));
    json_t *item;
    size_t i;

    if (!made)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    json_array_foreach(list, i, item)
    {
        made[i] = strdup(nl_dig_string(item, "name", "?"));
        if (!made[i])
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    *names = nl_steal(&made);
    return 0;
}

/* As the agent that goes into every layer says: there is no second list that could differ. */
static int known_benchmarks(char ***names, struct nl_error **err)
{
    cleanup_free char *agent = NULL, *answer = NULL;
    cleanup_json json_t *list = NULL;

    if (nl_store_find_program("nestlab-agent", &agent, err) < 0)
        return -1;
    const char *argv[] = {agent, "--benchmarks", NULL};
    struct nl_process process = {
        .argv = argv, .output_limit = AGENT_ANSWER_MAX, .timeout = AGENT_S};
    if (nl_process_run(&process, &answer, err) < 0)
        return -1;
    list = json_loads(answer, 0, NULL);
    if (json_array_size(list) == 0)
        return nl_fail(err, NL_EXIT_LAB, "%s does not say which benchmarks it has", agent);
    return names_of(list, names, err);
}

/* Those that the file names under KEY of the object OF; "all" is no array. */
static int check_written(const struct request *request, const char *of, const char *key,
                         char *const *names, struct nl_error **err)
{
    struct nl_json_place object = nl_json_key(&request->root, of);
    struct nl_json_place place = nl_json_key(&object, key);
    const json_t *wanted = json_object_get(json_object_get(request->json, of), key);
    json_t *name;
    size_t i;

    json_array_foreach(wanted, i, name)
    {
        struct nl_json_place element = nl_json_index(&place, i);

        if (!is_listed(json_string_value(name), names))
            return fail_no_such(&element, "benchmark", json_string_value(name), "", names, err);
    }
    return 0;
}

/* Those of an option: what it made of the scenario. */
static int check_metered(const struct nl_scenario *scenario, const struct nl_overrides *overrides,
                         char *const *names, struct nl_error **err)
{
    struct nl_json_source source = {.name = nl_overrides_meter_name(overrides), .option = true};
    struct nl_json_place place = nl_json_root(&source);
    char *const *metered = scenario->meter.benchmarks;

    for (; metered && *metered; metered++)
        if (!is_listed(*metered, names))
            return fail_no_such(&place, "benchmark", *metered, "", names, err);
    return 0;
}

static int check_benchmarks(const struct request *request, const struct nl_scenario *scenario,
                            const struct nl_overrides *overrides, struct nl_error **err)
{
    const char *option = overrides && overrides->meter ? overrides->meter : "";
    bool names_some = *option && strcmp(option, "all") != 0;
    cleanup_strv char **names = NULL;

    if (!json_is_array(nl_dig(request->json, "benchmarks.names")) &&
        !json_is_array(nl_dig(request->json, "meter.benchmarks")) && !names_some)
        return 0;
    if (known_benchmarks(&names, err) < 0 || !names ||
        check_written(request, "benchmarks", "names", names, err) < 0 ||
        check_written(request, "meter", "benchmarks", names, err) < 0)
        return -1;
    return names_some ? check_metered(scenario, overrides, names, err) : 0;
}

/* The length of "l2-" in "l2-log-clean", and the layer; 0: NAME does not begin like that. */
static size_t layer_prefix(const char *name, int *layer)
{
    size_t digits = name[0] == 'l' ? strspn(name + 1, "0123456789") : 0;

    if (digits == 0 || digits > 2 || name[1 + digits] != '-')
        return 0;
    *layer = atoi(name + 1);
    return digits + 2;
}

/* Is RULE made for LAYER in the stack as written, or as the options change it? */
static int is_made(const struct request *request, const json_t *rule, int layer, bool *made,
                   struct nl_error **err)
{
    bool written = false, effective = false;

    if (nl_rule_applies(rule, layer, (int)request->n_written - 1, &written, err) < 0 ||
        nl_rule_applies(rule, layer, (int)request->n_effective - 1, &effective, err) < 0)
        return -1;
    *made = written || effective;
    return 0;
}

static int check_left_out(const struct request *request, const struct nl_json_place *at,
                          const char *name, const json_t *rules, char *const *names,
                          struct nl_error **err)
{
    cleanup_free char *prefix = NULL;
    size_t length, i = 0;
    bool made = false;
    int layer = 0;

    if (is_listed(name, names))
        return 0;
    length = layer_prefix(name, &layer);
    prefix = strndup(name, length);
    while (names[i] && strcmp(names[i], name + length) != 0)
        i++;
    if (!prefix || length == 0 || !names[i])
        return fail_no_such(at, "default check", name, prefix ? prefix : "", names, err);
    if (is_made(request, json_array_get(rules, i), layer, &made, err) < 0)
        return -1;
    if (made)
        return 0;
    nl_fail_at(err, at, "there is no default check \"%s\" in this stack", name);
    return nl_hint(err, "the check %s is for %s; the innermost layer is L%zu", names[i],
                   nl_dig_string(json_array_get(rules, i), "for", "?"), request->n_written - 1);
}

static int check_without(const struct request *request, const json_t *rules, struct nl_error **err)
{
    struct nl_json_place place = nl_json_key(&request->root, "without_checks");
    cleanup_strv char **names = NULL;
    json_t *name;
    size_t i;

    if (names_of(rules, &names, err) < 0 || !names)
        return -1;
    json_array_foreach(nl_dig(request->json, "without_checks"), i, name)
    {
        struct nl_json_place element = nl_json_index(&place, i);

        if (check_left_out(request, &element, json_string_value(name), rules, names, err) < 0)
            return -1;
    }
    return 0;
}

static int check_programs(const struct request *request, const char *prelude, struct nl_error **err)
{
    struct nl_json_place place = nl_json_key(&request->root, "checks");
    const json_t *checks = nl_dig(request->json, "checks");
    size_t n = json_array_size(checks), i;
    cleanup_free const char **programs = calloc(n + 1, sizeof(*programs));
    cleanup_json json_t *results = NULL;
    json_t *result;

    if (!programs)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    for (i = 0; i < n; i++)
        programs[i] = nl_dig_string(json_array_get(checks, i), "program", "null");
    if (n == 0)
        return 0;
    if (nl_jq_compile(prelude, programs, n, &compile_limits, &results, err) < 0)
        return nl_wrap(err, "cannot compile the checks");
    json_array_foreach(results, i, result)
    {
        struct nl_json_place element = nl_json_index(&place, i);
        struct nl_json_place program = nl_json_key(&element, "program");

        if (nl_dig_is(result, "verdict", "pass"))
            continue;
        nl_fail_at(err, &program, "is no jq program: %s", nl_dig_string(result, "message", "?"));
        return nl_hint(err, "docs/document.md says what a check's program sees and gives");
    }
    return 0;
}

static int check_checks(const struct request *request, struct nl_error **err)
{
    cleanup_rule_data struct nl_rule_data data = {0};

    if (nl_checks_load(&data, err) < 0 || check_without(request, data.rules, err) < 0)
        return -1;
    return check_programs(request, data.prelude, err);
}

static int check_expected(const struct request *request, struct nl_error **err)
{
    struct nl_json_place expect = nl_json_key(&request->root, "expect");
    struct nl_json_place place = nl_json_key(&expect, "diagnosis");
    const char *diagnosis = nl_dig_string(request->json, "expect.diagnosis", NULL);
    cleanup_error struct nl_error *found = NULL;

    if (!diagnosis || nl_diagnosis_check_name(diagnosis, &found) == 0)
        return 0;
    nl_fail_at(err, &place, "%s", nl_error_message(found));
    return nl_error_hint(found) ? nl_hint(err, "%s", nl_error_hint(found)) : -1;
}

/* Benchmarks with commas between, as --meter takes them? */
static bool are_benchmarks(const char *text)
{
    cleanup_strv char **names = NULL;
    cleanup_free char *copy = strdup(text);
    char *rest = copy;

    if (strcmp(text, "all") == 0)
        return true;
    if (!copy || known_benchmarks(&names, NULL) < 0 || !names)
        return false;
    for (char *name = strsep(&rest, ","); name; name = strsep(&rest, ","))
        if (!is_listed(name, names))
            return false;
    return true;
}

/* "profile cpuid syscall" and "profile FILE cpuid": PATH is where the scenario should be. */
static void hint_profile(const char *path, const char *benchmark, struct nl_error **err)
{
    size_t length = strlen(benchmark);
    bool is_file = access(benchmark, F_OK) == 0 ||
                   (length > 5 && strcmp(benchmark + length - 5, ".json") == 0);

    if (!is_file)
        nl_hint(err, "it profiles one benchmark at a time; after it comes a scenario, if any");
    else if (strchr(path, ',') || strcmp(path, "all") == 0)
        nl_hint(err, "first comes one benchmark, then the scenario");
    else
        nl_hint(err, "did you mean `nestlab profile %s %s`?", path, benchmark);
}

/* "--meter cpuid": a space where an = must be makes a file's name of what is metered. */
static int hint_benchmark(const char *path, const struct nl_overrides *overrides,
                          struct nl_error **err)
{
    if (!overrides || !overrides->meter || access(path, F_OK) == 0 || !are_benchmarks(path))
        return -1;
    if (overrides->profile_at)
        hint_profile(path, overrides->meter, err);
    else if (!*overrides->meter)
        nl_hint(err, "did you mean --meter=%s?", path);
    return -1;
}

int nl_request_load(const char *path, const struct nl_overrides *overrides,
                    struct nl_scenario **scenario, struct nl_error **err)
{
    cleanup_scenario struct nl_scenario *made = NULL;
    cleanup_json json_t *json = NULL;
    cleanup_free char *text = NULL;
    size_t length = 0;

    if (nl_scenario_read(path, &text, &length, err) < 0)
        return hint_benchmark(path, overrides, err);
    if (nl_scenario_parse(text, length, path, overrides, &made, err) < 0)
        return -1;
    json = json_loadb(text, length, 0, NULL);
    struct nl_json_source source = {.name = path, .text = text, .length = length};
    struct request request = {
        .root = nl_json_root(&source),
        .json = json,
        .n_written = json_array_size(nl_dig(json, "layers")),
        .n_effective = made->n_layers,
    };
    if (check_images(&request, err) < 0 || check_benchmarks(&request, made, overrides, err) < 0 ||
        check_checks(&request, err) < 0 || check_expected(&request, err) < 0)
        return -1;
    *scenario = nl_steal(&made);
    return 0;
}
