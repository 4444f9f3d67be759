/*
 * test-diagnosis.c - the root cause of broken documents: each rule finds its own and nothing else,
 * the outermost layer comes first, and what a scenario expects decides.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "check.h"
#include "diagnosis.h"
#include "dig.h"
#include "document.h"
#include "report.h"

#include <string.h>

static json_t *fixture(const char *name)
{
    json_t *document = NULL;
    char path[512];

    snprintf(path, sizeof(path), NL_SOURCE "/tests/fixtures/%s.json", name);
    assert_int_equal(nl_document_load(path, &document, NULL), 0);
    return document;
}

/* VALUE (JSON) into the object at PLACE, such as "layers.1.facts". */
static void change(json_t *root, const char *place, const char *key, const char *value)
{
    cleanup_free char *copy = strdup(place);
    char *rest = NULL;

    for (char *step = strtok_r(copy, ".", &rest); step; step = strtok_r(NULL, ".", &rest))
        root = json_is_array(root) ? json_array_get(root, (size_t)atoi(step))
                                   : json_object_get(root, step);
    assert_int_equal(json_object_set_new(root, key, json_loads(value, JSON_DECODE_ANY, NULL)), 0);
}

static void fail_at(json_t *document, const char *layer, const char *kind, const char *message)
{
    json_object_set_new(document, "failure",
                        json_pack("{s:s, s:s, s:s, s:s, s:n, s:[]}", "layer", layer, "phase",
                                  "kernel", "kind", kind, "message", message, "hint",
                                  "console_tail"));
}

static void diagnose(json_t *document)
{
    cleanup_error struct nl_error *err = NULL;

    if (nl_checks_run(document, &err) < 0 || nl_diagnosis_run(document, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    nl_document_judge(document);
}

static void assert_diagnosis(const json_t *document, const char *wanted)
{
    cleanup_free char *title = nl_diagnosis_title(nl_dig(document, "diagnosis"));

    assert_string_equal(title, wanted);
    /* A rule that cannot be evaluated is only told where no other knows better. */
    assert_null(strstr(title, "unknown"));
}

static void test_nothing_is_wrong(void **state)
{
    cleanup_json json_t *document = fixture("passed");

    (void)state;
    diagnose(document);
    assert_true(json_is_null(json_object_get(document, "diagnosis")));
    assert_diagnosis(document, "nothing");
}

/* An interrupted run has not failed, whatever it left undone. */
static void test_an_interrupt_is_no_trouble(void **state)
{
    cleanup_json json_t *document = fixture("panic");

    (void)state;
    change(document, "run", "interrupted", "true");
    diagnose(document);
    assert_diagnosis(document, "nothing");
}

static void test_fixtures(void **state)
{
    static const struct {
        const char *fixture;
        const char *diagnosis;
        const char *summary;
        const char *evidence;
    } known[] = {
        {"nested-off", "nesting-off at L0", "kvm_amd in L0 runs with nested=0", "nested: 0"},
        {"panic", "kernel-panic at L2", "panicked: Attempted to kill init! exitcode=0x00000009",
         "Kernel panic"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        cleanup_json json_t *document = fixture(known[i].fixture);
        const json_t *evidence;

        diagnose(document);
        assert_diagnosis(document, known[i].diagnosis);
        assert_non_null(strstr(nl_dig_string(document, "diagnosis.summary", ""), known[i].summary));
        evidence = json_array_get(nl_dig(document, "diagnosis.evidence"), 0);
        assert_non_null(strstr(json_string_value(evidence), known[i].evidence));
        assert_null(strchr(nl_dig_string(document, "diagnosis.explanation", ""), '{'));
        assert_true(*nl_dig_string(document, "diagnosis.remedy", ""));
        /* Who reads only the next step reads what to do about the cause. */
        assert_string_equal(nl_dig_string(document, "verdict.next", ""),
                            nl_dig_string(document, "diagnosis.remedy", "?"));
    }
}

static void test_one_thing_broken(void **state)
{
    static const struct {
        const char *place, *key, *value;
        const char *diagnosis;
    } broken[] = {
        {"layers.0.facts.cpuid", "svm", "false", "virtualization-hidden at L0"},
        {"layers.1.facts.cpuid", "svm", "false", "virtualization-hidden at L1"},
        {"layers.0.facts.modules.kvm_amd.parameters", "nested", "\"0\"", "nesting-off at L0"},
        {"layers.1.facts.modules.kvm_amd.parameters", "nested", "\"N\"", "nesting-off at L1"},
        /* No rule: the check speaks for itself. */
        {"layers.1.log.records.3", "text", "\"Call Trace:\"", "check-failed at L1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        cleanup_json json_t *document = fixture("passed");

        change(document, broken[i].place, broken[i].key, broken[i].value);
        diagnose(document);
        assert_diagnosis(document, broken[i].diagnosis);
    }
}

/* A layer inside shows the consequences of what is wrong around it. */
static void test_the_outermost_comes_first(void **state)
{
    cleanup_json json_t *document = fixture("passed");

    (void)state;
    change(document, "layers.0.facts.modules.kvm_amd.parameters", "nested", "\"0\"");
    change(document, "layers.1.facts.cpuid", "svm", "false");
    fail_at(document, "L2", "refused", "invalid argument: no KVM");
    diagnose(document);
    assert_diagnosis(document, "nesting-off at L0");
    change(document, "layers.0.facts.modules.kvm_amd.parameters", "nested", "\"1\"");
    diagnose(document);
    assert_diagnosis(document, "virtualization-hidden at L1");
}

static void test_kinds_of_failure(void **state)
{
    static const struct {
        const char *kind, *diagnosis;
    } known[] = {
        {"hung", "hung at L2"},
        {"slow", "slow at L2"},
        {"gone", "layer-gone at L2"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        cleanup_json json_t *document = fixture("passed");

        change(document, "layers.2", "state", "\"failed\"");
        fail_at(document, "L2", known[i].kind, "what was seen");
        diagnose(document);
        assert_diagnosis(document, known[i].diagnosis);
        assert_non_null(strstr(nl_dig_string(document, "diagnosis.summary", ""), "what was seen"));
    }
}

/* Patience that ended, and what a layer's agent died over. */
static void test_words_of_failure(void **state)
{
    static const struct {
        const char *kind, *message, *diagnosis;
    } known[] = {
        {"timeout", "the run's own limit of 300 s was over: no answer", "time-over at L2"},
        {"error", "the agent refused: it died over it: signal 9", "agent-lost at L2"},
        {"crashed", "it is crashed: its domain stands still: paused (internal-error)",
         "kvm-internal-error at L2"},
        {"crashed", "it is crashed: its console says \"KVM internal error\"",
         "kvm-internal-error at L2"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        cleanup_json json_t *document = fixture("passed");

        change(document, "layers.2", "state", "\"failed\"");
        fail_at(document, "L2", known[i].kind, known[i].message);
        diagnose(document);
        assert_diagnosis(document, known[i].diagnosis);
    }
}

/* What no rule knows is told in the words of the failure, or of the check that is further out. */
static void test_without_a_rule(void **state)
{
    cleanup_json json_t *document = fixture("passed");
    cleanup_free char *title = NULL;

    (void)state;
    change(document, "layers.2", "state", "\"failed\"");
    fail_at(document, "L2", "refused", "the moon is wrong");
    diagnose(document);
    title = nl_diagnosis_title(nl_dig(document, "diagnosis"));
    assert_string_equal(title, "unknown at L2");
    assert_string_equal(nl_dig_string(document, "diagnosis.summary", ""), "the moon is wrong");
    change(document, "layers.1.log.records.3", "text", "\"Call Trace:\"");
    diagnose(document);
    assert_diagnosis(document, "check-failed at L1");
    assert_non_null(strstr(nl_dig_string(document, "diagnosis.summary", ""), "l1-log-clean fails"));
}

/* Somebody paused it: no failure of KVM. */
static void test_a_pause_is_no_internal_error(void **state)
{
    cleanup_json json_t *document = fixture("passed");

    (void)state;
    change(document, "layers.2", "state", "\"failed\"");
    fail_at(document, "L2", "crashed", "its domain stands still: paused, libvirt's reason 1");
    diagnose(document);
    assert_string_equal(nl_dig_string(document, "diagnosis.name", ""), "unknown");
}

/* All of them compile and run on documents of any kind: else they would silently never apply. */
static void test_every_rule_runs(void **state)
{
    static const char *const fixtures[] = {"passed", "nested-off", "panic", "no-l0"};
    /* The kinds whose programs look further. */
    static const char *const kinds[] = {"hung", "crashed", "timeout"};

    (void)state;
    for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++) {
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            cleanup_rule_data struct nl_rule_data data = {0};
            cleanup_json json_t *document = fixture(fixtures[i]);
            json_t *all;
            size_t r;
            json_t *rule;

            assert_int_equal(nl_rule_data_load("scenarios/checks/diagnoses.json", &data, NULL), 0);
            fail_at(document, "L1", kinds[k], "what was seen");
            all = data.rules;
            json_array_foreach(all, r, rule)
            {
                size_t e;
                json_t *evidence;

                data.rules = json_pack("[O]", rule);
                assert_int_equal(nl_diagnosis_run_rules(document, &data, NULL), 0);
                json_decref(data.rules);
                assert_non_null(nl_dig(document, "diagnosis.name"));
                json_array_foreach(nl_dig(document, "diagnosis.evidence"), e, evidence)
                {
                    if (strstr(json_string_value(evidence), "could not be evaluated for"))
                        fail_msg("%s", json_string_value(evidence));
                }
            }
            data.rules = all;
        }
    }
}

static json_t *rule_of(const char *program)
{
    return json_pack("[{s:s, s:s, s:s, s:s, s:s}]", "name", "made-up", "for", "innermost",
                     "program", program, "explanation", "of {layer} in {below}", "remedy",
                     "mend {layer}");
}

static void run_program(json_t *document, const char *program)
{
    struct nl_rule_data data = {.prelude = NULL};
    cleanup_rule_data struct nl_rule_data real = {0};

    assert_int_equal(nl_rule_data_load("scenarios/checks/diagnoses.json", &real, NULL), 0);
    data = (struct nl_rule_data){rule_of(program), real.lists, real.prelude};
    assert_int_equal(nl_diagnosis_run_rules(document, &data, NULL), 0);
    json_decref(data.rules);
}

static void test_what_a_program_may_give(void **state)
{
    static const struct {
        const char *program, *diagnosis, *evidence;
    } known[] = {
        {"\"it is broken\"", "made-up at L2", "what was seen"},
        {"{summary: \"it is broken\", evidence: [\"one\"]}", "made-up at L2", "one"},
        {"{summary: \"it is broken\", evidence: [7]}", "made-up at L2", "what was seen"},
        {"null", "unknown at L2", "what was seen"},
        {"empty", "unknown at L2", "what was seen"},
        {"error(\"no\")", "unknown at L2", "what was seen"},
        {"7", "unknown at L2", "what was seen"},
        {"true", "unknown at L2", "what was seen"},
        {"no_such_function", "unknown at L2", "what was seen"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        cleanup_json json_t *document = fixture("passed");
        cleanup_free char *title = NULL;
        const json_t *evidence;

        fail_at(document, "L2", "hung", "what was seen");
        run_program(document, known[i].program);
        title = nl_diagnosis_title(nl_dig(document, "diagnosis"));
        assert_string_equal(title, known[i].diagnosis);
        evidence = nl_dig(document, "diagnosis.evidence");
        assert_string_equal(json_string_value(json_array_get(evidence, 0)), known[i].evidence);
        /* What could not be evaluated says so. */
        assert_int_equal(json_array_size(evidence), i < 5 ? 1 : 2);
    }
}

static void test_what_is_expected_decides(void **state)
{
    static const struct {
        const char *expect;
        const char *status;
        int exit_status;
        const char *summary;
    } known[] = {
        {"{\"diagnosis\": \"nesting-off\", \"layer\": \"L0\"}", "passed", 0,
         "came out: nesting-off at L0"},
        {"{\"diagnosis\": \"nesting-off\", \"layer\": \"L1\"}", "failed", 1,
         "had to be nesting-off at L1, and is nesting-off at L0"},
        {"{\"diagnosis\": \"nesting-off\"}", "failed", 1, "and is nesting-off at L0"},
        {"{\"diagnosis\": \"hung\", \"layer\": \"L0\"}", "failed", 1, "and is nesting-off at L0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        cleanup_json json_t *document = fixture("nested-off");
        cleanup_free char *junit = NULL;
        cleanup_free char *text = NULL;
        size_t size;
        FILE *out;

        change(document, "scenario", "expect", known[i].expect);
        diagnose(document);
        assert_string_equal(nl_dig_string(document, "verdict.status", ""), known[i].status);
        assert_int_equal(nl_document_exit(document), known[i].exit_status);
        assert_non_null(strstr(nl_dig_string(document, "verdict.summary", ""), known[i].summary));
        /* A CI server must not see the checks that have to fail. */
        junit = nl_report_junit_text(document);
        assert_non_null(strstr(junit, known[i].exit_status ? "failures=\"1\" errors=\"0\""
                                                           : "failures=\"0\" errors=\"0\""));
        assert_int_equal(strstr(junit, "<failure") != NULL, known[i].exit_status != 0);
        assert_null(strstr(junit, "<error"));
        out = open_memstream(&text, &size);
        nl_report_text(document, out, false);
        fclose(out);
        assert_non_null(strstr(text, known[i].exit_status ? "  expected:    " : "  as expected: "));
    }
}

/* Nothing is wrong, but it had to be. */
static void test_a_missing_diagnosis_fails(void **state)
{
    cleanup_json json_t *document = fixture("passed");

    (void)state;
    change(document, "scenario", "expect", "{\"diagnosis\": \"hung\", \"layer\": \"L2\"}");
    diagnose(document);
    assert_int_equal(nl_document_exit(document), NL_EXIT_CHECK_FAILED);
    assert_string_equal(nl_dig_string(document, "verdict.summary", ""),
                        "the diagnosis had to be hung at L2, and is nothing");
}

/* It comes before everything else, and what it says is kept from terminals. */
static void test_the_report_shows_it_first(void **state)
{
    cleanup_json json_t *document = fixture("panic");
    cleanup_free char *junit = NULL;
    cleanup_free char *text = NULL;
    size_t size;
    FILE *out;

    (void)state;
    diagnose(document);
    change(document, "diagnosis", "summary", "\"evil \\u001b[31m\"");
    out = open_memstream(&text, &size);
    nl_report_text(document, out, false);
    fclose(out);
    assert_non_null(strstr(text, "\nDiagnosis  kernel-panic at L2\n"));
    assert_true(strstr(text, "\nDiagnosis") < strstr(text, "\nStack"));
    assert_null(strchr(text, '\033'));
    junit = nl_report_junit_text(document);
    assert_non_null(strstr(junit, "name=\"diagnosis\" value=\"kernel-panic\""));
    assert_non_null(strstr(junit, "diagnosis of the run: kernel-panic at L2: evil "));
}

static void test_names(void **state)
{
    static const char *const good[] = {"hung", "check-failed", "unknown", "nesting-off"};
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(nl_diagnosis_check_name(good[i], NULL), 0);
    assert_int_equal(nl_diagnosis_check_name("hanged", &err), -1);
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
    nl_error_free(&err);
    assert_int_equal(nl_diagnosis_check_name("nesting-of", &err), -1);
    assert_non_null(strstr(nl_error_hint(err), "\"nesting-off\""));
}

/* Somebody else's document may hold anything. */
static void test_hostile(void **state)
{
    cleanup_json json_t *document = fixture("hostile");

    (void)state;
    diagnose(document);
    assert_non_null(nl_dig(document, "diagnosis.name"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_wrong),
        cmocka_unit_test(test_an_interrupt_is_no_trouble),
        cmocka_unit_test(test_fixtures),
        cmocka_unit_test(test_one_thing_broken),
        cmocka_unit_test(test_the_outermost_comes_first),
        cmocka_unit_test(test_kinds_of_failure),
        cmocka_unit_test(test_words_of_failure),
        cmocka_unit_test(test_without_a_rule),
        cmocka_unit_test(test_a_pause_is_no_internal_error),
        cmocka_unit_test(test_every_rule_runs),
        cmocka_unit_test(test_what_a_program_may_give),
        cmocka_unit_test(test_what_is_expected_decides),
        cmocka_unit_test(test_a_missing_diagnosis_fails),
        cmocka_unit_test(test_the_report_shows_it_first),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_hostile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
