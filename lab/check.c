/*
 * check.c - which checks a run has, and putting their verdicts into its document: see check.h.
 */
#include "check.h"
#include "check-jq.h"
#include "dig.h"
#include "document.h"
#include "layer-rule.h"

#include <ctype.h>
#include <string.h>

#define RULES "scenarios/checks/checks.json"

/* A document that nobody vouches for may list any number of layers. */
#define CHECKS_MAX 2000
#define RULES_MAX 200

static const struct nl_jq_limits usual_limits = {30, 60};
static const struct nl_jq_limits hurried_limits = {5, 5};

/* All checks of a run: their JSON as it goes into the document, and what there is to evaluate. The
   two arrays run in parallel; PROGRAMS[i].program is NULL where the verdict stands already. */
struct plan {
    json_t *checks;
    struct nl_jq_check programs[CHECKS_MAX];
    char *texts[CHECKS_MAX]; /* programs that were joined from lines, by rule */
    size_t n_texts;
};

static void plan_free(struct plan **plan)
{
    if (!*plan)
        return;
    json_decref((*plan)->checks);
    for (size_t i = 0; i < (*plan)->n_texts; i++)
        free((*plan)->texts[i]);
    free(*plan);
}

/* Why nothing can be said of a layer that did not come up, or NULL. */
static const char *not_there(const json_t *layer)
{
    if (nl_dig_is(layer, "state", NL_LAYER_NOT_REACHED))
        return "was not reached";
    if (nl_dig_is(layer, "state", NL_LAYER_INTERRUPTED) && !nl_dig(layer, "facts"))
        return "was interrupted while it came up";
    if (nl_dig_is(layer, "state", NL_LAYER_FAILED) && !nl_dig(layer, "facts"))
        return "did not come up";
    return NULL;
}

/* What a check needs of its layer, and does not find: a message, or NULL. The caller's. */
static char *unmet_need(const json_t *layer, const json_t *rule, int index)
{
    const char *key = nl_rule_unmet_need(rule, layer);
    const char *why = not_there(layer);
    char *message = NULL;
    int rc;

    if (!key)
        return NULL;
    if (why)
        rc = asprintf(&message, "not evaluated: L%d %s", index, why);
    else
        rc = asprintf(&message, "not evaluated: the document has no %s of L%d", key, index);
    return rc < 0 ? NULL : message;
}

static void plan_add(struct plan *plan, json_t *check, const char *program, int layer)
{
    size_t i = json_array_size(plan->checks);

    if (i >= CHECKS_MAX) {
        json_decref(check);
        return;
    }
    if (json_array_append_new(plan->checks, check) == 0)
        plan->programs[i] = (struct nl_jq_check){program, layer};
}

static json_t *layer_name(int layer)
{
    return layer < 0 ? json_null() : json_sprintf("L%d", layer);
}

/* "log-clean" at L2 is "l2-log-clean". */
static json_t *rule_name(const char *name, int layer)
{
    return json_sprintf("l%d-%s", layer, name);
}

static bool is_left_out(const json_t *document, const char *rule, const char *name)
{
    size_t i;
    json_t *left_out;

    json_array_foreach(nl_dig(document, "scenario.without_checks"), i, left_out)
    {
        const char *text = json_string_value(left_out);

        if (text && (strcmp(text, rule) == 0 || strcmp(text, name) == 0))
            return true;
    }
    return false;
}

static void plan_rule_at(struct plan *plan, const json_t *document, const json_t *rule,
                         const char *program, int layer)
{
    const json_t *at = json_array_get(nl_dig(document, "layers"), (size_t)layer);
    const char *rule_text = nl_dig_string(rule, "name", "unnamed");
    json_t *name = rule_name(rule_text, layer);
    cleanup_free char *unmet = NULL;
    json_t *check;

    if (is_left_out(document, rule_text, json_string_value(name))) {
        json_decref(name);
        return;
    }
    unmet = unmet_need(at, rule, layer);
    check = json_pack("{s:o, s:o, s:s, s:o, s:o, s:s?}", "name", name, "layer", layer_name(layer),
                      "verdict", "error", "explanation",
                      nl_rule_fill_in(nl_dig_string(rule, "explanation", NULL), layer), "hint",
                      nl_rule_fill_in(nl_dig_string(rule, "hint", NULL), layer), "message", unmet);
    plan_add(plan, check, unmet ? NULL : program, layer);
}

/* The text of the program of RULE; the plan keeps it. */
static const char *program_text(struct plan *plan, const json_t *rule)
{
    char *text = nl_rule_program(rule);

    if (!text)
        return "null";
    if (plan->n_texts == CHECKS_MAX) {
        free(text);
        return "null";
    }
    plan->texts[plan->n_texts++] = text;
    return text;
}

/* Layer by layer from the outermost, and in the order of the rules: what breaks one layer breaks
   those inside it, so that the first check that fails is next to the cause. */
static int plan_rules(struct plan *plan, const json_t *document, const json_t *rules,
                      struct nl_error **err)
{
    const json_t *layers = nl_dig(document, "layers");
    int n = (int)json_array_size(layers);
    const char *programs[RULES_MAX] = {NULL};
    size_t i;
    json_t *rule;

    if (json_array_size(rules) > RULES_MAX)
        return nl_fail(err, NL_EXIT_LAB, RULES ": more than %d checks", RULES_MAX);
    json_array_foreach(rules, i, rule) programs[i] = program_text(plan, rule);
    for (int layer = 0; layer < n && json_array_size(plan->checks) < CHECKS_MAX; layer++) {
        json_array_foreach(rules, i, rule)
        {
            bool applies;

            if (nl_rule_applies(rule, layer, n - 1, &applies, err) < 0)
                return nl_wrap(err, RULES);
            if (applies && nl_rule_has_subject(rule, json_array_get(layers, (size_t)layer)))
                plan_rule_at(plan, document, rule, programs[i], layer);
        }
    }
    return 0;
}

/* The index of the layer that a scenario means, -1 for the whole run. */
static int scenario_layer(const json_t *document, const char *name)
{
    int n = (int)json_array_size(nl_dig(document, "layers"));
    char *end;
    long index;

    if (!name)
        return -1;
    if (strcmp(name, "innermost") == 0)
        return n - 1;
    if (name[0] != 'L' || !isdigit((unsigned char)name[1]))
        return -1;
    index = strtol(name + 1, &end, 10);
    return *end || index >= n ? -1 : (int)index;
}

static void plan_scenario(struct plan *plan, const json_t *document)
{
    size_t i;
    json_t *check;

    json_array_foreach(nl_dig(document, "scenario.checks"), i, check)
    {
        int layer = scenario_layer(document, nl_dig_string(check, "layer", NULL));
        const char *program = program_text(plan, check);
        const json_t *at =
            layer < 0 ? NULL : json_array_get(nl_dig(document, "layers"), (size_t)layer);
        const char *why = not_there(at);

        plan_add(plan,
                 json_pack("{s:s, s:o, s:s, s:s?, s:n, s:o}", "name",
                           nl_dig_string(check, "name", "unnamed"), "layer", layer_name(layer),
                           "verdict", "error", "explanation",
                           nl_dig_string(check, "explanation", NULL), "hint", "message",
                           why ? json_sprintf("not evaluated: L%d %s", layer, why) : json_null()),
                 why ? NULL : program, layer);
    }
}

static json_t *copied(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    return value ? json_deep_copy(value) : json_null();
}

/* The verdict of a command was given when it ran. */
static json_t *command_check(const json_t *command)
{
    return json_pack(
        "{s:o, s:o, s:s, s:o, s:s, s:o, s:o}", "name",
        json_sprintf("command-%s", nl_dig_string(command, "name", "unnamed")), "layer",
        copied(command, "layer"), "verdict", nl_dig_string(command, "verdict", "error"),
        "explanation",
        json_sprintf("The command \"%s\" of the scenario exits with 0.",
                     nl_dig_string(command, "name", "unnamed")),
        "hint",
        nl_dig_string(command, "hint", "read its output in the document, under \"commands\""),
        "seconds", copied(command, "seconds"), "message", copied(command, "message"));
}

/* Commands of the scenario that were never run, because the run did not get that far. */
static json_t *missing_command_check(const json_t *wanted)
{
    return json_pack("{s:o, s:o, s:s, s:s, s:n, s:s}", "name",
                     json_sprintf("command-%s", nl_dig_string(wanted, "name", "unnamed")), "layer",
                     copied(wanted, "layer"), "verdict", "error", "explanation",
                     "A command of the scenario.", "hint", "message",
                     "not evaluated: the run did not get to it");
}

static bool has_named(const json_t *array, const char *name)
{
    size_t i;
    json_t *element;

    json_array_foreach(array, i, element)
    {
        if (nl_dig_is(element, "name", name))
            return true;
    }
    return false;
}

static void plan_commands(struct plan *plan, const json_t *document)
{
    const json_t *ran = nl_dig(document, "commands");
    size_t i;
    json_t *command;

    json_array_foreach(ran, i, command) plan_add(plan, command_check(command), NULL, -1);
    json_array_foreach(nl_dig(document, "scenario.commands"), i, command)
    {
        if (!has_named(ran, nl_dig_string(command, "name", "unnamed")))
            plan_add(plan, missing_command_check(command), NULL, -1);
    }
}

/* Evaluate what has a program and copy the outcomes into the checks. */
static int plan_evaluate(struct plan *plan, const json_t *document, const json_t *lists,
                         const char *prelude, struct nl_error **err)
{
    const struct nl_jq_limits *limits =
        nl_dig_true(document, "run.interrupted") ? &hurried_limits : &usual_limits;
    cleanup_free struct nl_jq_check *programs = calloc(CHECKS_MAX, sizeof(*programs));
    cleanup_json json_t *results = NULL;
    size_t n = 0;
    size_t i;
    json_t *check;

    if (!programs)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    for (i = 0; i < json_array_size(plan->checks); i++)
        if (plan->programs[i].program)
            programs[n++] = plan->programs[i];
    if (nl_jq_evaluate(document, lists, prelude, programs, n, limits, &results, err) < 0)
        return nl_wrap(err, "cannot evaluate the checks");
    n = 0;
    json_array_foreach(plan->checks, i, check)
    {
        if (plan->programs[i].program)
            json_object_update_existing(check, json_array_get(results, n++));
    }
    return 0;
}

int nl_checks_run_rules(json_t *document, const json_t *rules, const json_t *lists,
                        const char *prelude, struct nl_error **err)
{
    __attribute__((cleanup(plan_free))) struct plan *plan = calloc(1, sizeof(*plan));

    if (!plan || !(plan->checks = json_array()))
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (!json_is_false(nl_dig(document, "scenario.default_checks")) &&
        plan_rules(plan, document, rules, err) < 0)
        return -1;
    plan_scenario(plan, document);
    plan_commands(plan, document);
    if (plan_evaluate(plan, document, lists, prelude, err) < 0)
        return -1;
    json_object_set(document, "checks", plan->checks);
    return 0;
}

int nl_checks_load(struct nl_rule_data *data, struct nl_error **err)
{
    return nl_rule_data_load(RULES, data, err);
}

int nl_checks_run(json_t *document, struct nl_error **err)
{
    cleanup_rule_data struct nl_rule_data data = {0};

    if (nl_checks_load(&data, err) < 0)
        return -1;
    return nl_checks_run_rules(document, data.rules, data.lists, data.prelude, err);
}
