/*
 * test-hang.c - what looking at a guest that hangs does to the layer below: a script in place of
 * that layer's agent.
 */
#include "hang.h"
#include "dig.h"
#include "folder.h"

#include <libvirt/virterror.h>
#include <sys/stat.h>

/* L0 with an agent, and L1, a domain of libvirt's test driver. */
struct two {
    struct nl_scenario scenario;
    struct nl_layer_spec specs[2];
    struct nl_layer layers[2];
    struct nl_stack stack;
    virConnectPtr conn;
    virDomainPtr domain;
};

/* It writes what it is asked into base/asked; where it is to begin to count it does BEGIN. */
static void write_agent(const char *path, const char *begin)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fprintf(file,
            "#!/bin/sh\n"
            "while read -r line; do\n"
            "    id=$(echo \"$line\" | sed 's/.*\"id\": *\\([0-9]*\\).*/\\1/')\n"
            "    reply='\"ok\":true,\"result\":{\"exits\":[{\"reason\":\"cpuid\",\"times\":7}]}'\n"
            "    case $line in\n"
            "    *'\"count\":true'*) echo begin >>%1$s/asked; %2$s ;;\n"
            "    *'\"count\":false'*'\"uuid\":\"'*) echo end >>%1$s/asked ;;\n"
            "    *) reply='\"ok\":false,\"error\":{\"message\":\"no\"}' ;;\n"
            "    esac\n"
            "    echo \"{\\\"id\\\":$id,$reply}\"\n"
            "done\n",
            base, begin);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
}

static void ignore_error(void *data, virErrorPtr error)
{
    (void)data;
    (void)error;
}

static void two_open(struct two *two, const char *begin)
{
    cleanup_json json_t *scenario = json_pack("{s:[{}, {}]}", "layers");
    char *argv[] = {(char *)"nestlab", NULL};
    cleanup_free char *agent = in_base("agent");

    memset(two, 0, sizeof(*two));
    virSetErrorFunc(NULL, ignore_error);
    two->specs[0].name = (char *)"L0";
    two->specs[1].name = (char *)"L1";
    two->stack.scenario = &two->scenario;
    two->stack.layers = two->layers;
    two->stack.n_layers = 2;
    two->stack.deadline = nl_deadline_in(60);
    assert_int_equal(nl_document_new(argv, scenario, "test", &two->stack.document, NULL), 0);
    two->conn = virConnectOpen("test:///default");
    assert_non_null(two->conn);
    two->domain = virDomainLookupByName(two->conn, "test");
    assert_non_null(two->domain);
    for (size_t i = 0; i < 2; i++)
        two->layers[i] = (struct nl_layer){
            .stack = &two->stack, .spec = &two->specs[i], .index = i, .greeted = true};
    two->layers[1].domain = two->domain;
    write_agent(agent, begin);
    assert_int_equal(nl_link_open_local(agent, NULL, NULL, &two->layers[0].link, NULL), 0);
}

static void two_close(struct two *two)
{
    nl_link_close(&two->layers[0].link);
    virDomainFree(two->domain);
    virConnectClose(two->conn);
    nl_document_free(&two->stack.document);
}

static json_t *look(struct two *two)
{
    struct nl_sight sight = {.layer = &two->layers[1], .kind = "hung", .n_looks = 1};

    return nl_hang_evidence(&sight);
}

static void assert_asked(const char *expected)
{
    cleanup_free char *path = in_base("asked");
    cleanup_free char *text = read_text(path);

    assert_string_equal(text, expected);
}

static void test_exits_are_counted_by_reason(void **state)
{
    cleanup_json json_t *evidence = NULL;
    struct two two;

    (void)state;
    two_open(&two, ":");
    evidence = look(&two);
    assert_asked("begin\nend\n");
    assert_string_equal(nl_dig_string(evidence, "exit_reasons.cpuid", ""), "7");
    two_close(&two);
}

/* A layer that cannot tell whether it began is told to end, too. */
static void test_counting_is_ended_where_it_may_have_begun(void **state)
{
    cleanup_json json_t *evidence = NULL;
    struct two two;

    (void)state;
    two_open(&two, "sleep 6");
    evidence = look(&two);
    assert_asked("begin\nend\n");
    assert_null(nl_dig(evidence, "exit_reasons"));
    two_close(&two);
}

/* Last: nothing takes an interrupt back. */
static void test_counting_is_ended_when_interrupted(void **state)
{
    cleanup_json json_t *evidence = NULL;
    struct two two;

    (void)state;
    assert_int_equal(nl_interrupt_catch(NULL), 0);
    two_open(&two, "kill -INT $PPID");
    evidence = look(&two);
    assert_true(nl_interrupted());
    assert_asked("begin\nend\n");
    assert_null(nl_dig(evidence, "exit_reasons"));
    two_close(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_exits_are_counted_by_reason),
        IN_FOLDER(test_counting_is_ended_where_it_may_have_begun),
        IN_FOLDER(test_counting_is_ended_when_interrupted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
