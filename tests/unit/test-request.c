/*
 * test-request.c - scenarios that name what is not there, or hold programs that do not compile.
 */
#include "folder.h"
#include "request.h"
#include "store.h"

#include <sys/resource.h>

#define LAYERS                                                                                     \
    "\"layers\": [\n{\"image\": \"hypervisor\"},\n{\"image\": \"hypervisor\"},\n"                  \
    "{\"image\": \"leaf\"}]"

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* What is wrong with a scenario of LAYERS and REST; "" where it is right. The caller's. */
static char *load(const char *rest, int depth, char **hint)
{
    const struct nl_overrides overrides = {.depth = depth};
    cleanup_scenario struct nl_scenario *scenario = NULL;
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *path = in_base("s.json");
    cleanup_free char *text = NULL;

    assert_true(asprintf(&text, "{\"name\": \"t\",\n%s%s}",
                         strncmp(rest, "\"layers\"", 8) == 0 ? "" : LAYERS ",\n", rest) > 0);
    write_text(path, text);
    free(*hint);
    *hint = NULL;
    if (nl_request_load(path, &overrides, &scenario, &err) == 0)
        return strdup("");
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
    *hint = strdup(nl_error_hint(err) ? nl_error_hint(err) : "");
    return strdup(nl_error_message(err));
}

/* Benchmarks are asked of the agent, which a build with sanitizers does not have. */
static bool needs_agent(const char *rest)
{
    cleanup_free char *agent = NULL;

    return (strstr(rest, "\"names\": [") || strstr(rest, "\"benchmarks\": [")) &&
           nl_store_find_program("nestlab-agent", &agent, NULL) < 0;
}

static const struct {
    const char *rest, *message, *hint;
} wrong[] = {
    {"\"layers\": [{\"image\": \"hypervisr\"}]",
     "s.json:2: layers[0].image: there is no image \"hypervisr\"", "did you mean \"hypervisor\"?"},
    {"\"layers\": [{\"image\": \"x\"}]", "there is no image \"x\"", "there are hypervisor, leaf"},
    {"\"benchmarks\": {\"names\": [\n\"cpuid\",\n\"syscal\"]}",
     "s.json:8: benchmarks.names[1]: there is no benchmark \"syscal\"",
     "did you mean \"syscall\"?"},
    {"\"meter\": {\"benchmarks\": [\n\"cpuidd\"]}",
     "s.json:7: meter.benchmarks[0]: there is no benchmark \"cpuidd\"", "did you mean \"cpuid\"?"},
    {"\"without_checks\": [\"log-claen\"]", ":6: without_checks[0]: there is no default check",
     "did you mean \"log-clean\"?"},
    {"\"without_checks\": [\"l1-log-claen\"]", "there is no default check \"l1-log-claen\"",
     "did you mean \"l1-log-clean\"?"},
    {"\"without_checks\": [\"l3-log-clean\"]",
     "there is no default check \"l3-log-clean\" in this stack", "the innermost layer is L2"},
    {"\"without_checks\": [\"l2-kvm-loads\"]", "\"l2-kvm-loads\" in this stack",
     "the check kvm-loads is for each hypervisor"},
    {"\"checks\": [{\"name\": \"a\", \"program\": \"true\"},\n{\"name\": \"b\", \"program\":\n"
     "\"true |\\n.layers[\"}]",
     "s.json:7: checks[1].program: is no jq program: line ", "docs/document.md"},
    {"\"checks\": [{\"name\": \"a\", \"program\": \"nosuch(1)\"}]",
     "checks[0].program: is no jq program: line 1 of the program: nosuch/1 is not defined",
     "docs/document.md"},
    {"\"expect\": {\"diagnosis\": \"nonsense\"}", ":6: expect.diagnosis: ", ""},
};

static void test_wrong(void **state)
{
    cleanup_free char *hint = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (needs_agent(wrong[i].rest))
            continue;
        cleanup_free char *message = load(wrong[i].rest, -1, &hint);

        if (!strstr(message, wrong[i].message) || !hint || !strstr(hint, wrong[i].hint))
            fail_msg("%s\nhint: %s\ninstead of: %s\nhint: %s", message, hint ? hint : "none",
                     wrong[i].message, wrong[i].hint);
    }
}

static void test_right(void **state)
{
    static const char *const right[] = {
        "\"description\": \"\"",
        "\"benchmarks\": {\"names\": \"all\"}",
        "\"benchmarks\": {\"names\": [\"cpuid\", \"syscall\"]}",
        "\"meter\": {\"benchmarks\": \"all\"}",
        "\"meter\": {\"benchmarks\": [\"cpuid\"]}",
        "\"without_checks\": [\"log-clean\", \"l2-log-clean\", \"l0-kvm-loads\"]",
        "\"checks\": [{\"name\": \"a\", \"program\": \"$layers | length > 2 and $lists\"}]",
    };
    cleanup_free char *hint = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        if (needs_agent(right[i]))
            continue;
        cleanup_free char *message = load(right[i], -1, &hint);

        assert_string_equal(message, "");
    }
}

/* A name is right if the file's own stack or the one that options make of it has such a check. */
static void test_depth(void **state)
{
    cleanup_free char *hint = NULL;
    cleanup_free char *deeper = load("\"without_checks\": [\"l3-log-clean\"]", 3, &hint);
    cleanup_free char *shallower = load("\"without_checks\": [\"l2-log-clean\"]", 1, &hint);

    (void)state;
    assert_string_equal(deeper, "");
    assert_string_equal(shallower, "");
}

enum outcome { RIGHT, RIGHT_AGENT_ASKED, WRONG, WRONG_AGENT_ASKED };

/* What becomes of a scenario with --meter=METER; a process of its own counts its own children. */
static enum outcome load_metered(const char *meter)
{
    const struct nl_overrides overrides = {.depth = -1, .meter = meter};
    cleanup_free char *path = in_base("s.json");
    struct nl_scenario *scenario = NULL;
    struct rusage children;
    bool right;
    pid_t pid;

    write_text(path, "{\"name\": \"t\", " LAYERS "}");
    fflush(stdout);
    pid = fork();
    if (pid > 0)
        return (enum outcome)end_of(pid);
    right = nl_request_load(path, &overrides, &scenario, NULL) == 0;
    getrusage(RUSAGE_CHILDREN, &children);
    _exit((right ? RIGHT : WRONG) + (children.ru_maxrss > 0));
}

/* The agent knows which benchmarks there are; asking takes a moment, and an agent. */
static void test_meter_option(void **state)
{
    (void)state;
    assert_int_equal(load_metered("all"), RIGHT);
    assert_int_equal(load_metered(""), RIGHT);
    if (needs_agent("\"names\": ["))
        skip();
    assert_int_equal(load_metered("cpuid,syscall"), RIGHT_AGENT_ASKED);
    assert_int_equal(load_metered("cpuidd"), WRONG_AGENT_ASKED);
    /* As in a scenario: all is no benchmark among others. */
    assert_int_equal(load_metered("all,cpuid"), WRONG_AGENT_ASKED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_wrong),
        IN_FOLDER(test_right),
        IN_FOLDER(test_depth),
        IN_FOLDER(test_meter_option),
    };

    return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
