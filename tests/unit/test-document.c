/*
 * test-document.c - building documents up, judging, saving, and loading what nobody vouches for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dig.h"
#include "document.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static char folder[] = "/tmp/nl-test-document-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static const char *in_folder(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static struct nl_document *new_document(size_t layers)
{
    char *argv[] = {(char *)"nestlab", (char *)"run", (char *)"a\xff.json", NULL};
    cleanup_json json_t *scenario =
        json_pack("{s:s, s:[], s:b}", "name", "test", "layers", "default_checks", 0);
    struct nl_document *document = NULL;

    for (size_t i = 0; i < layers; i++)
        json_array_append_new(json_object_get(scenario, "layers"), json_object());
    assert_int_equal(nl_document_new(argv, scenario, "test", &document, NULL), 0);
    return document;
}

static void test_new(void **state)
{
    cleanup_document struct nl_document *a = new_document(3);
    const json_t *root = nl_document_json(a);

    (void)state;
    assert_string_equal(nl_document_id(a), "test");
    assert_int_equal(json_array_size(nl_dig(root, "layers")), 3);
    assert_true(nl_dig_is(json_array_get(nl_dig(root, "layers"), 2), "name", "L2"));
    assert_true(nl_dig_is(json_array_get(nl_dig(root, "layers"), 2), "state", "not reached"));
    assert_string_equal(json_string_value(json_array_get(nl_dig(root, "run.command"), 2)),
                        "a\\xff.json");
    assert_true(nl_dig_number(root, "run.host.cpus", 0) >= 1);
    assert_true(nl_dig_number(root, "run.host.memory_mib", 0) > 10);
}

static void check_text(const char *bytes, const char *wanted)
{
    cleanup_json json_t *text = nl_document_text(bytes);

    assert_non_null(text);
    assert_string_equal(json_string_value(text), wanted);
}

static void test_text(void **state)
{
    cleanup_json json_t *null = nl_document_text(NULL);

    (void)state;
    assert_true(json_is_null(null));
    check_text("plain", "plain");
    check_text("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
               "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    check_text("\xff\x80", "\\xff\\x80");
    check_text("cut \xe2\x82", "cut \\xe2\\x82");
    check_text("overlong \xc0\xaf \xe0\x80\xaf", "overlong \\xc0\\xaf \\xe0\\x80\\xaf");
    check_text("surrogate \xed\xa0\x80", "surrogate \\xed\\xa0\\x80");
    check_text("beyond \xf4\x90\x80\x80", "beyond \\xf4\\x90\\x80\\x80");
}

static void test_layers(void **state)
{
    cleanup_document struct nl_document *document = new_document(2);
    cleanup_json json_t *reply = json_pack("{s:[{s:i, s:s}], s:i, s:i}", "records", "seq", 1,
                                           "text", "a", "lost", 2, "next", 2);
    const json_t *layer = json_array_get(nl_dig(nl_document_json(document), "layers"), 1);

    (void)state;
    nl_document_layer_state(document, 1, NL_LAYER_UP);
    nl_document_layer_set(document, 1, "facts", json_pack("{s:i}", "vcpus", 1));
    nl_document_layer_log(document, 1, reply);
    nl_document_layer_log(document, 1, reply);
    nl_document_layer_exits(document, 1, "created", json_pack("{s:s}", "a", "1"));
    nl_document_layer_exits(document, 1, "end", json_pack("{s:s}", "a", "2"));
    nl_document_layer_benchmark(document, 1, json_object());
    nl_document_layer_file(document, 1, "console", "L1-console.log");
    assert_true(nl_dig_is(layer, "state", "up"));
    assert_int_equal(json_array_size(nl_dig(layer, "log.records")), 2);
    assert_int_equal(nl_dig_number(layer, "log.lost", 0), 4);
    assert_int_equal(json_array_size(nl_dig(layer, "exits")), 2);
    assert_true(nl_dig_is(json_array_get(nl_dig(layer, "exits"), 1), "counters.a", "2"));
    assert_int_equal(json_array_size(nl_dig(layer, "benchmarks")), 1);
    assert_true(nl_dig_is(layer, "files.console", "L1-console.log"));
    nl_document_layer_set(document, 1, "facts", NULL);
    assert_null(nl_dig(layer, "facts"));
}

static void test_phases(void **state)
{
    cleanup_document struct nl_document *document = new_document(1);
    int boot = nl_document_phase_begin(document, "L0", "boot");
    int down = nl_document_phase_begin(document, NULL, "down");
    const json_t *phases;

    (void)state;
    usleep(20000);
    assert_true(nl_document_phase_end(document, boot) >= 0.015);
    nl_document_phase_add(document, "L0", "kernel", 0.5, 1.5);
    assert_int_equal(down, 1);
    assert_int_equal(nl_document_finish(document, NULL), 0);
    phases = nl_dig(nl_document_json(document), "phases");
    assert_true(nl_dig_number(json_array_get(phases, 0), "seconds", 0) < 5);
    assert_false(nl_dig_true(json_array_get(phases, 0), "cut_short"));
    assert_true(nl_dig_true(json_array_get(phases, 1), "cut_short"));
    assert_true(nl_dig_number(json_array_get(phases, 1), "seconds", 0) >= 0.015);
    assert_int_equal((int)(nl_dig_number(json_array_get(phases, 2), "seconds", 0) * 10), 15);
}

static void test_commands(void **state)
{
    static const struct {
        const char *reply;
        const char *verdict;
    } known[] = {
        {"{\"exit\": 0, \"signal\": null, \"timed_out\": false}", "pass"},
        {"{\"exit\": 1, \"signal\": null, \"timed_out\": false}", "fail"},
        {"{\"exit\": 4, \"signal\": null, \"timed_out\": false}", "skip"},
        {"{\"exit\": null, \"signal\": 11, \"timed_out\": false}", "fail"},
        {"{\"exit\": 0, \"signal\": null, \"timed_out\": true}", "fail"},
        {"{\"exit\": null, \"signal\": 1e300, \"timed_out\": false}", "error"},
        {"{}", "error"},
        {NULL, "error"},
    };
    cleanup_document struct nl_document *document = new_document(1);
    char *argv[] = {(char *)"true", NULL};
    const int skip_codes[] = {77, 4};
    const json_t *commands = nl_dig(nl_document_json(document), "commands");

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        cleanup_json json_t *reply = known[i].reply ? json_loads(known[i].reply, 0, NULL) : NULL;

        nl_document_command(document, "c", "L0", argv, skip_codes, 2, reply, NULL);
        assert_true(nl_dig_is(json_array_get(commands, i), "verdict", known[i].verdict));
    }
    /* A failed command is a failed check, and fails the run. */
    assert_int_equal(nl_document_finish(document, NULL), 0);
    assert_int_equal(json_array_size(nl_dig(nl_document_json(document), "checks")), 8);
    assert_int_equal(nl_document_exit(nl_document_json(document)), NL_EXIT_CHECK_FAILED);
}

/* A document from elsewhere: what is printed and what is returned may not differ. */
static void test_the_status_decides(void **state)
{
    static const struct {
        const char *status;
        int given;
        enum nl_exit wanted;
    } known[] = {
        {"passed", 0, NL_EXIT_PASSED},       {"passed", 1, NL_EXIT_PASSED},
        {"passed", 77, NL_EXIT_PASSED},      {"failed", 0, NL_EXIT_CHECK_FAILED},
        {"failed", 1, NL_EXIT_CHECK_FAILED}, {"error", 0, NL_EXIT_LAB},
        {"error", 2, NL_EXIT_REQUEST},       {"interrupted", 130, NL_EXIT_INTERRUPTED},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        cleanup_json json_t *document = json_pack("{s:{s:s, s:i}}", "verdict", "status",
                                                  known[i].status, "exit", known[i].given);

        assert_int_equal(nl_document_exit(document), known[i].wanted);
    }
}

static void test_first_failure_stays(void **state)
{
    cleanup_document struct nl_document *document = new_document(1);
    cleanup_error struct nl_error *first = NULL;
    cleanup_error struct nl_error *second = NULL;

    (void)state;
    nl_fail(&first, NL_EXIT_LAB, "first");
    nl_hint(&first, "do this");
    nl_fail(&second, NL_EXIT_LAB, "second");
    nl_document_fail(document, "L0", "boot", "hung", first, json_pack("[s]", "last line"));
    nl_document_fail(document, "L0", "down", "error", second, json_array());
    assert_true(nl_dig_is(nl_document_json(document), "failure.message", "first"));
    assert_true(nl_dig_is(nl_document_json(document), "failure.kind", "hung"));
    assert_int_equal(nl_document_finish(document, NULL), 0);
    assert_int_equal(nl_document_exit(nl_document_json(document)), NL_EXIT_LAB);
    /* What to do about the cause outweighs the hint of what came of it. */
    assert_true(nl_dig_is(nl_document_json(document), "diagnosis.name", "hung"));
    assert_true(nl_dig_is(nl_document_json(document), "failure.hint", "do this"));
    assert_string_equal(nl_dig_string(nl_document_json(document), "verdict.next", ""),
                        nl_dig_string(nl_document_json(document), "diagnosis.remedy", "?"));
}

/* A check that is only blind because of a failure has nothing to say about what to do. */
static void test_next_step(void **state)
{
    cleanup_json json_t *document =
        json_loads("{\"failure\": {\"layer\": null, \"message\": \"no disk\"}, \"checks\": "
                   "[{\"verdict\": \"error\", \"hint\": \"look at L0\"}]}",
                   0, NULL);

    (void)state;
    nl_document_judge(document);
    assert_string_equal(nl_dig_string(document, "verdict.summary", ""), "the run failed: no disk");
    assert_null(strstr(nl_dig_string(document, "verdict.next", ""), "L0"));
    json_object_set_new(document, "failure", json_null());
    nl_document_judge(document);
    assert_string_equal(nl_dig_string(document, "verdict.next", ""), "look at L0");
}

/* A check that no rule explains is the first thing that went wrong, not the cause of the rest. */
static void test_a_failed_check_is_no_cause(void **state)
{
    cleanup_json json_t *document =
        json_loads("{\"failure\": {\"layer\": \"L1\", \"phase\": \"benchmarks\", "
                   "\"message\": \"cpuid did not end\"}, \"diagnosis\": {\"name\": "
                   "\"check-failed\", \"layer\": \"L0\", \"summary\": \"its clock is slow\"}, "
                   "\"checks\": [{\"name\": \"l0-clock\", \"verdict\": \"fail\"}]}",
                   0, NULL);

    (void)state;
    nl_document_judge(document);
    assert_string_equal(nl_dig_string(document, "verdict.summary", ""),
                        "L1 failed in phase benchmarks: cpuid did not end; 1 of 1 check failed");
    json_object_set_new((json_t *)nl_dig(document, "diagnosis"), "name", json_string("hung"));
    nl_document_judge(document);
    assert_string_equal(nl_dig_string(document, "verdict.summary", ""),
                        "L1 failed in phase benchmarks: its clock is slow; 1 of 1 check failed");
}

static void test_interrupt_is_no_failure(void **state)
{
    cleanup_document struct nl_document *document = new_document(1);
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    nl_fail(&err, NL_EXIT_INTERRUPTED, "interrupted");
    nl_document_fail(document, "L0", "boot", "error", err, json_array());
    assert_null(nl_dig(nl_document_json(document), "failure"));
    assert_int_equal(nl_document_finish(document, NULL), 0);
    assert_int_equal(nl_document_exit(nl_document_json(document)), NL_EXIT_INTERRUPTED);
    assert_true(nl_dig_is(nl_document_json(document), "verdict.status", "interrupted"));
}

static void test_an_unknown_host_fact_is_absent(void **state)
{
    cleanup_document struct nl_document *document = new_document(1);
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    nl_document_host(document, "libvirt", NULL);
    assert_null(nl_dig(nl_document_json(document), "run.host.libvirt"));
    assert_int_equal(nl_document_save(document, in_folder("a.json"), &err), 0);
    unlink(in_folder("a.json"));
}

/* Default checks are off here, so that no check at all would be a pass. */
static void test_without_its_checks_a_run_proves_nothing(void **state)
{
    cleanup_document struct nl_document *document = new_document(1);
    cleanup_error struct nl_error *err = NULL;
    const char *set = getenv("NESTLAB_DATA");
    cleanup_free char *data = set ? strdup(set) : NULL;

    (void)state;
    setenv("NESTLAB_DATA", in_folder("none"), 1);
    assert_int_equal(nl_document_finish(document, &err), -1);
    if (data)
        setenv("NESTLAB_DATA", data, 1);
    else
        unsetenv("NESTLAB_DATA");
    assert_non_null(err);
    assert_int_equal(nl_document_exit(nl_document_json(document)), NL_EXIT_LAB);
    assert_true(nl_dig_is(nl_document_json(document), "failure.phase", "checks"));
}

/* Somebody else's document: a status that no program of ours has must not pass for success. */
static void test_unknown_exit_is_no_success(void **state)
{
    static const char *const known[] = {"42", "-1", "4294967296", "0.5", "\"0\"", "null", "1e300"};

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        cleanup_free char *text = NULL;
        cleanup_json json_t *document = NULL;

        assert_true(asprintf(&text, "{\"verdict\": {\"exit\": %s}}", known[i]) > 0);
        document = json_loads(text, 0, NULL);
        assert_int_equal(nl_document_exit(document), NL_EXIT_LAB);
    }
}

/* What the verdict is made of: interrupted before failed before error before passed. */
static void test_judge(void **state)
{
    static const struct {
        const char *document;
        const char *status;
        int exit_status;
    } known[] = {
        {"{\"checks\": [{\"verdict\": \"pass\"}, {\"verdict\": \"skip\"}]}", "passed", 0},
        {"{\"checks\": [{\"verdict\": \"pass\"}, {\"verdict\": \"fail\"}]}", "failed", 1},
        {"{\"checks\": [{\"verdict\": \"error\"}, {\"verdict\": \"fail\"}]}", "failed", 1},
        {"{\"checks\": [{\"verdict\": \"error\"}, {\"verdict\": \"pass\"}]}", "error", 3},
        {"{\"checks\": [{\"verdict\": \"pass\"}], \"failure\": {}}", "error", 3},
        {"{\"checks\": [{\"verdict\": \"fail\"}], \"failure\": {}}", "failed", 1},
        {"{\"checks\": [{\"verdict\": \"fail\"}], \"run\": {\"interrupted\": true}}", "interrupted",
         130},
        {"{\"checks\": [{\"verdict\": \"PASS\"}]}", "error", 3},
        {"{\"checks\": [7]}", "error", 3},
        {"{\"checks\": []}", "error", 3},
        {"{\"checks\": [], \"scenario\": {\"default_checks\": false}}", "passed", 0},
        {"{}", "error", 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        cleanup_json json_t *document = json_loads(known[i].document, 0, NULL);

        nl_document_judge(document);
        assert_string_equal(nl_dig_string(document, "verdict.status", ""), known[i].status);
        assert_int_equal(nl_document_exit(document), known[i].exit_status);
        assert_true(*nl_dig_string(document, "verdict.summary", ""));
        assert_true(*nl_dig_string(document, "verdict.next", ""));
    }
}

static void test_save_and_load(void **state)
{
    cleanup_document struct nl_document *document = new_document(2);
    cleanup_json json_t *loaded = NULL;
    cleanup_error struct nl_error *err = NULL;
    const char *path = in_folder("document.json");
    struct stat status;

    (void)state;
    /* Before and after it is finished. */
    for (int round = 0; round < 2; round++) {
        assert_int_equal(nl_document_save(document, path, NULL), 0);
        assert_int_equal(nl_document_load(path, &loaded, &err), 0);
        assert_true(json_equal(loaded, nl_document_json(document)));
        json_decref(loaded);
        loaded = NULL;
        assert_int_equal(nl_document_finish(document, NULL), 0);
    }
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0600, 0600);
    assert_int_equal(unlink(path), 0); /* remove_folder fails if a temporary file is left */
}

static void test_save_fails(void **state)
{
    cleanup_document struct nl_document *document = new_document(1);
    cleanup_error struct nl_error *err = NULL;
    const char *path;

    (void)state;
    assert_int_equal(nl_document_save(document, in_folder("no/such/folder"), &err), -1);
    assert_non_null(strstr(nl_error_message(err), "no/such/folder"));
    nl_error_free(&err);
    /* A folder is in the way: nothing may be left beside it. */
    path = in_folder("there");
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(nl_document_save(document, path, &err), -1);
    assert_int_equal(rmdir(path), 0);
}

/* Loads TEXT; the message of the error it must be, the caller's. */
static char *load_error(const char *text, size_t length)
{
    cleanup_error struct nl_error *err = NULL;
    cleanup_json json_t *loaded = NULL;
    const char *path = in_folder("bad.json");
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
    assert_int_equal(nl_document_load(path, &loaded, &err), -1);
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
    unlink(path);
    return strdup(nl_error_message(err));
}

static void test_load_garbage(void **state)
{
    static const char with_null[] = "{\"run\": \"\\u0000\"}";
    cleanup_free char *deep = malloc(200000);
    static const struct {
        const char *text;
        const char *says;
    } known[] = {
        {"", "not JSON"},
        {"{", "not JSON"},
        {"\xff\xfe{}", "not JSON"},
        {"{\"run\": 1, \"run\": 2}", "duplicate"},
        {"{\"run\": 123456789012345678901234567890}", "not JSON"},
        {"[]", "must be an object, not an array"},
        {"{}", "has no \"nestlab\""},
        {"{\"nestlab\": {\"document\": 2}}", "version 2"},
        {"{\"nestlab\": {\"document\": 1.5}}", "version 1.5"},
        {"{\"nestlab\": {\"document\": \"1\"}}", "nestlab.document"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        cleanup_free char *message = load_error(known[i].text, strlen(known[i].text));

        if (!strstr(message, known[i].says))
            fail_msg("\"%s\" does not say \"%s\"", message, known[i].says);
    }
    free(load_error(with_null, sizeof(with_null) - 1));
    memset(deep, '[', 200000);
    free(load_error(deep, 200000));
    memset(deep, 0, 200000);
    free(load_error(deep, 200000));
}

static void test_load_what_is_no_file(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    cleanup_json json_t *loaded = NULL;
    const char *path = in_folder("huge.json");
    int fd;

    (void)state;
    assert_int_equal(nl_document_load("/nonexistent", &loaded, &err), -1);
    nl_error_free(&err);
    assert_int_equal(nl_document_load(folder, &loaded, &err), -1);
    nl_error_free(&err);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(ftruncate(fd, 300L << 20), 0);
    close(fd);
    assert_int_equal(nl_document_load(path, &loaded, &err), -1);
    assert_non_null(strstr(nl_error_message(err), "larger than 256 MiB"));
    unlink(path);
}

/* Errors name line and place. */
static void test_load_wrong_shape(void **state)
{
    static const struct {
        const char *from;
        const char *to;
        const char *says;
    } known[] = {
        {"\"state\": \"up\"", "\"state\": \"dancing\"", "layers[0].state: cannot be \"dancing\""},
        {"\"state\": \"up\"", "\"state\": 7", "layers[0].state: must be a string, not a number"},
        {"\"lost\": 0", "\"lost\": \"0\"", "layers[0].log.lost: must be a number, not a string"},
        {"\"phases\": [", "\"phases\": [3,", "phases[0]: must be an object, not a number"},
        {"\"verdict\": \"pass\"", "\"verdict\": \"fine\"", "verdict: cannot be \"fine\""},
        {"\"layers\": [\n  {\n   \"name\"", "\"layers\": [\n  {\n   \"nome\"",
         "layers[0]: has no \"name\""},
        {"\"layers\": [\n  {\n   \"name\": \"L0\"", "\"layers\": [\n  {\n   \"name\": \"L1\"",
         "layers[0].name: must be \"L0\""},
    };
    cleanup_fclose FILE *file = fopen(NL_SOURCE "/tests/fixtures/passed.json", "r");
    cleanup_free char *text = calloc(1, 1 << 20);

    (void)state;
    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 1000);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        char *at = strstr(text, "\"phases\": [");
        cleanup_free char *wrong = NULL;
        cleanup_free char *message = NULL;

        /* The scenario has layers of its own: change the document's. */
        at = strstr(at, known[i].from);
        assert_non_null(at);
        assert_true(asprintf(&wrong, "%.*s%s%s", (int)(at - text), text, known[i].to,
                             at + strlen(known[i].from)) > 0);
        message = load_error(wrong, strlen(wrong));
        if (!strstr(message, known[i].says))
            fail_msg("\"%s\" does not say \"%s\"", message, known[i].says);
        assert_non_null(strstr(message, "bad.json:"));
    }
}

static void test_fixtures_load(void **state)
{
    static const char *const names[] = {"passed", "nested-off", "panic", "no-l0", "hostile"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cleanup_error struct nl_error *err = NULL;
        cleanup_json json_t *loaded = NULL;
        char path[512];

        snprintf(path, sizeof(path), NL_SOURCE "/tests/fixtures/%s.json", names[i]);
        if (nl_document_load(path, &loaded, &err) < 0)
            fail_msg("%s", nl_error_message(err));
    }
}

/* Numbers look as people write them, and come back as they went in. */
static void test_numbers(void **state)
{
    const double measured = 354217.193476; /* 12 digits, as agents send */
    cleanup_json json_t *written = json_pack("{s:f, s:f}", "alpha", 0.05, "ns", measured);
    cleanup_free char *text = calloc(1, 200);
    json_error_t wrong;
    FILE *file;

    (void)state;
    assert_int_equal(nl_document_write(written, in_folder("n.json"), NULL), 0);
    file = fopen(in_folder("n.json"), "r");
    assert_true(file && text && fread(text, 1, 199, file) > 0);
    fclose(file);
    assert_non_null(strstr(text, "\"alpha\": 0.05,"));
    cleanup_json json_t *read = json_load_file(in_folder("n.json"), 0, &wrong);
    assert_true(nl_dig_number(read, "ns", 0) == measured);
    unlink(in_folder("n.json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_the_status_decides),
        cmocka_unit_test(test_first_failure_stays),
        cmocka_unit_test(test_next_step),
        cmocka_unit_test(test_a_failed_check_is_no_cause),
        cmocka_unit_test(test_interrupt_is_no_failure),
        cmocka_unit_test(test_an_unknown_host_fact_is_absent),
        cmocka_unit_test(test_without_its_checks_a_run_proves_nothing),
        cmocka_unit_test(test_unknown_exit_is_no_success),
        cmocka_unit_test(test_judge),
        cmocka_unit_test(test_save_and_load),
        cmocka_unit_test(test_save_fails),
        cmocka_unit_test(test_load_garbage),
        cmocka_unit_test(test_load_what_is_no_file),
        cmocka_unit_test(test_load_wrong_shape),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_fixtures_load),
    };

    /* Beside the sources, whatever folder the test was built in. */
    setenv("NESTLAB_DATA", NL_SOURCE, 1);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
