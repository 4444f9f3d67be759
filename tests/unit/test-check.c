/*
 * test-check.c - what jq programs may do, and that each default check fails when what it is about
 * is broken: the broken documents are made from one that passes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "check-jq.h"
#include "check.h"
#include "deadline.h"
#include "dig.h"
#include "document.h"

#include <string.h>

#define CHECKS NL_SOURCE "/scenarios/checks/"

static json_t *fixture(const char *name)
{
    json_t *document = NULL;
    char path[512];

    snprintf(path, sizeof(path), NL_SOURCE "/tests/fixtures/%s.json", name);
    assert_int_equal(nl_document_load(path, &document, NULL), 0);
    return document;
}

static const json_t *find(const json_t *document, const char *name)
{
    size_t i;
    json_t *check;

    json_array_foreach(json_object_get(document, "checks"), i, check)
    {
        if (nl_dig_is(check, "name", name))
            return check;
    }
    return NULL;
}

static char *prelude_text(void)
{
    char *text = calloc(1, 100000);
    cleanup_fclose FILE *file = fopen(CHECKS "prelude.jq", "r");

    assert_non_null(file);
    assert_true(fread(text, 1, 99999, file) > 0);
    return text;
}

static void run(json_t *document)
{
    cleanup_error struct nl_error *err = NULL;

    if (nl_checks_run(document, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    nl_document_judge(document);
}

/* Only the default check of that name ("l1-flags" is "flags" at L1), to save the time of the
 * others. */
static void run_one(json_t *document, const char *name)
{
    cleanup_json json_t *rules = json_load_file(CHECKS "checks.json", 0, NULL);
    cleanup_json json_t *lists = json_load_file(CHECKS "log-lines.json", 0, NULL);
    cleanup_free char *prelude = prelude_text();

    for (size_t i = json_array_size(rules); i-- > 0;)
        if (!nl_dig_is(json_array_get(rules, i), "name", strchr(name, '-') + 1))
            json_array_remove(rules, i);
    assert_int_equal(json_array_size(rules), 1);
    json_object_del(json_object_get(document, "scenario"), "checks");
    assert_int_equal(nl_checks_run_rules(document, rules, lists, prelude, NULL), 0);
}

static void assert_verdict(const json_t *document, const char *name, const char *verdict)
{
    const json_t *check = find(document, name);

    if (!check)
        fail_msg("there is no check %s", name);
    if (!nl_dig_is(check, "verdict", verdict))
        fail_msg("%s: %s (%s), not %s", name, nl_dig_string(check, "verdict", "?"),
                 nl_dig_string(check, "message", ""), verdict);
}

/* The JSON value at a place such as "layers.1.facts.cpuid". */
static json_t *at(json_t *root, const char *place)
{
    cleanup_free char *copy = strdup(place);
    char *rest = NULL;

    for (char *key = strtok_r(copy, ".", &rest); key; key = strtok_r(NULL, ".", &rest))
        root = json_is_array(root) ? json_array_get(root, (size_t)atoi(key))
                                   : json_object_get(root, key);
    return root;
}

static void test_passed(void **state)
{
    static const char *const wanted[] = {
        "l0-booted",
        "l1-booted",
        "l2-booted",
        "l0-nested-parameter",
        "l1-nested-parameter",
        "l0-log-nesting",
        "l1-log-nesting",
        "l0-log-nested-paging",
        "l1-log-nested-paging",
        "l0-sees-virtualization",
        "l1-sees-virtualization",
        "l0-kvm-loads",
        "l1-kvm-loads",
        "l0-dev-kvm-makes-vm",
        "l1-dev-kvm-makes-vm",
        "l0-kvm-runs-guest",
        "l1-kvm-runs-guest",
        "l1-under-kvm",
        "l2-under-kvm",
        "l1-not-emulated",
        "l2-not-emulated",
        "l1-flags",
        "l2-flags",
        "l0-log-clean",
        "l1-log-clean",
        "l2-log-clean",
        "l0-log-complete",
        "l1-log-complete",
        "l2-log-complete",
        "l2-memory",
        "command-uname",
    };
    cleanup_json json_t *document = fixture("passed");
    size_t i;
    json_t *check;

    (void)state;
    run(document);
    for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        assert_verdict(document, wanted[i], "pass");
    assert_verdict(document, "command-selftest", "skip");
    /* Nothing beyond these, such as an L0 that would have to run under KVM. */
    assert_int_equal(json_array_size(nl_dig(document, "checks")), i + 1);
    assert_int_equal(nl_document_exit(document), NL_EXIT_PASSED);
    json_array_foreach(nl_dig(document, "checks"), i, check)
    {
        assert_true(*nl_dig_string(check, "explanation", ""));
        assert_null(strchr(nl_dig_string(check, "explanation", ""), '{'));
        assert_null(strstr(nl_dig_string(check, "hint", ""), "{layer}"));
    }
}

/* One thing broken in the passing document: VALUE (JSON) at PLACE.KEY; the check that has to say
 * so. */
static void test_each_check_can_fail(void **state)
{
    static const struct {
        const char *place;
        const char *key;
        const char *value;
        const char *check;
        const char *verdict;
    } broken[] = {
        {"layers.0.facts.modules.kvm_amd.parameters", "nested", "\"0\"", "l0-nested-parameter",
         "fail"},
        {"layers.1.facts.modules.kvm_amd.parameters", "nested", "\"N\"", "l1-nested-parameter",
         "fail"},
        {"layers.1.facts.modules.kvm_amd.parameters", "nested", "\"Y\"", "l1-nested-parameter",
         "pass"},
        {"layers.1.facts.modules.kvm_amd.parameters", "nested", "null", "l1-nested-parameter",
         "error"},
        {"layers.1.facts.cpuid", "svm", "false", "l1-sees-virtualization", "fail"},
        {"layers.1.facts.modules.kvm", "loaded", "false", "l1-kvm-loads", "fail"},
        {"layers.1.facts.modules.kvm_amd", "loaded", "false", "l1-kvm-loads", "fail"},
        {"layers.1.facts.kvm.device", "exists", "false", "l1-dev-kvm-makes-vm", "fail"},
        {"layers.1.facts.kvm.device", "opens", "false", "l1-dev-kvm-makes-vm", "fail"},
        {"layers.1.facts.kvm", "vm_created", "false", "l1-dev-kvm-makes-vm", "fail"},
        {"layers.1.facts.kvm", "vcpu_created", "null", "l1-dev-kvm-makes-vm", "fail"},
        {"layers.1.facts", "kvm", "null", "l1-dev-kvm-makes-vm", "error"},
        {"layers.0.facts.kvm.guest", "ran", "false", "l0-kvm-runs-guest", "fail"},
        {"layers.0.facts.kvm", "guest", "null", "l0-kvm-runs-guest", "error"},
        {"layers.2.facts.cpuid.hypervisor", "signature", "\"TCGTCGTCGTCG\"", "l2-under-kvm",
         "fail"},
        {"layers.2.facts.cpuid.hypervisor", "present", "false", "l2-under-kvm", "fail"},
        {"layers.2.facts.cpuid.hypervisor", "signature", "null", "l2-under-kvm", "error"},
        {"layers.2.facts.cpuid", "hypervisor", "null", "l2-under-kvm", "error"},
        {"layers.2", "state", "\"gone\"", "l2-booted", "fail"},
        {"layers.2", "state", "\"failed\"", "l2-booted", "fail"},
        {"layers.2.facts", "flags", "[\"fpu\", \"svm\"]", "l2-flags", "fail"},
        {"layers.2.facts", "flags", "[\"hypervisor\"]", "l2-flags", "fail"},
        {"layers.2.facts", "flags", "[]", "l2-flags", "error"},
        {"layers.2.domain", "virtualization", "false", "l2-flags", "fail"},
        {"layers.1.log", "lost", "3", "l1-log-complete", "error"},
        {"layers.1.log.records.2", "seq", "9", "l1-log-complete", "error"},
        {"layers.1.log.records.3", "text", "\"Call Trace:\"", "l1-log-clean", "fail"},
        {"layers.1.log.records.4", "text", "\"nothing\"", "l1-log-nesting", "fail"},
        {"layers.1.log.records.5", "text", "\"SVM: kvm: Nested Paging disabled\"",
         "l1-log-nested-paging", "fail"},
        {"layers.1", "log", "null", "l1-log-clean", "error"},
        {"layers.2.exits.2.counters", "vcpu.0.exits.sum", "\"90\"", "l2-not-emulated", "fail"},
        {"layers.2.exits.2.counters", "vcpu.0.exits.sum", "\"12 apples\"", "l2-not-emulated",
         "error"},
        {"layers.1.exits.2.counters", "vcpu.0.nested_run.sum", "\"99\"", "l2-not-emulated", "fail"},
        {"layers.1", "exits", "[]", "l2-not-emulated", "error"},
        {"layers.2", "exits", "null", "l2-not-emulated", "error"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        cleanup_json json_t *document = fixture("passed");
        json_t *value = json_loads(broken[i].value, JSON_DECODE_ANY, NULL);

        assert_int_equal(json_object_set_new(at(document, broken[i].place), broken[i].key, value),
                         0);
        run_one(document, broken[i].check);
        assert_verdict(document, broken[i].check, broken[i].verdict);
    }
}

/* A clock is judged only where times were measured, and only as far as it was bounded. */
static void test_clock(void **state)
{
    static const struct {
        double ppm;
        double uncertainty;
        const char *verdict;
        const char *said;
    } known[] = {
        {-31, 400, "pass", "0 % slower, give or take 0.04 %, over 30 s"},
        {21000, 1500, "pass", "2.1 % faster"},
        {-30000, 400, "fail", "3 % slower"},
        {500000, 30000, "skip", "not judged: 50 % faster, give or take 3 %"},
        {NAN, 0, "skip", "too short a time"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        cleanup_json json_t *document = fixture("passed");
        json_t *rate = isnan(known[i].ppm) ? json_null()
                                           : json_pack("{s:f, s:f}", "ppm", known[i].ppm,
                                                       "uncertainty_ppm", known[i].uncertainty);

        json_object_set_new(at(document, "layers.1"), "clocks",
                            json_pack("{s:s, s:f, s:{s:o}}", "source", "kvm-clock", "seconds", 30.2,
                                      "to_below", "clock", rate));
        run_one(document, "l1-clock");
        assert_verdict(document, "l1-clock", known[i].verdict);
        if (!strstr(nl_dig_string(find(document, "l1-clock"), "message", ""), known[i].said))
            fail_msg("%s", nl_dig_string(find(document, "l1-clock"), "message", ""));
        assert_null(find(document, "l2-clock"));
    }
}

/* Nested virtualization is off in L0: that has to be the first check that fails. */
static void test_nested_off(void **state)
{
    cleanup_json json_t *document = fixture("nested-off");
    const json_t *first = NULL;

    (void)state;
    run(document);
    assert_verdict(document, "l0-nested-parameter", "fail");
    assert_verdict(document, "l1-sees-virtualization", "fail");
    assert_int_equal(nl_document_exit(document), NL_EXIT_CHECK_FAILED);
    for (size_t i = 0; !first; i++) {
        const json_t *check = json_array_get(nl_dig(document, "checks"), i);

        assert_non_null(check);
        first = nl_dig_is(check, "verdict", "fail") ? check : NULL;
    }
    assert_true(nl_dig_is(first, "name", "l0-nested-parameter"));
    assert_true(nl_dig_is(document, "verdict.next", nl_dig_string(first, "hint", "?")));
}

static void test_layers_that_are_not_there(void **state)
{
    cleanup_json json_t *document = fixture("no-l0");
    cleanup_json json_t *panicked = fixture("panic");

    (void)state;
    run(document);
    assert_verdict(document, "l0-booted",
                   "error"); /* refused: the lab's trouble, not the layer's */
    assert_verdict(document, "l1-under-kvm", "error");
    assert_verdict(document, "l2-memory", "error");
    assert_verdict(document, "command-uname", "error");
    assert_true(
        nl_dig_is(find(document, "l2-log-clean"), "message", "not evaluated: L2 was not reached"));
    assert_int_equal(nl_document_exit(document), NL_EXIT_LAB);
    run(panicked);
    assert_verdict(panicked, "l2-booted", "fail");
    assert_verdict(panicked, "l2-memory", "error");
    assert_int_equal(nl_document_exit(panicked), NL_EXIT_CHECK_FAILED);
}

/* An interrupt says nothing of the layer that was on its way, nor of those that were not tried. */
static void test_interrupted_on_the_way(void **state)
{
    cleanup_json json_t *document = fixture("no-l0");
    json_t *layer = json_array_get(json_object_get(document, "layers"), 0);
    size_t i;
    json_t *check;

    (void)state;
    json_object_set_new(layer, "state", json_string(NL_LAYER_INTERRUPTED));
    json_object_set_new(document, "failure", json_null());
    json_object_set_new(json_object_get(document, "run"), "interrupted", json_true());
    run(document);
    json_array_foreach(json_object_get(document, "checks"), i, check)
        assert_true(nl_dig_is(check, "verdict", "error"));
    for (i = 0; i < 2; i++) {
        static const char *const names[] = {"l0-booted", "l0-log-clean"};

        assert_true(nl_dig_is(find(document, names[i]), "message",
                              "not evaluated: L0 was interrupted while it came up"));
    }
    assert_int_equal(nl_document_exit(document), NL_EXIT_INTERRUPTED);
}

/* An Intel processor: kvm_intel prints no line about nesting. */
static void test_intel(void **state)
{
    cleanup_json json_t *document = fixture("passed");
    json_t *modules = at(document, "layers.1.facts.modules");

    (void)state;
    json_object_set(modules, "kvm_intel", json_object_get(modules, "kvm_amd"));
    json_object_del(modules, "kvm_amd");
    json_array_clear(at(document, "layers.1.log.records"));
    run(document);
    assert_verdict(document, "l1-log-nesting", "skip");
    assert_verdict(document, "l1-log-nested-paging", "skip");
    assert_verdict(document, "l1-nested-parameter", "pass");
    assert_verdict(document, "l1-kvm-loads", "pass");
}

/* L0 is this machine: its log holds what was before the run, and lacks what was long before. */
static void test_local_l0(void **state)
{
    cleanup_json json_t *document = fixture("passed");
    json_t *records = at(document, "layers.0.log.records");

    (void)state;
    json_object_set_new(at(document, "run.l0"), "taken", json_string("local"));
    json_object_set_new(at(document, "layers.0.log"), "lost", json_integer(812));
    json_array_clear(records);
    json_array_append_new(records, json_pack("{s:i, s:i, s:i, s:s}", "seq", 812, "level", 3,
                                             "time_us", 1000, "text", "Call Trace:"));
    run(document);
    assert_verdict(document, "l0-log-nesting", "skip");
    assert_verdict(document, "l0-log-complete", "pass");
    assert_verdict(document, "l0-log-clean", "pass");
    json_array_append_new(records,
                          json_pack("{s:i, s:i, s:I, s:s}", "seq", 813, "level", 3, "time_us",
                                    (json_int_t)99000000, "text", "Call Trace:"));
    run(document);
    assert_verdict(document, "l0-log-clean", "fail");
    json_object_set_new(json_array_get(records, 1), "seq", json_integer(900));
    run(document);
    assert_verdict(document, "l0-log-complete", "error");
}

static const char *const lists_keys[] = {"trouble", "harmless"};

/* Every line that counts as trouble has an example that is found, and every harmless line one that
   would be trouble if it were not listed: a layer for each, in one document. */
static void test_log_lines(void **state)
{
    cleanup_json json_t *lists = json_load_file(CHECKS "log-lines.json", 0, NULL);
    cleanup_json json_t *none = json_deep_copy(lists);
    cleanup_json json_t *document = fixture("passed");
    json_t *layers = json_object_get(document, "layers");

    (void)state;
    json_array_clear(layers);
    for (size_t k = 0; k < 2; k++) {
        size_t i;
        json_t *line;

        json_array_foreach(json_object_get(lists, lists_keys[k]), i, line)
        {
            assert_true(*nl_dig_string(line, k == 0 ? "about" : "reason", ""));
            json_array_append_new(
                layers, json_pack("{s:o, s:I, s:s, s:{s:[{s:i, s:i, s:i, s:s}], s:i}}", "name",
                                  json_sprintf("L%zu", json_array_size(layers)), "index",
                                  (json_int_t)json_array_size(layers), "state", "up", "log",
                                  "records", "seq", 0, "level", 3, "time_us", 1, "text",
                                  nl_dig_string(line, "example", ""), "lost", 0));
        }
    }
    run_one(document, "all-log-clean");
    for (size_t i = 0; i < json_array_size(layers); i++) {
        bool harmless = i >= json_array_size(json_object_get(lists, "trouble"));
        char name[32];

        snprintf(name, sizeof(name), "l%zu-log-clean", i);
        assert_verdict(document, name, harmless ? "pass" : "fail");
    }
    /* The example of a harmless line, with an empty list of harmless lines. */
    json_object_set_new(none, "harmless", json_pack("[{s:s}]", "pattern", "^never$"));
    {
        static const char program[] = "$layer.log.records | troubled($lists) | length == 1";
        cleanup_free char *prelude = prelude_text();
        cleanup_json json_t *results = NULL;
        const struct nl_jq_limits limits = {30, 60};
        struct nl_jq_check check = {program, (int)json_array_size(layers) - 1};

        assert_int_equal(
            nl_jq_evaluate(document, none, prelude, &check, 1, &limits, &results, NULL), 0);
        assert_true(nl_dig_is(json_array_get(results, 0), "verdict", "pass"));
    }
}

/* Nothing knows the number 2. */
static void test_depths(void **state)
{
    cleanup_json json_t *document = fixture("passed");
    json_t *layers = at(document, "layers");
    json_t *deeper = json_deep_copy(json_array_get(layers, 2));

    (void)state;
    json_object_set_new(deeper, "name", json_string("L3"));
    json_object_set_new(deeper, "index", json_integer(3));
    json_array_append_new(layers, deeper);
    run(document);
    assert_verdict(document, "l3-under-kvm", "pass");
    assert_verdict(document, "l2-nested-parameter", "error"); /* L2 boots L3 now, without KVM */
    assert_verdict(document, "l2-kvm-loads", "fail");
    assert_null(find(document, "l3-kvm-loads"));
    while (json_array_size(layers) > 1)
        json_array_remove(layers, json_array_size(layers) - 1);
    run(document);
    assert_verdict(document, "l0-nested-parameter", "pass");
    assert_null(find(document, "l1-booted"));
    assert_null(find(document, "l0-under-kvm"));
}

static void test_leaving_checks_out(void **state)
{
    cleanup_json json_t *document = fixture("passed");
    json_t *scenario = at(document, "scenario");

    (void)state;
    json_object_set_new(scenario, "without_checks", json_pack("[s, s]", "l1-flags", "log-nesting"));
    run(document);
    assert_null(find(document, "l1-flags"));
    assert_non_null(find(document, "l2-flags"));
    assert_null(find(document, "l0-log-nesting"));
    assert_null(find(document, "l1-log-nesting"));
    assert_non_null(find(document, "l1-log-nested-paging"));
    json_object_set_new(scenario, "default_checks", json_false());
    run(document);
    assert_int_equal(json_array_size(at(document, "checks")), 3); /* one of its own, two commands */
}

/* What a program gives, and what is made of it. */
static void test_outcomes(void **state)
{
    static const struct {
        const char *program;
        const char *verdict;
        const char *says;
    } known[] = {
        {"true", "pass", ""},
        {"false", "fail", ""},
        {"\"broken\"", "fail", "broken"},
        {"{verdict: \"pass\", message: \"and well\"}", "pass", "and well"},
        {"{verdict: \"skip\", message: \"not here\"}", "skip", "not here"},
        {"{verdict: \"fail\"}", "fail", ""},
        {"{verdict: \"fine\"}", "error", "object that is not"},
        {"{verdict: \"pass\", message: 7}", "error", "object that is not"},
        {"{}", "error", "object that is not"},
        {"null", "error", "null"},
        {"empty", "error", "no verdict"},
        {"true, true", "error", "more than one"},
        {"true, error(\"late\")", "error", "late"},
        {"7", "error", "neither"},
        {"[true]", "error", "neither"},
        {"error(\"thrown\")", "error", "thrown"},
        {"error({a: 1})", "error", "{\"a\":1}"},
        {"error(null)", "error", ""},
        {".run | keys | .[0] | tonumber", "error", "Invalid numeric literal"},
        {"", "error", "syntax error"},
        {"true |\n nosuch", "error", "line 2 of the program: nosuch/0 is not defined"},
        {"import \"a\" as a; true", "error", "syntax error"},
        {"include \"a\"; true", "error", "syntax error"},
        {"true) | (true", "pass", ""},
        {"def f: true; f # a comment", "pass", ""},
        {"env | length == 0", "pass", ""},
        {"input", "error", ""},
        {"\"printed\" | stderr | true", "pass", ""},
        {"\"debugged\" | debug | true", "pass", ""},
        {"halt", "error", "no verdict"},
        {"$layer.name == \"L1\" and $below.name == \"L0\" and ($layers | length) == 3", "pass", ""},
        {"layer(\"L2\").index == 2", "pass", ""},
        {"[range(70000)] | map(\"x\") | add", "fail", "xxx ..."},
        {"\"\\u001b[31m\\u0001\"", "fail", "\033[31m\001"},
        {"[limit(1; repeat(1))] == [1]", "pass", ""},
        {"def f: 1 + f; f", "error", ""},
    };
    enum { N = sizeof(known) / sizeof(known[0]) };
    cleanup_json json_t *document = fixture("passed");
    cleanup_free char *prelude = prelude_text();
    const struct nl_jq_limits limits = {60, 120};
    cleanup_json json_t *results = NULL;
    struct nl_jq_check checks[N];

    (void)state;
    for (size_t i = 0; i < N; i++)
        checks[i] = (struct nl_jq_check){known[i].program, 1};
    assert_int_equal(nl_jq_evaluate(document, NULL, prelude, checks, N, &limits, &results, NULL),
                     0);
    assert_int_equal(json_array_size(results), N);
    for (size_t i = 0; i < N; i++) {
        const json_t *result = json_array_get(results, i);
        const char *message = nl_dig_string(result, "message", "");

        if (!nl_dig_is(result, "verdict", known[i].verdict) || !strstr(message, known[i].says) ||
            strlen(message) > 2100)
            fail_msg("%s: %s (%s), not %s (%s)", known[i].program,
                     nl_dig_string(result, "verdict", "?"), message, known[i].verdict,
                     known[i].says);
    }
}

/* One that has to be killed does not keep the next one from its verdict. */
static void test_hanging_program(void **state)
{
    const struct nl_jq_check checks[] = {{"true", -1}, {"until(false; .)", -1}, {"true", -1}};
    const struct nl_jq_limits limits = {4, 60};
    cleanup_json json_t *document = fixture("passed");
    cleanup_json json_t *results = NULL;

    (void)state;
    assert_int_equal(nl_jq_evaluate(document, NULL, "", checks, 3, &limits, &results, NULL), 0);
    assert_int_equal(json_array_size(results), 3);
    assert_true(nl_dig_is(json_array_get(results, 0), "verdict", "pass"));
    assert_true(
        nl_dig_is(json_array_get(results, 1), "message", "the program did not end within 4 s"));
    assert_true(nl_dig_is(json_array_get(results, 2), "verdict", "pass"));
}

/* The time for all of them is limited too, and what is left out says so. */
static void test_total_limit(void **state)
{
    const struct nl_jq_check checks[] = {
        {"until(false; .)", -1}, {"until(false; .)", -1}, {"true", -1}};
    const struct nl_jq_limits limits = {0.3, 0.5};
    cleanup_json json_t *document = fixture("passed");
    cleanup_json json_t *results = NULL;
    int64_t start = nl_now_ms();

    (void)state;
    assert_int_equal(nl_jq_evaluate(document, NULL, "", checks, 3, &limits, &results, NULL), 0);
    assert_true(nl_now_ms() - start < 5000);
    assert_int_equal(json_array_size(results), 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(nl_dig_is(json_array_get(results, i), "verdict", "error"));
    assert_non_null(strstr(nl_dig_string(json_array_get(results, 2), "message", ""), "no time"));
}

static void test_layer_out_of_range(void **state)
{
    const struct nl_jq_check checks[] = {{"$layer == null and $below == null", -1},
                                         {"$layer == null", 99},
                                         {"$layer.name == \"L0\" and $below == null", 0}};
    const struct nl_jq_limits limits = {10, 30};
    cleanup_json json_t *document = fixture("passed");
    cleanup_json json_t *results = NULL;

    (void)state;
    assert_int_equal(nl_jq_evaluate(document, NULL, "", checks, 3, &limits, &results, NULL), 0);
    for (size_t i = 0; i < 3; i++)
        assert_true(nl_dig_is(json_array_get(results, i), "verdict", "pass"));
}

static void test_bad_rules(void **state)
{
    cleanup_json json_t *document = fixture("passed");
    cleanup_json json_t *rules =
        json_pack("[{s:s, s:s, s:s}]", "name", "x", "for", "every layer", "program", "true");
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    assert_int_equal(nl_checks_run_rules(document, rules, NULL, "", &err), -1);
    assert_non_null(strstr(nl_error_message(err), "every layer"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passed),
        cmocka_unit_test(test_each_check_can_fail),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_nested_off),
        cmocka_unit_test(test_layers_that_are_not_there),
        cmocka_unit_test(test_interrupted_on_the_way),
        cmocka_unit_test(test_intel),
        cmocka_unit_test(test_local_l0),
        cmocka_unit_test(test_log_lines),
        cmocka_unit_test(test_depths),
        cmocka_unit_test(test_leaving_checks_out),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_hanging_program),
        cmocka_unit_test(test_total_limit),
        cmocka_unit_test(test_layer_out_of_range),
        cmocka_unit_test(test_bad_rules),
    };

    /* Beside the sources, whatever folder the test was built in. */
    setenv("NESTLAB_DATA", NL_SOURCE, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
