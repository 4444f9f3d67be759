/*
 * test-layer.c - what a layer's agent says, when the agent cannot be trusted: a script in its
 * place.
 */
#include "layer.h"
#include "dig.h"
#include "folder.h"

#include <sys/stat.h>

/* A local layer whose agent answers everything with RESULT, SEQ in it counting up from 1. */
struct bench {
    struct nl_scenario scenario;
    struct nl_layer_spec spec;
    struct nl_stack stack;
    struct nl_layer layer;
};

static void write_agent(const char *path, const char *result)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fprintf(file,
            "#!/bin/sh\n"
            "seq=0\n"
            "while read -r line; do\n"
            "    id=$(echo \"$line\" | sed 's/.*\"id\": *\\([0-9]*\\).*/\\1/')\n"
            "    seq=$((seq + 1))\n"
            "    echo '{\"id\": ID, \"ok\": true, \"result\": %s}' |\n"
            "        sed \"s/ID/$id/; s/SEQ/$seq/g\"\n"
            "done\n",
            result);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
}

static void bench_open(struct bench *bench, const char *result)
{
    cleanup_json json_t *scenario = json_pack("{s:[{}]}", "layers");
    cleanup_free char *agent = in_base("agent");
    char *argv[] = {(char *)"nestlab", NULL};

    memset(bench, 0, sizeof(*bench));
    write_agent(agent, result);
    bench->spec.name = (char *)"L0";
    bench->scenario.timeouts.agent_s = 10;
    bench->stack.scenario = &bench->scenario;
    bench->stack.deadline = nl_deadline_in(60);
    bench->layer.stack = &bench->stack;
    bench->layer.spec = &bench->spec;
    bench->layer.state = NL_LAYER_UP;
    assert_int_equal(nl_document_new(argv, scenario, "test", &bench->stack.document, NULL), 0);
    assert_int_equal(nl_link_open_local(agent, NULL, NULL, &bench->layer.link, NULL), 0);
}

static void bench_close(struct bench *bench)
{
    nl_link_close(&bench->layer.link);
    nl_document_free(&bench->stack.document);
}

static const json_t *log_of(const struct bench *bench)
{
    return nl_dig(json_array_get(nl_dig(nl_document_json(bench->stack.document), "layers"), 0),
                  "log");
}

static void test_a_log_that_stands_still_is_an_error(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    struct bench bench;

    (void)state;
    bench_open(&bench, "{\"records\": [{\"seq\": 7}], \"lost\": 0, \"next\": 8}");
    assert_int_equal(nl_layer_read_log(&bench.layer, &err), -1);
    assert_non_null(strstr(nl_error_message(err), "does not get on"));
    assert_true(json_array_size(nl_dig(log_of(&bench), "records")) <= 2);
    bench_close(&bench);
}

static void test_a_log_without_end_is_an_error(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    struct bench bench;

    (void)state;
    bench_open(&bench, "{\"records\": [{\"seq\": SEQ}], \"lost\": 0, \"next\": SEQ}");
    assert_int_equal(nl_layer_read_log(&bench.layer, &err), -1);
    assert_non_null(strstr(nl_error_message(err), "does not end"));
    bench_close(&bench);
}

static void test_an_empty_log_ends_at_once(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    struct bench bench;

    (void)state;
    bench_open(&bench, "{\"records\": [], \"lost\": 3, \"next\": 0}");
    assert_int_equal(nl_layer_read_log(&bench.layer, &err), 0);
    assert_int_equal(nl_dig_number(log_of(&bench), "lost", -1), 3);
    bench_close(&bench);
}

static void test_lost_records_too_many_to_count(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    struct bench bench;

    (void)state;
    bench_open(&bench, "{\"records\": [], \"lost\": 1e300, \"next\": 0}");
    assert_int_equal(nl_layer_read_log(&bench.layer, &err), 0);
    assert_true(nl_dig_number(log_of(&bench), "lost", -1) > 0);
    bench_close(&bench);
}

static void test_an_answer_that_is_no_object(void **state)
{
    static const char *const answers[] = {"[1]", "null", "\"facts\"", "1e300"};

    (void)state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        cleanup_error struct nl_error *err = NULL;
        json_t *facts = NULL;
        struct bench bench;

        bench_open(&bench, answers[i]);
        assert_int_equal(nl_layer_ask(&bench.layer, "facts", NULL, &facts, &err), -1);
        assert_null(facts);
        assert_non_null(strstr(nl_error_message(err), "no JSON object"));
        bench_close(&bench);
    }
}

/* Its agent is still silent when the run is interrupted: the layer has not failed. Last: nothing
   takes an interrupt back. */
static void test_an_interrupt_is_no_failure(void **state)
{
    cleanup_store struct nl_store *store = NULL;
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *agent = in_base("silent");
    cleanup_free char *place = in_base("store");
    FILE *file = fopen(agent, "w");
    const json_t *document;
    struct bench bench;

    (void)state;
    assert_int_equal(nl_interrupt_catch(NULL), 0);
    assert_non_null(file);
    fputs("#!/bin/sh\nkill -INT $PPID\nexec sleep 20\n", file);
    fclose(file);
    assert_int_equal(chmod(agent, 0755), 0);
    bench_open(&bench, "{}");
    document = nl_document_json(bench.stack.document);
    nl_link_close(&bench.layer.link);
    assert_int_equal(nl_store_open(place, NULL, agent, &store, NULL), 0);
    bench.stack.store = store;
    bench.scenario.timeouts.boot_s = 10;
    bench.layer.local = true;
    bench.layer.state = NL_LAYER_STARTING;
    bench.spec.image = (char *)"hypervisor";
    pthread_mutex_init(&bench.layer.lock, NULL);
    assert_int_equal(nl_layer_up(&bench.layer, &err), -1);
    assert_int_equal(nl_error_status(err), NL_EXIT_INTERRUPTED);
    assert_string_equal(bench.layer.state, NL_LAYER_INTERRUPTED);
    assert_true(nl_dig_is(json_array_get(nl_dig(document, "layers"), 0), "state", "interrupted"));
    assert_null(nl_dig(document, "failure"));
    pthread_mutex_destroy(&bench.layer.lock);
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_a_log_that_stands_still_is_an_error),
        IN_FOLDER(test_a_log_without_end_is_an_error),
        IN_FOLDER(test_an_empty_log_ends_at_once),
        IN_FOLDER(test_lost_records_too_many_to_count),
        IN_FOLDER(test_an_answer_that_is_no_object),
        IN_FOLDER(test_an_interrupt_is_no_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
