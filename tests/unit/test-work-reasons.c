/*
 * test-work-reasons.c - who is asked to count exits by reason, in which order, and what becomes of
 * a layer that refuses: scripts in place of the agents.
 */
#include "work-reasons.h"
#include "dig.h"
#include "folder.h"

#include <sys/stat.h>

#define LAYERS 3

#define REFUSAL "\"ok\":false,\"error\":{\"message\":\"no tracing\"}"
#define BEGUN "\"ok\":true,\"result\":{}"
#define COUNTED(inside)                                                                            \
    "\"ok\":true,\"result\":{\"exits\":[{\"reason\":\"cpuid\",\"times\":7}],\"inside\":" inside "}"
#define OF_L1 COUNTED("[{\"reason\":\"cpuid\",\"times\":5}]")
#define OF_L2 COUNTED("[]")

/* What L0 and L1 say when they are to begin, and to end. */
struct says {
    const char *begin[2];
    const char *end[2];
};

struct three {
    struct nl_scenario scenario;
    struct nl_layer_spec specs[LAYERS];
    struct nl_layer layers[LAYERS];
    struct nl_stack stack;
    virConnectPtr conn;
};

/* It writes what it is asked into base/asked. */
static void write_agent(const char *path, const char *name, const char *begin, const char *end)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fprintf(file,
            "#!/bin/sh\n"
            "while read -r line; do\n"
            "    case $line in\n"
            "    *'\"count\":true'*) did=begin; reply='%s' ;;\n"
            "    *'\"count\":false'*'\"uuid\":\"'*) did=end; reply='%s' ;;\n"
            "    *'\"extra_exits\":3'*)\n"
            "        did=bench\n"
            "        reply='\"ok\":true,\"result\":{\"operations\":5,\"extra_exits\":3}' ;;\n"
            "    *) did=what; reply='" REFUSAL "' ;;\n"
            "    esac\n"
            "    echo %s $did >>%s/asked\n"
            "    id=$(echo \"$line\" | sed 's/.*\"id\": *\\([0-9]*\\).*/\\1/')\n"
            "    echo \"{\\\"id\\\":$id,$reply}\"\n"
            "done\n",
            begin, end, name, base);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
}

static void open_layer(struct three *three, size_t i, const struct says *says)
{
    static char *const names[] = {(char *)"L0", (char *)"L1", (char *)"L2"};
    cleanup_free char *agent = in_base(names[i]);

    write_agent(agent, names[i], i < 2 ? says->begin[i] : REFUSAL, i < 2 ? says->end[i] : REFUSAL);
    three->specs[i].name = names[i];
    three->layers[i] = (struct nl_layer){.stack = &three->stack,
                                         .spec = &three->specs[i],
                                         .index = i,
                                         .state = NL_LAYER_UP,
                                         .domain = virDomainLookupByName(three->conn, "test")};
    assert_non_null(three->layers[i].domain);
    assert_int_equal(nl_link_open_local(agent, NULL, NULL, &three->layers[i].link, NULL), 0);
}

static void three_open(struct three *three, const struct says *says)
{
    memset(three, 0, sizeof(*three));
    three->scenario.timeouts.agent_s = 10;
    three->scenario.timeouts.benchmark_s = 10;
    three->scenario.benchmarks.extra_exits = 3;
    three->stack.scenario = &three->scenario;
    three->stack.layers = three->layers;
    three->stack.n_layers = LAYERS;
    three->stack.deadline = nl_deadline_in(60);
    three->conn = virConnectOpen("test:///default");
    assert_non_null(three->conn);
    for (size_t i = 0; i < LAYERS; i++)
        open_layer(three, i, says);
}

static void three_close(struct three *three)
{
    for (size_t i = 0; i < LAYERS; i++) {
        nl_link_close(&three->layers[i].link);
        virDomainFree(three->layers[i].domain);
    }
    virConnectClose(three->conn);
}

/* "exit_reasons" of a benchmark at L2, which is REFUSED or not, and in ASKED who was asked what. */
static json_t *count(const struct says *says, bool refused, char **asked)
{
    cleanup_free char *path = in_base("asked");
    cleanup_json json_t *result = json_object();
    bool is_refused = false;
    struct three three;

    three_open(&three, says);
    three.scenario.benchmarks.extra_exits = refused ? 4 : 3;
    assert_int_equal(nl_work_reasons(&three.layers[2], "cpuid", result, &is_refused, NULL),
                     refused ? -1 : 0);
    assert_int_equal(is_refused, refused);
    three_close(&three);
    *asked = read_text(path);
    remove(path);
    return json_incref(json_object_get(result, "exit_reasons"));
}

static void assert_counts(const json_t *reasons, json_int_t operations, const char *skipped,
                          const char *counts)
{
    cleanup_json json_t *wanted = json_loads(counts, 0, NULL);

    assert_non_null(wanted);
    assert_int_equal(nl_dig_integer(reasons, "operations", -1), operations);
    if (skipped)
        assert_non_null(strstr(nl_dig_string(reasons, "skipped", ""), skipped));
    else
        assert_true(json_is_null(json_object_get(reasons, "skipped")));
    assert_true(json_equal(json_object_get(reasons, "counts"), wanted));
}

/* From the outside in and back: L1 counts L2 within the time that L0 does. And with the exits that
 * the scenario adds. */
static void test_all_count(void **state)
{
    static const struct says says = {{BEGUN, BEGUN}, {OF_L1, OF_L2}};
    cleanup_free char *asked = NULL;
    cleanup_json json_t *reasons = count(&says, false, &asked);

    (void)state;
    assert_string_equal(asked, "L0 begin\nL1 begin\nL2 bench\nL1 end\nL0 end\n");
    assert_counts(reasons, 5, NULL,
                  "[{\"layer\": \"L1\", \"inside\": false,"
                  "  \"reasons\": [{\"reason\": \"cpuid\", \"times\": 2}]},"
                  " {\"layer\": \"L1\", \"inside\": true,"
                  "  \"reasons\": [{\"reason\": \"cpuid\", \"times\": 5}]},"
                  " {\"layer\": \"L2\", \"inside\": false,"
                  "  \"reasons\": [{\"reason\": \"cpuid\", \"times\": 7}]},"
                  " {\"layer\": \"L2\", \"inside\": true, \"reasons\": []}]");
}

/* L0 is this machine, and this is not root. */
static void test_one_refuses(void **state)
{
    static const struct says says = {{REFUSAL, BEGUN}, {REFUSAL, OF_L2}};
    cleanup_free char *asked = NULL;
    cleanup_json json_t *reasons = count(&says, false, &asked);

    (void)state;
    assert_string_equal(asked, "L0 begin\nL1 begin\nL2 bench\nL1 end\nL0 end\n");
    assert_counts(reasons, 5, "L0: ",
                  "[{\"layer\": \"L2\", \"inside\": false,"
                  "  \"reasons\": [{\"reason\": \"cpuid\", \"times\": 7}]},"
                  " {\"layer\": \"L2\", \"inside\": true, \"reasons\": []}]");
}

/* There is nothing to do the benchmark for. */
static void test_all_refuse(void **state)
{
    static const struct says says = {{REFUSAL, REFUSAL}, {REFUSAL, REFUSAL}};
    cleanup_free char *asked = NULL;
    cleanup_json json_t *reasons = count(&says, false, &asked);

    (void)state;
    assert_string_equal(asked, "L0 begin\nL1 begin\n");
    assert_counts(reasons, 0, "no tracing", "[]");
}

/* It counted, but cannot say what: too many, or of threads that it does not find. */
static void test_one_cannot_say(void **state)
{
    static const struct says says = {{BEGUN, BEGUN}, {OF_L1, REFUSAL}};
    cleanup_free char *asked = NULL;
    cleanup_json json_t *reasons = count(&says, false, &asked);

    (void)state;
    assert_int_equal(json_array_size(nl_dig(reasons, "counts")), 2);
    assert_non_null(strstr(nl_dig_string(reasons, "skipped", ""), "L1: "));
}

/* What was counted meanwhile is of no operation; but the layers must not go on counting. */
static void test_the_benchmark_is_refused(void **state)
{
    static const struct says says = {{BEGUN, BEGUN}, {OF_L1, OF_L2}};
    cleanup_free char *asked = NULL;
    cleanup_json json_t *reasons = count(&says, true, &asked);

    (void)state;
    assert_string_equal(asked, "L0 begin\nL1 begin\nL2 what\nL1 end\nL0 end\n");
    assert_counts(reasons, 0, "L2: ", "[]");
}

static void test_nothing_to_count(void **state)
{
    static const struct says says = {{BEGUN, BEGUN}, {OF_L1, OF_L2}};
    cleanup_json json_t *skipped = json_pack("{s:s}", "skipped", "no KVM");
    cleanup_json json_t *done = json_object();
    struct three three;

    (void)state;
    three_open(&three, &says);
    assert_int_equal(nl_work_reasons(&three.layers[2], "cpuid", skipped, NULL, NULL), 0);
    assert_int_equal(nl_work_reasons(&three.layers[0], "cpuid", done, NULL, NULL), 0);
    three_close(&three);
    assert_int_equal(json_object_size(skipped), 1);
    assert_int_equal(json_object_size(done), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_all_count),        IN_FOLDER(test_one_refuses),
        IN_FOLDER(test_all_refuse),       IN_FOLDER(test_one_cannot_say),
        IN_FOLDER(test_nothing_to_count), IN_FOLDER(test_the_benchmark_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
