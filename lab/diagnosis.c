/*
 * diagnosis.c - finding the root cause: see diagnosis.h.
 *
 * What breaks one layer breaks those inside it, and the checks of all of them: of everything that
 * is wrong in a document the outermost layer's trouble is nearest to the cause, and within a layer
 * the rules are in order.
 */
#include "diagnosis.h"
#include "check-jq.h"
#include "dig.h"
#include "document.h"
#include "headline.h"
#include "suggest.h"

#include <string.h>

#define RULES "scenarios/checks/diagnoses.json"

/* A document that nobody vouches for may list any number of layers. */
#define LAYERS_MAX 64
#define RULES_MAX 200
#define EVIDENCE_MAX 5
#define FAULTS_MAX 8

#define UNKNOWN "unknown"

/* A program gives a summary, or {summary, evidence}; null or nothing where it does not apply. This
   makes it one that nl_jq_evaluate() understands, its lines counted as they are. */
#define BEFORE "["
#define AFTER                                                                                      \
    "\n] | map(values) | if length == 0 then skip(null)"                                           \
    " elif .[0] | type == \"string\" then fail(.[0])"                                              \
    " else .[0] | fail(.summary) + {evidence: .evidence} end"

static const struct nl_jq_limits limits = {10, 30};

/* What there is to evaluate, in the order of precedence; arrays in parallel. */
struct plan {
    struct nl_jq_check programs[LAYERS_MAX * RULES_MAX];
    const json_t *rules[LAYERS_MAX * RULES_MAX];
    size_t n;
    char *texts[RULES_MAX];
};

static void plan_free(struct plan **plan)
{
    if (!*plan)
        return;
    for (size_t i = 0; i < RULES_MAX; i++)
        free((*plan)->texts[i]);
    free(*plan);
}

static int write_programs(struct plan *plan, const json_t *rules, struct nl_error **err)
{
    size_t i;
    json_t *rule;

    if (json_array_size(rules) > RULES_MAX)
        return nl_fail(err, NL_EXIT_LAB, RULES ": more than %d rules", RULES_MAX);
    json_array_foreach(rules, i, rule)
    {
        cleanup_free char *program = nl_rule_program(rule);

        if (!program || asprintf(&plan->texts[i], BEFORE "%s" AFTER, program) < 0) {
            plan->texts[i] = NULL;
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
        }
    }
    return 0;
}

static int make_plan(struct plan *plan, const json_t *document, const json_t *rules,
                     struct nl_error **err)
{
    const json_t *layers = nl_dig(document, "layers");
    int n = (int)json_array_size(layers);
    size_t i;
    json_t *rule;

    if (write_programs(plan, rules, err) < 0)
        return -1;
    for (int layer = 0; layer < n && layer < LAYERS_MAX; layer++) {
        json_array_foreach(rules, i, rule)
        {
            bool applies;

            if (nl_rule_applies(rule, layer, n - 1, &applies, err) < 0)
                return nl_wrap(err, RULES);
            if (!applies || nl_rule_unmet_need(rule, json_array_get(layers, (size_t)layer)))
                continue;
            plan->programs[plan->n] = (struct nl_jq_check){plan->texts[i], layer};
            plan->rules[plan->n++] = rule;
        }
    }
    return 0;
}

static bool has_verdict(const json_t *check, const char *verdict)
{
    return nl_dig_is(check, "verdict", verdict);
}

static bool is_of_layer(const json_t *object, const char *layer)
{
    return layer ? nl_dig_is(object, "layer", layer) : !nl_dig(object, "layer");
}

static const json_t *first_check(const json_t *document, const char *verdict)
{
    size_t i;
    json_t *check;

    json_array_foreach(nl_dig(document, "checks"), i, check)
    {
        if (has_verdict(check, verdict))
            return check;
    }
    return NULL;
}

static bool is_anything_wrong(const json_t *document)
{
    return nl_dig(document, "failure") || first_check(document, "fail") ||
           first_check(document, "error");
}

/* For a rule that only sums up: what the failure and the failed checks of LAYER (NULL: the run)
   say. */
static json_t *found_at(const json_t *document, const char *layer)
{
    const json_t *failure = nl_dig(document, "failure");
    json_t *evidence = json_array();
    size_t i;
    json_t *check;

    if (failure && is_of_layer(failure, layer))
        json_array_append_new(evidence, json_string(nl_dig_string(failure, "message", "")));
    json_array_foreach(nl_dig(document, "checks"), i, check)
    {
        if (has_verdict(check, "fail") && is_of_layer(check, layer) &&
            json_array_size(evidence) < EVIDENCE_MAX)
            json_array_append_new(evidence,
                                  json_sprintf("check %s: %s", nl_dig_string(check, "name", "?"),
                                               nl_dig_string(check, "message", "failed")));
    }
    return evidence;
}

/* EVIDENCE is consumed. */
static json_t *new_diagnosis(const char *name, const char *layer, const char *summary,
                             json_t *explanation, json_t *evidence, json_t *remedy)
{
    return json_pack("{s:s, s:s?, s:s, s:o, s:o, s:o}", "name", name, "layer", layer, "summary",
                     summary, "explanation", explanation, "evidence", evidence, "remedy", remedy);
}

static json_t *by_rule(const json_t *document, const json_t *rule, int layer, const json_t *result)
{
    const json_t *at = json_array_get(nl_dig(document, "layers"), (size_t)layer);
    const char *name = nl_dig_string(at, "name", NULL);
    json_t *evidence = json_object_get(result, "evidence");

    return new_diagnosis(nl_dig_string(rule, "name", "unnamed"), name,
                         nl_dig_string(result, "message", ""),
                         nl_rule_fill_in(nl_dig_string(rule, "explanation", NULL), layer),
                         evidence ? json_incref(evidence) : found_at(document, name),
                         nl_rule_fill_in(nl_dig_string(rule, "remedy", NULL), layer));
}

static json_t *copy_text(const json_t *object, const char *key)
{
    return nl_document_text(nl_dig_string(object, key, NULL));
}

static json_t *by_check(const json_t *document, const json_t *check, const char *name)
{
    const char *layer = nl_dig_string(check, "layer", NULL);
    cleanup_json json_t *summary =
        json_sprintf("the check %s %s: %s", nl_dig_string(check, "name", "?"),
                     has_verdict(check, "fail") ? "fails" : "could not be evaluated",
                     nl_dig_string(check, "message", "it does not say why"));

    return new_diagnosis(name, layer, summary ? json_string_value(summary) : "",
                         copy_text(check, "explanation"), found_at(document, layer),
                         copy_text(check, "hint"));
}

/* The position of an object's layer in the stack; the whole run comes last. */
static size_t position(const json_t *document, const json_t *object)
{
    const json_t *layers = nl_dig(document, "layers");
    const json_t *layer = nl_dig_layer(document, nl_dig_string(object, "layer", NULL));
    size_t i = 0;

    while (i < json_array_size(layers) && json_array_get(layers, i) != layer)
        i++;
    return i;
}

/* No rule knows it: what failed first and outermost. A check of the layer that broke only says so
   in its own words. */
static json_t *by_position(const json_t *document)
{
    const json_t *failure = nl_dig(document, "failure");
    const json_t *check = first_check(document, "fail");

    if (check && (!failure || position(document, check) < position(document, failure)))
        return by_check(document, check, NL_DIAGNOSIS_CHECK_FAILED);
    if (failure) {
        cleanup_free char *summary = nl_headline(nl_dig_string(failure, "message", "no message"),
                                                 nl_dig_string(document, "run.id", NULL));

        return new_diagnosis(UNKNOWN, nl_dig_string(failure, "layer", NULL), summary ? summary : "",
                             json_null(), found_at(document, nl_dig_string(failure, "layer", NULL)),
                             copy_text(failure, "hint"));
    }
    return by_check(document, first_check(document, "error"), UNKNOWN);
}

/* The rules that could not be evaluated, when none of the others knew the cause either. */
static void add_broken_rules(const struct plan *plan, const json_t *results, json_t *diagnosis)
{
    json_t *evidence = json_object_get(diagnosis, "evidence");
    size_t i;
    json_t *result;

    json_array_foreach(results, i, result)
    {
        if (has_verdict(result, "error") && json_array_size(evidence) < 2 * EVIDENCE_MAX)
            json_array_append_new(evidence,
                                  json_sprintf("the rule %s could not be evaluated for L%d: %s",
                                               nl_dig_string(plan->rules[i], "name", "?"),
                                               plan->programs[i].layer,
                                               nl_dig_string(result, "message", "no message")));
    }
}

static json_t *diagnose(const struct plan *plan, const json_t *document, const json_t *results)
{
    json_t *diagnosis;

    for (size_t i = 0; i < plan->n; i++)
        if (has_verdict(json_array_get(results, i), "fail"))
            return by_rule(document, plan->rules[i], plan->programs[i].layer,
                           json_array_get(results, i));
    diagnosis = by_position(document);
    add_broken_rules(plan, results, diagnosis);
    return diagnosis;
}

int nl_diagnosis_run_rules(json_t *document, const struct nl_rule_data *data, struct nl_error **err)
{
    __attribute__((cleanup(plan_free))) struct plan *plan = calloc(1, sizeof(*plan));
    cleanup_json json_t *results = NULL;
    json_t *diagnosis;

    json_object_set_new(document, "diagnosis", json_null());
    if (nl_dig_true(document, "run.interrupted") || !is_anything_wrong(document))
        return 0;
    if (!plan)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (make_plan(plan, document, data->rules, err) < 0)
        return -1;
    if (nl_jq_evaluate(document, data->lists, data->prelude, plan->programs, plan->n, &limits,
                       &results, err) < 0)
        return nl_wrap(err, "cannot find the diagnosis");
    diagnosis = diagnose(plan, document, results);
    if (!diagnosis)
        return nl_fail(err, NL_EXIT_LAB, "cannot write the diagnosis: out of memory");
    json_object_set_new(document, "diagnosis", diagnosis);
    return 0;
}

int nl_diagnosis_run(json_t *document, struct nl_error **err)
{
    cleanup_rule_data struct nl_rule_data data = {0};

    json_object_set_new(document, "diagnosis", json_null());
    if (nl_rule_data_load(RULES, &data, err) < 0)
        return -1;
    return nl_diagnosis_run_rules(document, &data, err);
}

int nl_diagnosis_check_name(const char *name, struct nl_error **err)
{
    cleanup_rule_data struct nl_rule_data data = {0};
    const char *names[RULES_MAX + 3] = {NL_DIAGNOSIS_CHECK_FAILED, UNKNOWN};
    const char *near;
    size_t n = 2;
    size_t i;
    json_t *rule;

    if (nl_rule_data_load(RULES, &data, err) < 0)
        return -1;
    json_array_foreach(data.rules, i, rule)
    {
        if (n < sizeof(names) / sizeof(names[0]) - 1)
            names[n++] = nl_dig_string(rule, "name", "");
    }
    for (i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return 0;
    near = nl_suggest(name, names);
    nl_fail(err, NL_EXIT_REQUEST, "there is no diagnosis \"%s\"", name);
    return near ? nl_hint(err, "did you mean \"%s\"?", near)
                : nl_hint(err, "docs/document.md lists the diagnoses");
}

const json_t *nl_diagnosis_expected(const json_t *document)
{
    const json_t *expected = nl_dig(document, "scenario.expect");

    return nl_dig(expected, "diagnosis") ? expected : NULL;
}

bool nl_diagnosis_is_expected(const json_t *document)
{
    const json_t *expected = nl_diagnosis_expected(document);
    const json_t *found = nl_dig(document, "diagnosis");

    return nl_dig_is(found, "name", nl_dig_string(expected, "diagnosis", "")) &&
           is_of_layer(found, nl_dig_string(expected, "layer", NULL));
}

/* "image-corrupt at L0, hang at L2": the faults of the scenario, where their layers got so far. */
static char *injected(const json_t *document)
{
    char *text = NULL;
    size_t size, i, n = 0;
    FILE *out = open_memstream(&text, &size);
    json_t *fault;

    if (!out)
        return NULL;
    json_array_foreach(nl_dig(document, "scenario.faults"), i, fault)
    {
        const char *layer = nl_dig_string(fault, "layer", "?");

        if (n < FAULTS_MAX && !nl_dig_is(nl_dig_layer(document, layer), "state", "not reached"))
            fprintf(out, "%s%s at %s", n++ ? ", " : "", nl_dig_string(fault, "fault", "?"), layer);
    }
    fclose(out);
    return text;
}

char *nl_diagnosis_advice(const json_t *document, const char *remedy)
{
    cleanup_free char *faults = injected(document);
    char *text = NULL;

    if (!remedy || !faults || !*faults)
        return remedy ? strdup(remedy) : NULL;
    if (asprintf(&text, "nothing, if this is what the scenario itself injects (%s); otherwise: %s",
                 faults, remedy) < 0)
        return NULL;
    return text;
}

/* Rules cut what they quote. */
static bool is_cut_of(const char *text, const char *whole)
{
    static const char cut[] = " ...";
    size_t length = strlen(text), end = strlen(cut);

    return length > end && strcmp(text + length - end, cut) == 0 &&
           strncmp(text, whole, length - end) == 0;
}

bool nl_diagnosis_is_of_failure(const json_t *document, const char *evidence)
{
    static const char *const looks[] = {"seen at ", "by NMI: ", "its QEMU's process: "};
    const json_t *failure = nl_dig(document, "failure");

    if (!evidence || nl_dig_is(failure, "message", evidence) ||
        is_cut_of(evidence, nl_dig_string(failure, "message", "")))
        return true;
    for (size_t i = 0; nl_dig(failure, "evidence") && i < sizeof(looks) / sizeof(looks[0]); i++)
        if (strncmp(evidence, looks[i], strlen(looks[i])) == 0)
            return true;
    return false;
}

char *nl_diagnosis_title(const json_t *named)
{
    const char *name = nl_dig_string(named, "name", nl_dig_string(named, "diagnosis", NULL));
    const char *layer = nl_dig_string(named, "layer", NULL);
    char *title = NULL;

    if (!name)
        return strdup("nothing");
    if (asprintf(&title, "%s%s%s", name, layer ? " at " : "", layer ? layer : "") < 0)
        return NULL;
    return title;
}
