/*
 * test-hang.c - what looking at a guest that hangs does to the layer below: a script in place of
 * that layer's agent.
 */
#include "hang.h"
#include "dig.h"
#include "folder.h"
#include "two-layers.h"

#include <sys/stat.h>

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

/* L0 with an agent, and L1, a domain of libvirt's test driver. */
static void two_open(struct two *two, const char *begin)
{
    cleanup_free char *agent = in_base("agent");

    two_layers_open(two);
    for (size_t i = 0; i < 2; i++)
        two->layers[i].greeted = true;
    two->layers[1].domain = two->domain;
    write_agent(agent, begin);
    assert_int_equal(nl_link_open_local(agent, NULL, NULL, &two->layers[0].link, NULL), 0);
}

static void two_close(struct two *two)
{
    nl_link_close(&two->layers[0].link);
    two_layers_close(two);
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
