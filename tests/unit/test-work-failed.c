/*
 * test-work-failed.c - a benchmark that has no result does not keep the others from theirs: a
 * script in place of the agent.
 */
#include "work.h"
#include "dig.h"
#include "folder.h"

#include <sys/stat.h>

static void write_agent(const char *path)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(
        "#!/bin/sh\n"
        "while read -r line; do\n"
        "    id=$(echo \"$line\" | sed 's/.*\"id\": *\\([0-9]*\\).*/\\1/')\n"
        "    case $line in\n"
        "    *'\"op\":\"benches\"'*)\n"
        "        "
        "reply='\"ok\":true,\"result\":{\"benchmarks\":[{\"name\":\"slow\",\"unit\":\"ns\"}]}' ;;\n"
        "    *'\"name\":\"slow\"'*)\n"
        "        sleep 1.2\n"
        "        reply='\"ok\":false,\"error\":{\"message\":\"benchmark \\\"slow\\\" did not "
        "end\"}' ;;\n"
        "    *'\"op\":\"bench\"'*)\n"
        "        "
        "reply='\"ok\":true,\"result\":{\"name\":\"fast\",\"unit\":\"ns\",\"samples\":[1]}' ;;\n"
        "    *'\"op\":\"ping\"'*) reply='\"ok\":true,\"result\":{}' ;;\n"
        "    *) reply='\"ok\":false,\"error\":{\"message\":\"no\"}' ;;\n"
        "    esac\n"
        "    printf '%s\\n' \"{\\\"id\\\":$id,$reply}\"\n"
        "done\n",
        file);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
}

static void test_the_run_goes_on(void **state)
{
    char *argv[] = {"nestlab", NULL};
    char *names[] = {"slow", "fast", "slow", NULL};
    cleanup_json json_t *json = json_pack("{s:[{}]}", "layers");
    cleanup_document struct nl_document *document = NULL;
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *agent = in_base("agent");
    struct nl_scenario scenario = {.timeouts = {.agent_s = 10, .benchmark_s = 1},
                                   .benchmarks = {.names = names}};
    struct nl_layer_spec spec = {.name = (char *)"L0"};
    struct nl_layer layer = {.spec = &spec, .greeted = true, .local = true, .state = NL_LAYER_UP};
    struct nl_stack stack = {.scenario = &scenario,
                             .layers = &layer,
                             .n_layers = 1,
                             .local = true,
                             .deadline = nl_deadline_in(60)};
    const json_t *benchmarks, *failure;

    (void)state;
    assert_int_equal(nl_document_new(argv, json, "test", &document, NULL), 0);
    stack.document = document;
    layer.stack = &stack;
    write_agent(agent);
    assert_int_equal(nl_link_open_local(agent, NULL, NULL, &layer.link, NULL), 0);
    if (nl_work_benchmarks(&stack, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    nl_link_close(&layer.link);
    benchmarks =
        nl_dig(json_array_get(nl_dig(nl_document_json(document), "layers"), 0), "benchmarks");
    assert_int_equal(json_array_size(benchmarks), 3);
    assert_true(nl_dig_is(json_array_get(benchmarks, 0), "skipped",
                          "failed: benchmark \"slow\" did not end"));
    assert_true(nl_dig_is(json_array_get(benchmarks, 0), "unit", "ns"));
    assert_int_equal(json_array_size(nl_dig(json_array_get(benchmarks, 1), "samples")), 1);
    failure = nl_dig(nl_document_json(document), "failure");
    assert_true(nl_dig_is(failure, "layer", "L0"));
    assert_true(nl_dig_is(failure, "phase", "benchmarks"));
    assert_non_null(strstr(nl_dig_string(failure, "message", ""), "2 benchmarks have no result"));
    assert_non_null(strstr(nl_dig_string(failure, "message", ""), "\"slow\" did not end"));
    assert_non_null(strstr(nl_dig_string(failure, "hint", ""), "timeouts.benchmark_s"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {IN_FOLDER(test_the_run_goes_on)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
