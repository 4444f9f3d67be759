/*
 * test-cmd-diagnose.c - `nestlab diagnose` as a user calls it: its options and exit statuses, and
 * that what --json prints is what its schema says.
 */
#include "json-schema.h"

#include "cmd.h"
#include "cleanup.h"
#include "command.h"

#include <sys/stat.h>

#define FIXTURES NL_SOURCE "/tests/fixtures/"
#define ARGS_MAX 6

static char folder[] = "/tmp/nl-test-diagnose-XXXXXX";
static char output[64], log_file[64], silent[64], odd[64], no_rules[64], bad_rules[64];

/* INPUT is its standard input; what it prints is in OUTPUT, with its messages unless it is JSON. */
static int diagnose(const char *input, const char *const args[ARGS_MAX])
{
    const struct command_call call = {nl_cmd_diagnose, "nestlab diagnose", input, output,
                                      args[0] && strcmp(args[0], "--json") == 0};

    return call_command(&call, args, ARGS_MAX);
}

static void write_file(const char *path, const char *text)
{
    cleanup_fclose FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
}

static void assert_printed(const char *wanted)
{
    cleanup_fclose FILE *file = fopen(output, "r");
    cleanup_free char *text = calloc(1, 1 << 20);

    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    if (!strstr(text, wanted))
        fail_msg("\"%s\" is not in:\n%s", wanted, text);
}

/* Each option, and what is no option; the severity decides what counts. */
static void test_requests(void **state)
{
    static const struct {
        const char *args[ARGS_MAX];
        int status;
        const char *printed;
    } known[] = {
        {{NULL}, 2, "which evidence?"},
        {{"--nonsense", log_file}, 2, "nonsense"},
        {{"--min-severity", "bad", log_file}, 2, "allowed: ok, harmless, warning, error"},
        {{"--min-severity", "", log_file}, 2, "allowed: ok"},
        {{"--list-rules", log_file}, 2, "read nothing: leave out"},
        {{"--explain", "parameter-nested-off", log_file}, 2, "read nothing"},
        {{"--explain", "no-such-rule"}, 2, "--list-rules"},
        {{"--explain", "init-kiled"}, 2, "did you mean init-killed?"},
        {{"--explain", "init-killed"}, 0, "kernel/exit.c"},
        {{"--list-rules"}, 0, "init-killed"},
        {{"--list-rules", "--rules", no_rules}, 2, no_rules},
        {{"--rules", "/nonexistent", log_file}, 2, "/nonexistent"},
        {{"--rules", bad_rules, log_file}, 2, "r.json"},
        {{log_file}, 1, "init-killed"},
        {{"-", log_file}, 1, "init-killed"},
        {{"--min-severity", "error", log_file}, 1, "1 error"},
        {{silent}, 0, "nothing that the rules know is wrong in it"},
        {{odd}, 0, "nothing recognised"},
        {{"/nonexistent", silent}, 3, "/nonexistent"},
        {{"/nonexistent", log_file}, 1, "/nonexistent"},
        {{FIXTURES "passed.json"}, 0, "0 errors"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        int status = diagnose("/dev/null", known[i].args);

        if (status != known[i].status)
            fail_msg("%s %s: status %d", known[i].args[0], known[i].args[1], status);
        assert_printed(known[i].printed);
    }
}

static void test_standard_input(void **state)
{
    (void)state;
    assert_int_equal(diagnose(log_file, (const char *[ARGS_MAX]){"-"}), 1);
    assert_printed("standard input:1");
    assert_int_equal(diagnose("/dev/null", (const char *[ARGS_MAX]){"-"}), 0);
    assert_printed("nothing recognised");
}

static void assert_valid(int status, const char *const args[ARGS_MAX])
{
    cleanup_json json_t *printed = NULL;
    json_error_t error;

    assert_int_equal(diagnose(log_file, args), status);
    printed = json_load_file(output, JSON_REJECT_DUPLICATES, &error);
    if (!printed)
        fail_msg("%s: not JSON: %s", args[1], error.text);
    if (!is_valid(printed, schema))
        fail_msg("%s: not what docs/diagnose.schema.json says", args[1]);
}

/* All kinds of evidence, and what cannot be read. */
static void test_schema(void **state)
{
    (void)state;
    assert_valid(1, (const char *[ARGS_MAX]){"--json", log_file});
    assert_valid(1, (const char *[ARGS_MAX]){"--json", "-"});
    assert_valid(1, (const char *[ARGS_MAX]){"--json", FIXTURES "panic.json"});
    assert_valid(1, (const char *[ARGS_MAX]){"--json", FIXTURES "hostile.json", folder});
    assert_valid(3, (const char *[ARGS_MAX]){"--json", "/nonexistent", silent});
    assert_valid(3, (const char *[ARGS_MAX]){"--json", "/dev/null"});
}

/* A finding is the same in a document and here. */
static void test_same_finding(void **state)
{
    cleanup_json json_t *document = json_load_file(NL_SOURCE "/docs/document.schema.json", 0, NULL);
    const json_t *in_document = json_object_get(json_object_get(document, "$defs"), "finding");

    (void)state;
    assert_non_null(in_document);
    assert_true(json_equal(in_document, nl_dig(schema, "$defs.finding")));
}

static int set_up(void **state)
{
    cleanup_free char *bad = NULL;

    (void)state;
    setenv("NESTLAB_DATA", NL_SOURCE, 1);
    schema = json_load_file(NL_SOURCE "/docs/diagnose.schema.json", JSON_REJECT_DUPLICATES, NULL);
    if (!schema || !mkdtemp(folder))
        return -1;
    snprintf(output, sizeof(output), "%s.output", folder);
    snprintf(log_file, sizeof(log_file), "%s/dmesg", folder);
    snprintf(silent, sizeof(silent), "%s/silent", folder);
    snprintf(odd, sizeof(odd), "%s/odd", folder);
    snprintf(no_rules, sizeof(no_rules), "%s/empty", folder);
    snprintf(bad_rules, sizeof(bad_rules), "%s/rules", folder);
    write_file(log_file, "[    1.301245] Kernel panic - not syncing: Attempted to kill init! "
                         "exitcode=0x00000009\n");
    write_file(silent, "[    0.000000] Linux version 6.1.0-18-amd64 (x@y) (gcc) #1 SMP\n"
                       "[    0.100000] ordinary\n");
    write_file(odd, "a shopping list\n");
    if (mkdir(no_rules, 0700) < 0 || mkdir(bad_rules, 0700) < 0 ||
        asprintf(&bad, "%s/r.json", bad_rules) < 0)
        return -1;
    write_file(bad, "{\"subject\": \"s\", \"rules\": [{\"id\": \"a\"}]}");
    return 0;
}

static int tear_down(void **state)
{
    cleanup_free char *bad = NULL;

    (void)state;
    json_decref(schema);
    unlink(output);
    if (asprintf(&bad, "%s/r.json", bad_rules) < 0)
        return -1;
    unlink(bad);
    unlink(log_file);
    unlink(silent);
    unlink(odd);
    return rmdir(bad_rules) | rmdir(no_rules) | rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_standard_input),
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_same_finding),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
