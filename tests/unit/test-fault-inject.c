/*
 * test-fault-inject.c - faults by name and moment, and those that the runner injects into files.
 */
#include "fault-inject.h"
#include "request.h"
#include "rundirs.h"

#include <glob.h>

/* A stack of two layers whose files are in a run folder; nothing runs. */
struct bench {
    struct nl_scenario scenario;
    struct nl_layer_spec specs[2];
    struct nl_fault_spec faults[3];
    struct nl_layer layers[2];
    struct nl_image image;
    struct nl_stack stack;
};

static void bench_open(struct bench *bench)
{
    cleanup_json json_t *scenario = json_pack("{s:[{}, {}]}", "layers");
    char *argv[] = {(char *)"nestlab", NULL};

    memset(bench, 0, sizeof(*bench));
    bench->specs[0].name = (char *)"L0";
    bench->specs[1].name = (char *)"L1";
    bench->scenario.faults = bench->faults;
    bench->stack.scenario = &bench->scenario;
    bench->stack.layers = bench->layers;
    bench->stack.n_layers = 2;
    bench->stack.rundir = create("faults");
    assert_int_equal(nl_document_new(argv, scenario, "test", &bench->stack.document, NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        bench->layers[i].stack = &bench->stack;
        bench->layers[i].spec = &bench->specs[i];
        bench->layers[i].index = i;
        bench->layers[i].image = &bench->image;
    }
}

static void add(struct bench *bench, const char *layer, const char *fault)
{
    bench->faults[bench->scenario.n_faults++] =
        (struct nl_fault_spec){.layer = (char *)layer, .fault = (char *)fault};
}

static void bench_close(struct bench *bench)
{
    nl_document_free(&bench->stack.document);
    assert_int_equal(nl_rundir_remove(&bench->stack.rundir, NULL), 0);
    free(bench->image.kernel);
    free(bench->image.vmlinux);
    free(bench->layers[0].overlay);
}

static off_t size_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

/* The image is the store's: it stays as it was. */
static void test_a_truncated_kernel_is_a_copy(void **state)
{
    cleanup_free char *original = NULL;
    struct bench bench;

    (void)state;
    bench_open(&bench);
    add(&bench, "L1", "kernel-truncated");
    write_file(base, "kernel", "0123456789");
    assert_true(asprintf(&original, "%s/kernel", base) > 0);
    bench.image.kernel = strdup(original);
    bench.image.vmlinux = strdup(original);
    assert_int_equal(nl_fault_inject(&bench.stack, NL_FAULT_PREPARE, NULL, NULL), 0);
    assert_int_equal(size_of(original), 10);
    assert_string_not_equal(bench.image.kernel, original);
    assert_int_equal(size_of(bench.image.kernel), 5);
    assert_int_equal(size_of(bench.image.vmlinux), 5);
    bench_close(&bench);
}

static void test_a_corrupt_image_has_no_header(void **state)
{
    struct bench bench;
    char head[4] = "";
    FILE *file;

    (void)state;
    bench_open(&bench);
    add(&bench, "L0", "image-corrupt");
    write_file(base, "L0.qcow2", "QFI\xfb and more");
    assert_true(asprintf(&bench.layers[0].overlay, "%s/L0.qcow2", base) > 0);
    assert_int_equal(nl_fault_inject(&bench.stack, NL_FAULT_PREPARE, NULL, NULL), 0);
    file = fopen(bench.layers[0].overlay, "r");
    assert_non_null(file);
    assert_int_equal(fread(head, 1, 4, file), 4);
    fclose(file);
    assert_memory_equal(head, "\0\0\0\0", 4);
    bench_close(&bench);
}

/* What cannot be injected is a failure that names fault and layer. */
static void test_failure(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    const json_t *failure;
    struct bench bench;

    (void)state;
    bench_open(&bench);
    add(&bench, "L0", "image-corrupt");
    assert_true(asprintf(&bench.layers[0].overlay, "%s/none", base) > 0);
    assert_int_equal(nl_fault_inject(&bench.stack, NL_FAULT_PREPARE, NULL, &err), -1);
    assert_non_null(strstr(nl_error_message(err), "injecting the fault image-corrupt at L0"));
    failure = json_object_get(nl_document_json(bench.stack.document), "failure");
    assert_string_equal(json_string_value(json_object_get(failure, "layer")), "L0");
    assert_string_equal(json_string_value(json_object_get(failure, "phase")), "fault");
    bench_close(&bench);
}

/* Other moments' faults, and other layers', wait. */
static void test_moments(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *first = NULL, *second = NULL;
    struct bench bench;

    (void)state;
    bench_open(&bench);
    add(&bench, "L0", "emulator-missing");
    add(&bench, "L0", "kvm-module-missing");
    add(&bench, "L1", "hang");
    first = nl_fault_boot_names(&bench.layers[0]);
    second = nl_fault_boot_names(&bench.layers[1]);
    assert_string_equal(first, "emulator-missing,kvm-module-missing");
    assert_null(second);
    assert_int_equal(nl_fault_inject(&bench.stack, NL_FAULT_PREPARE, NULL, NULL), 0);
    assert_int_equal(nl_fault_inject(&bench.stack, NL_FAULT_UP, &bench.layers[0], NULL), 0);
    /* L1 has no agent to ask. */
    assert_int_equal(nl_fault_inject(&bench.stack, NL_FAULT_RUNNING, NULL, &err), -1);
    bench_close(&bench);
}

static char *read_whole(const char *path)
{
    char *text = calloc(1, 1 << 20);
    FILE *file = fopen(path, "r");

    assert_non_null(text);
    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

/* The runner's table, the agent's and the page are about the same faults. */
static void test_everybody_knows_them(void **state)
{
    cleanup_free char *agent = read_whole(NL_SOURCE "/agents/fault.c");
    cleanup_free char *page = read_whole(NL_SOURCE "/docs/faults.md");

    (void)state;
    for (const struct nl_fault *fault = nl_faults; fault->name; fault++) {
        cleanup_free char *row = NULL, *line = NULL;

        assert_ptr_equal(nl_fault_find(fault->name), fault);
        assert_true(asprintf(&row, "{\"%s\", AGENT_FAULT_%s", fault->name,
                             fault->moment == NL_FAULT_INIT ? "" : "ASKED") > 0);
        if (fault->by != NL_FAULT_BY_RUNNER && !strstr(agent, row))
            fail_msg("no %s in the agent", row);
        assert_true(asprintf(&line, "| `%s` |", fault->name) > 0);
        if (!strstr(page, line))
            fail_msg("no %s in docs/faults.md", line);
    }
    assert_null(nl_fault_find("no-such-fault"));
}

/* Each fault of the table is injected by a shipped scenario that says what must come out. */
static void test_each_has_a_scenario(void **state)
{
    static const char pattern[] = NL_SOURCE "/scenarios/faults/*.json";
    bool used[64] = {false};
    glob_t files;

    (void)state;
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        cleanup_scenario struct nl_scenario *scenario = NULL;
        cleanup_error struct nl_error *err = NULL;

        if (nl_request_load(files.gl_pathv[i], NULL, &scenario, &err) < 0)
            fail_msg("%s", nl_error_message(err));
        assert_non_null(scenario->expect.diagnosis);
        for (size_t j = 0; j < scenario->n_faults; j++)
            used[nl_fault_find(scenario->faults[j].fault) - nl_faults] = true;
    }
    globfree(&files);
    for (const struct nl_fault *fault = nl_faults; fault->name; fault++)
        if (!used[fault - nl_faults])
            fail_msg("no scenario injects %s", fault->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_truncated_kernel_is_a_copy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_corrupt_image_has_no_header, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_moments, set_up, tear_down),
        cmocka_unit_test(test_everybody_knows_them),
        cmocka_unit_test(test_each_has_a_scenario),
    };

    setenv("NESTLAB_DATA", NL_SOURCE, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
