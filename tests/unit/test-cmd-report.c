/*
 * test-cmd-report.c - `nestlab report` as a user calls it: exit statuses, files, wrong requests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cmd.h"
#include "command.h"

#include <string.h>

#define FIXTURES NL_SOURCE "/tests/fixtures/"
#define ARGS_MAX 6

static char folder[] = "/tmp/nl-test-report-XXXXXX";
static char output[64];

/* What it prints is in OUTPUT. */
static int report(const char *const args[ARGS_MAX])
{
    const struct command_call call = {nl_cmd_report, "nestlab report", .output = output};

    return call_command(&call, args, ARGS_MAX);
}

static void assert_printed(const char *wanted, bool there)
{
    cleanup_fclose FILE *file = fopen(output, "r");
    cleanup_free char *text = calloc(1, 100000);

    assert_true(fread(text, 1, 99999, file) > 0 || !there);
    if ((strstr(text, wanted) != NULL) != there)
        fail_msg("\"%s\" is %s in:\n%s", wanted, there ? "not" : "", text);
}

static void test_exit_status(void **state)
{
    static const struct {
        const char *args[ARGS_MAX];
        int status;
        const char *printed;
    } known[] = {
        {{FIXTURES "passed.json"}, 0, "PASSED  nested-boot"},
        {{FIXTURES "nested-off.json"}, 1, "FAIL l0-nested-parameter"},
        {{FIXTURES "no-l0.json"}, 3, "ERROR  nested-boot"},
        {{FIXTURES "no-l0.json", FIXTURES "nested-off.json", FIXTURES "passed.json"}, 1, "PASSED"},
        {{"/nonexistent.json", FIXTURES "passed.json"}, 2, "PASSED"},
        {{"/nonexistent.json"}, 2, "cannot open /nonexistent.json"},
        {{FIXTURES "junit.xsd"}, 2, "not JSON"},
        {{NULL}, 2, "which document?"},
        {{"--nonsense", FIXTURES "passed.json"}, 2, "nonsense"},
        {{"--junit", "/dev/null", FIXTURES "passed.json", FIXTURES "panic.json"},
         2,
         "one document"},
        {{"--csv", "/dev/null", FIXTURES "passed.json", FIXTURES "panic.json"}, 2, "--csv writes"},
        {{"--csv", "/no/such/folder/f.csv", FIXTURES "passed.json"}, 3, "cannot write"},
        {{"--junit", "/no/such/folder/j.xml", FIXTURES "passed.json"}, 3, "cannot write"},
        {{"--check", FIXTURES "hostile.json"}, 1, "FAILED"},
        {{FIXTURES}, 2, "a folder without a document.json"},
        {{"--text", "--html", "-", FIXTURES "passed.json"}, 2, "only one report"},
        {{"--junit", "-", "--html", "-", (FIXTURES "passed.json")}, 2, "only one report"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        int status = report(known[i].args);

        if (status != known[i].status)
            fail_msg("%s: status %d", known[i].args[0], status);
        assert_printed(known[i].printed, true);
    }
}

/* Verdicts in a document are somebody's word; --check does not take it. */
static void test_check_again(void **state)
{
    const char *path = FIXTURES "passed.json";
    cleanup_free char *liar = NULL;
    cleanup_json json_t *document = json_load_file(path, 0, NULL);
    json_t *layer = json_array_get(json_object_get(document, "layers"), 2);

    (void)state;
    assert_true(asprintf(&liar, "%s/liar.json", folder) > 0);
    json_object_set_new(layer, "state", json_string("gone"));
    assert_int_equal(json_dump_file(document, liar, 0), 0);
    assert_int_equal(report((const char *[ARGS_MAX]){liar}), 0);
    assert_int_equal(report((const char *[ARGS_MAX]){"--check", liar}), 1);
    assert_printed("FAIL l2-booted", true);
    unlink(liar);
}

static void test_junit(void **state)
{
    cleanup_free char *path = NULL;

    (void)state;
    assert_true(asprintf(&path, "%s/junit.xml", folder) > 0);
    assert_int_equal(report((const char *[ARGS_MAX]){"--junit", path, FIXTURES "nested-off.json"}),
                     1);
    assert_printed("FAILED", false); /* no text unless asked for */
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(
        report((const char *[ARGS_MAX]){"--text", "--junit", path, FIXTURES "nested-off.json"}), 1);
    assert_printed("FAILED", true);
    assert_int_equal(unlink(path), 0);
}

static void test_standard_output(void **state)
{
    (void)state;
    assert_int_equal(report((const char *[ARGS_MAX]){"--junit", "-", FIXTURES "nested-off.json"}),
                     1);
    assert_printed("<testsuites name=\"nested-boot\"", true);
    assert_printed("FAILED", false);
    assert_int_equal(report((const char *[ARGS_MAX]){"--html", "-", FIXTURES "passed.json"}), 0);
    assert_printed("</html>", true);
    assert_int_not_equal(access("-", F_OK), 0);
}

static void test_folder(void **state)
{
    cleanup_free char *document = NULL;

    (void)state;
    assert_true(asprintf(&document, "%s/document.json", folder) > 0);
    assert_int_equal(symlink(FIXTURES "nested-off.json", document), 0);
    assert_int_equal(report((const char *[ARGS_MAX]){folder, FIXTURES "passed.json"}), 1);
    assert_printed("FAIL l0-nested-parameter", true);
    assert_int_equal(unlink(document), 0);
}

static int set_up(void **state)
{
    (void)state;
    setenv("NESTLAB_DATA", NL_SOURCE, 1);
    if (!mkdtemp(folder))
        return -1;
    snprintf(output, sizeof(output), "%s/output", folder);
    return 0;
}

/* Fails if a test left a file behind. */
static int tear_down(void **state)
{
    (void)state;
    unlink(output);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_status), cmocka_unit_test(test_check_again),
        cmocka_unit_test(test_junit),       cmocka_unit_test(test_standard_output),
        cmocka_unit_test(test_folder),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
