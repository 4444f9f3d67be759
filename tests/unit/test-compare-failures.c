/*
 * test-compare-failures.c - runs that did not pass: which layer failed, what differs from the runs
 * that passed, and what --fail-above makes of it.
 */
#include "cmd.h"
#include "comparison-text.h"
#include "dig.h"
#include "folder.h"
#include "command.h"

#include <math.h>

#define GOOD NL_SOURCE "/tests/fixtures/report.json"
#define PANIC NL_SOURCE "/tests/fixtures/panic.json"
#define NO_L0 NL_SOURCE "/tests/fixtures/no-l0.json"
#define ARGS_MAX 8

static const struct nl_compare_options plain = {0.05, NAN, false};
static const struct nl_compare_options strict = {0.05, 5, false};

static json_t *load(const char *path, const char *id)
{
    json_t *document = json_load_file(path, 0, NULL);

    assert_non_null(document);
    json_object_set_new(json_object_get(document, "run"), "id", json_string(id));
    return document;
}

static void set_verdict(json_t *document, const char *status)
{
    json_object_set_new(json_object_get(document, "verdict"), "status", json_string(status));
}

/* One more check that failed. */
static json_t *fail_check(json_t *document, const char *name)
{
    set_verdict(document, "failed");
    json_array_append_new(json_object_get(document, "checks"),
                          json_pack("{s:s, s:s}", "name", name, "verdict", "fail"));
    return document;
}

/* Both are consumed, the new one of the file PATH; NULL where they are not comparable. */
static json_t *compare_file(json_t *base_run, json_t *new_run, const char *path,
                            const struct nl_compare_options *options)
{
    char *paths[] = {(char *)"document.json", (char *)path};
    struct nl_document_set a = {&base_run, &paths[0], 1}, b = {&new_run, &paths[1], 1};
    json_t *comparison = NULL;

    nl_compare(&a, &b, options, &comparison, NULL);
    json_decref(base_run);
    json_decref(new_run);
    return comparison;
}

static json_t *compare(json_t *base_run, json_t *new_run, const struct nl_compare_options *options)
{
    return compare_file(base_run, new_run, "document.json", options);
}

static bool differs(const json_t *comparison, const char *layer, const char *what)
{
    size_t i;
    json_t *each;

    json_array_foreach(json_object_get(comparison, "differs"), i, each)
    {
        if (nl_dig_is(each, "layer", layer) && nl_dig_is(each, "what", what))
            return true;
    }
    return false;
}

/* "It worked with kernel A and fails with kernel B." */
static void test_good_and_failed(void **state)
{
    cleanup_json json_t *comparison = compare(load(GOOD, "good"), load(PANIC, "bad"), &strict);
    cleanup_free char *text = text_of(comparison);
    cleanup_free char *page = nl_compare_html(comparison);
    const json_t *run = json_array_get(json_object_get(comparison, "new"), 0);

    (void)state;
    assert_true(nl_dig_is(run, "failure.layer", "L2") && nl_dig_is(run, "failure.phase", "boot"));
    assert_true(nl_dig_is(run, "diagnosis.name", "kernel-panic"));
    assert_true(nl_dig_true(run, "new_failure"));
    assert_int_equal(nl_dig_integer(comparison, "sum.new_failures", 0), 1);
    assert_int_equal(nl_compare_status(comparison), NL_EXIT_CHECK_FAILED);
    assert_int_equal(json_array_size(json_object_get(comparison, "not_comparable")), 0);
    assert_true(differs(comparison, "L0", "kernel"));
    assert_true(differs(comparison, "L2", "image digest"));
    /* L2 did not get so far as to say it. */
    assert_false(differs(comparison, "L2", "kernel"));
    assert_non_null(
        strstr(text, "bad failed in phase boot of L2: kernel-panic at L2, as no run of"));
    assert_non_null(strstr(text, "the kernel of L2 panicked: Attempted to kill init!"));
    assert_non_null(strstr(text, "Base and new measured nothing in common"));
    assert_non_null(strstr(text, "FAILED  1 new run failed, as no run of the base did"));
    assert_non_null(strstr(page, "failed in phase boot of L2: kernel-panic at L2"));
    assert_non_null(strstr(page, "<strong>FAILED</strong>"));
}

/* JSON holds no such name, and the run must count all the same. */
static void test_path_that_is_no_utf8(void **state)
{
    cleanup_json json_t *comparison =
        compare_file(load(GOOD, "good"), load(PANIC, "bad"), "b\xff/document.json", &strict);
    const json_t *run = json_array_get(json_object_get(comparison, "new"), 0);

    (void)state;
    assert_true(nl_dig_is(run, "path", "b\\xff/document.json"));
    assert_true(nl_dig_is(run, "id", "bad"));
    assert_int_equal(nl_compare_status(comparison), NL_EXIT_CHECK_FAILED);
}

static void test_who_fails(void **state)
{
    static const struct {
        const char *base, *base_check, *new, *new_check;
        int new_failures, status;
    } known[] = {
        {GOOD, NULL, GOOD, NULL, 0, NL_EXIT_PASSED},
        {GOOD, NULL, NO_L0, NULL, 1, NL_EXIT_CHECK_FAILED},
        /* Repaired, or as broken as before; and nothing says that it is not slower. */
        {PANIC, NULL, GOOD, NULL, 0, NL_EXIT_REQUEST},
        {PANIC, NULL, PANIC, NULL, 0, NL_EXIT_REQUEST},
        {PANIC, NULL, NO_L0, NULL, 1, NL_EXIT_CHECK_FAILED},
        {PANIC, NULL, PANIC, "another", 1, NL_EXIT_CHECK_FAILED},
        /* What has figures has them compared, too. */
        {GOOD, NULL, GOOD, "log-clean", 1, NL_EXIT_CHECK_FAILED},
        {GOOD, "log-clean", GOOD, "log-clean", 0, NL_EXIT_PASSED},
        {GOOD, "log-clean", GOOD, "another", 1, NL_EXIT_CHECK_FAILED},
        {GOOD, "log-clean", GOOD, NULL, 0, NL_EXIT_PASSED},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        for (int judged = 0; judged < 2; judged++) {
            json_t *old = load(known[i].base, "old"), *new = load(known[i].new, "new");
            cleanup_json json_t *comparison = NULL;
            long failures;

            if (known[i].base_check)
                fail_check(old, known[i].base_check);
            if (known[i].new_check)
                fail_check(new, known[i].new_check);
            comparison = compare(old, new, judged ? &strict : &plain);
            failures = (long)nl_dig_integer(comparison, "sum.new_failures", -1);
            if (failures != known[i].new_failures ||
                nl_compare_status(comparison) != (judged ? known[i].status : NL_EXIT_PASSED))
                fail_msg("%zu: %ld, %d", i, failures, nl_compare_status(comparison));
        }
    }
}

/* A scenario with a fault that came out: the run passed. */
static void test_expected(void **state)
{
    json_t *faulty = load(PANIC, "faulty");
    cleanup_json json_t *comparison = NULL;
    cleanup_free char *text = NULL;

    (void)state;
    set_verdict(faulty, "passed");
    comparison = compare(load(GOOD, "good"), faulty, &strict);
    text = text_of(comparison);
    assert_int_equal(nl_dig_integer(comparison, "sum.new_failures", -1), 0);
    assert_non_null(strstr(text, "faulty passed: it failed in phase boot of L2, as its scenario "
                                 "expects: kernel-panic"));
    assert_non_null(strstr(text, "\nBase and new measured nothing in common, "));
    assert_non_null(strstr(text, "NOT JUDGED  without a measurement of both sides nothing tells"));
}

static void set_fault(json_t *document, const char *layer, const char *fault)
{
    cleanup_json json_t *faults =
        layer ? json_pack("[{s:s, s:s}]", "layer", layer, "fault", fault) : json_array();

    json_object_set(json_object_get(document, "scenario"), "faults", faults);
}

/* What was broken on purpose is a difference, at whatever layer, and whoever else is broken. */
static void test_faults_are_named(void **state)
{
    static const struct {
        const char *base[2], *new[2]; /* layer and fault */
        const char *said, *not_said;
    } known[] = {
        {{NULL}, {"L0", "image-corrupt"}, "L0  fault: none -> image-corrupt", "fault: image"},
        {{"L2", "hang"}, {NULL}, "L2  fault: hang -> none", "fault: none"},
        {{"L1", "hang"}, {"L1", "no-disk"}, "L1  fault: hang -> no-disk", "none"},
        {{"L1", "hang"}, {"L1", "hang"}, "Compare", "fault:"},
        {{"L1", "hang"}, {"L2", "hang"}, "L2  fault: none -> hang", "L0  fault"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        json_t *old = load(GOOD, "good"), *new = load(GOOD, "new");
        cleanup_json json_t *comparison = NULL;
        cleanup_free char *text = NULL;

        set_fault(old, known[i].base[0], known[i].base[1]);
        set_fault(new, known[i].new[0], known[i].new[1]);
        comparison = compare(old, new, &plain);
        text = text_of(comparison);
        if (!strstr(text, known[i].said) || strstr(text, known[i].not_said))
            fail_msg("%zu:\n%s", i, text);
    }
}

/* Who was stopped has not failed, and nothing else says that it is as good as the base. */
static void test_interrupted(void **state)
{
    cleanup_json json_t *comparison = NULL;
    cleanup_free char *text = NULL, *page = NULL;
    json_t *stopped = load(GOOD, "stopped");

    (void)state;
    set_verdict(stopped, "interrupted");
    comparison = compare(load(GOOD, "good"), stopped, &strict);
    text = text_of(comparison);
    page = nl_compare_html(comparison);
    assert_int_equal(nl_dig_integer(comparison, "sum.new_failures", -1), 0);
    assert_int_equal(nl_dig_integer(comparison, "sum.interrupted", -1), 1);
    assert_int_equal(nl_compare_status(comparison), NL_EXIT_REQUEST);
    assert_non_null(strstr(text, "  new   stopped was interrupted\n"));
    assert_non_null(strstr(text, "NOT JUDGED  1 new run was interrupted: leave it out, or run it "
                                 "again\n"));
    assert_null(strstr(text, "failed"));
    assert_non_null(strstr(page, ">was interrupted<"));
    assert_non_null(strstr(page, "NOT JUDGED"));
}

/* What is known of a run that failed must be comparable all the same. */
static void test_other_l0(void **state)
{
    json_t *other = load(PANIC, "other");
    cleanup_json json_t *comparison = NULL;

    (void)state;
    json_object_set_new((json_t *)nl_dig(other, "run.l0"), "taken", json_string("local"));
    comparison = compare(load(GOOD, "good"), other, &strict);
    assert_null(comparison);
}

/* The reference is a run that says what it is made of. */
static void test_reference(void **state)
{
    json_t *documents[] = {load(PANIC, "a"), load(GOOD, "b"), load(GOOD, "c")};
    char *paths[] = {(char *)"a", (char *)"b", (char *)"c"};
    struct nl_document_set a = {documents, paths, 2}, b = {documents + 2, paths + 2, 1};
    cleanup_json json_t *comparison = NULL;
    size_t i;
    json_t *each;

    (void)state;
    assert_int_equal(nl_compare(&a, &b, &strict, &comparison, NULL), 0);
    json_array_foreach(json_object_get(comparison, "differs"), i, each)
        assert_true(nl_dig_is(each, "run", "a"));
    assert_int_equal(nl_compare_status(comparison), NL_EXIT_PASSED);
    for (i = 0; i < 3; i++)
        json_decref(documents[i]);
}

/* As a user calls it: the exit status, and what is printed. */
static int run(const char *const args[ARGS_MAX], char *text, size_t size)
{
    cleanup_free char *output = in_base("output");
    const struct command_call call = {nl_cmd_compare, "nestlab compare", .output = output};
    int status = call_command(&call, args, ARGS_MAX);
    FILE *file = fopen(output, "r");

    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    return status;
}

static void test_command(void **state)
{
    static const struct {
        const char *args[ARGS_MAX];
        int status;
        const char *printed;
    } known[] = {
        {{GOOD, PANIC}, 0, "Failures"},
        {{GOOD, PANIC, "--json"}, 0, "\"new_failures\": 1"},
        {{GOOD, PANIC, "--fail-above", "5"}, 1, "FAILED  1 new run failed"},
        {{GOOD, PANIC, "--fail-above=5", "--html", "-"}, 1, "as no run of the base did"},
        {{PANIC, GOOD, "--fail-above", "5"}, 2, "NOT JUDGED  without a measurement"},
        {{PANIC, GOOD, "--fail-above", "5"},
         2,
         "nestlab: --fail-above could not judge: without a measurement"},
        {{PANIC, GOOD}, 0, "Failures"},
    };
    char text[65536];

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        int status = run(known[i].args, text, sizeof(text));

        if (status != known[i].status || !strstr(text, known[i].printed))
            fail_msg("%zu: status %d\n%s", i, status, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_and_failed),
        cmocka_unit_test(test_path_that_is_no_utf8),
        cmocka_unit_test(test_who_fails),
        cmocka_unit_test(test_expected),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_faults_are_named),
        cmocka_unit_test(test_other_l0),
        cmocka_unit_test(test_reference),
        IN_FOLDER(test_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
