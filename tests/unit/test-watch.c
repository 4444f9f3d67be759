/*
 * test-watch.c - who is to blame when a wait ends: the layer waited for, or one around it.
 */
#include "watch.h"
#include "dig.h"
#include "keeper-watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "two-layers.h"

/* L0 with a domain of libvirt's test driver, which runs or has ended; L1 without one yet. */
static void two_open(struct two *two, bool l0_ended)
{
    two_layers_open(two);
    for (size_t i = 0; i < 2; i++)
        two->layers[i].state = NL_LAYER_UP;
    two->layers[0].domain = two->domain;
    if (l0_ended)
        assert_int_equal(virDomainDestroy(two->domain), 0);
}

/* The domain of L1 could not be made: because its libvirt refused, or because L0 is gone. */
static void test_a_failed_create_is_blamed_on_who_died(void **state)
{
    static const struct {
        bool ended;
        const char *layer, *kind, *state;
    } known[] = {{false, "L1", "refused", NL_LAYER_UP}, {true, "L0", "gone", NL_LAYER_GONE}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        cleanup_error struct nl_error *err = NULL;
        const json_t *failure;
        struct two two;

        two_open(&two, known[i].ended);
        nl_fail(&err, NL_EXIT_LAB, "creating the domain: cause unknown");
        assert_int_equal(nl_watch_blame(&two.layers[1], NL_PHASE_CREATE, "refused", &err), -1);
        failure = nl_dig(nl_document_json(two.stack.document), "failure");
        assert_string_equal(nl_dig_string(failure, "layer", ""), known[i].layer);
        assert_string_equal(nl_dig_string(failure, "kind", ""), known[i].kind);
        assert_non_null(strstr(nl_dig_string(failure, "message", ""), "cause unknown"));
        assert_string_equal(two.layers[0].state, known[i].state);
        two_layers_close(&two);
    }
}

/* L0 is silent, for it is busy with the end of L1. */
static void test_a_panic_counts_more_than_silence_around_it(void **state)
{
    static const char panic[] = "Kernel panic - not syncing: test\n";
    cleanup_error struct nl_error *err = NULL;
    const json_t *failure;
    struct two two;

    (void)state;
    two_open(&two, false);
    two.layers[0].greeted = true;
    two.layers[1].domain = two.layers[0].domain;
    assert_int_equal(nl_console_open_detached("/dev/null", &two.layers[1].console, NULL), 0);
    nl_console_feed(two.layers[1].console, panic, strlen(panic));
    nl_fail(&err, NL_EXIT_LAB, "the agent does not answer");
    assert_int_equal(nl_watch_blame(&two.layers[1], "commands", "timeout", &err), -1);
    failure = nl_dig(nl_document_json(two.stack.document), "failure");
    assert_string_equal(nl_dig_string(failure, "layer", ""), "L1");
    assert_string_equal(nl_dig_string(failure, "kind", ""), "crashed");
    nl_console_close(&two.layers[1].console);
    two_layers_close(&two);
}

static void *end_soon(void *domain)
{
    usleep(500 * 1000);
    virDomainDestroy(domain);
    return NULL;
}

/* libvirt may say that a domain runs when its QEMU is dead already. */
static void test_a_domain_that_ends_while_looked_at_is_gone(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    const json_t *failure;
    pthread_t thread;
    struct two two;

    (void)state;
    two_open(&two, false);
    assert_int_equal(pthread_create(&thread, NULL, end_soon, two.layers[0].domain), 0);
    nl_fail(&err, NL_EXIT_LAB, "the agent's stream ended");
    assert_int_equal(nl_watch_blame(&two.layers[0], "kernel", "timeout", &err), -1);
    pthread_join(thread, NULL);
    failure = nl_dig(nl_document_json(two.stack.document), "failure");
    assert_string_equal(nl_dig_string(failure, "kind", ""), "gone");
    assert_non_null(strstr(nl_dig_string(failure, "message", ""), "stream ended"));
    two_layers_close(&two);
}

/* Each thing once: the layer and the phase are beside the message, and before it for who prints. */
static void test_nothing_is_said_twice(void **state)
{
    static const char lost[] = "its domain ended by being destroyed, or by its guest's reset";
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *expected = NULL;
    const json_t *failure;
    struct two two;

    (void)state;
    two_open(&two, true);
    nl_fail(&err, NL_EXIT_LAB, "%s", lost);
    assert_int_equal(nl_watch_blame(&two.layers[0], "kernel", "timeout", &err), -1);
    failure = nl_dig(nl_document_json(two.stack.document), "failure");
    assert_true(asprintf(&expected, "it is gone: %s", lost) > 0);
    assert_string_equal(nl_dig_string(failure, "message", ""), expected);
    assert_string_equal(nl_dig_string(failure, "layer", ""), "L0");
    free(expected);
    assert_true(asprintf(&expected, "L0, phase kernel: it is gone: %s", lost) > 0);
    assert_string_equal(nl_error_message(err), expected);
    two_layers_close(&two);
}

static void test_who_was_waited_for_is_told(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    const char *message;
    struct two two;

    (void)state;
    two_open(&two, true);
    nl_fail(&err, NL_EXIT_LAB, "no answer");
    assert_int_equal(nl_watch_blame(&two.layers[1], NL_PHASE_CREATE, "refused", &err), -1);
    message = nl_error_message(err);
    assert_non_null(strstr(message, "L0, phase create: it is gone: its domain ended by "));
    assert_non_null(strstr(message, ", while L1 was waited for. Noticed by: no answer"));
    two_layers_close(&two);
}

/* The run's own limit: told as such, at once, and no layer is given up for it. */
static void test_the_runs_own_limit(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    int64_t begun = nl_now_ms();
    const json_t *failure;
    struct two two;

    (void)state;
    two_open(&two, false);
    two.scenario.timeouts.total_s = 12.5;
    two.stack.deadline = nl_deadline_in(-1);
    nl_fail(&err, NL_EXIT_LAB, "command x: no answer before its deadline");
    nl_hint(&err, "boot_s is the wrong thing to change");
    assert_int_equal(nl_watch_blame(&two.layers[0], "commands", "slow", &err), -1);
    failure = nl_dig(nl_document_json(two.stack.document), "failure");
    assert_string_equal(nl_dig_string(failure, "kind", ""), "timeout");
    assert_string_equal(nl_dig_string(failure, "message", ""),
                        "the run's own limit of 12.5 s was over: command x: no answer before its "
                        "deadline");
    assert_non_null(strstr(nl_dig_string(failure, "hint", ""), "--timeout"));
    assert_string_equal(two.layers[0].state, NL_LAYER_UP);
    assert_true(nl_now_ms() - begun < 5000);
    two_layers_close(&two);
}

static void test_an_interrupt_is_nobodys_failure(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    struct two two;

    (void)state;
    two_open(&two, true);
    nl_fail(&err, NL_EXIT_INTERRUPTED, "interrupted");
    assert_int_equal(nl_watch_blame(&two.layers[1], NL_PHASE_CREATE, "refused", &err), -1);
    assert_null(nl_dig(nl_document_json(two.stack.document), "failure"));
    assert_string_equal(two.layers[0].state, NL_LAYER_UP);
    two_layers_close(&two);
}

/* A layer that answered once, and of which nothing can be learned now, or that has ended. */
static void test_a_kept_stack_is_looked_after(void **state)
{
    static const char *const states[] = {"hung", NL_LAYER_GONE};

    (void)state;
    for (int ended = 0; ended < 2; ended++) {
        struct two two;

        two_open(&two, ended);
        for (size_t i = 0; i < 2; i++)
            pthread_mutex_init(&two.layers[i].lock, NULL);
        nl_keeper_watch_round(&two.stack);
        assert_string_equal(two.layers[0].state, NL_LAYER_UP);
        two.layers[0].greeted = true;
        nl_keeper_watch_round(&two.stack);
        assert_string_equal(two.layers[0].state, states[ended]);
        assert_string_equal(two.layers[1].state, NL_LAYER_UP);
        two_layers_close(&two);
    }
}

/* What its agent complained of ends a wait, also one for a layer inside it. */
static void test_trouble_ends_a_wait(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    struct two two;

    (void)state;
    two_open(&two, false);
    for (size_t i = 0; i < 2; i++)
        pthread_mutex_init(&two.layers[i].lock, NULL);
    assert_int_equal(nl_watch_tick(&two.layers[1], &err), 0);
    two.layers[0].trouble = (char *)"sshd: ended by signal 9";
    assert_int_equal(nl_watch_tick(&two.layers[1], &err), -1);
    assert_non_null(strstr(nl_error_message(err), "sshd: ended by signal 9"));
    assert_true(two.layers[1].given_up);
    two_layers_close(&two);
}

/* A guest that boots, and is paused for good: not after its whole deadline. */
static void test_a_pause_ends_a_wait(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    struct two two;

    (void)state;
    two_open(&two, false);
    pthread_mutex_init(&two.layers[0].lock, NULL);
    assert_int_equal(virDomainSuspend(two.layers[0].domain), 0);
    assert_int_equal(nl_watch_tick(&two.layers[0], &err), 0);
    two.layers[0].glanced_ms = nl_now_ms() - 16 * 1000;
    assert_int_equal(nl_watch_tick(&two.layers[0], &err), -1);
    assert_non_null(strstr(nl_error_message(err), "stands still: paused"));
    two_layers_close(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_failed_create_is_blamed_on_who_died),
        cmocka_unit_test(test_a_panic_counts_more_than_silence_around_it),
        cmocka_unit_test(test_a_domain_that_ends_while_looked_at_is_gone),
        cmocka_unit_test(test_nothing_is_said_twice),
        cmocka_unit_test(test_who_was_waited_for_is_told),
        cmocka_unit_test(test_the_runs_own_limit),
        cmocka_unit_test(test_an_interrupt_is_nobodys_failure),
        cmocka_unit_test(test_a_kept_stack_is_looked_after),
        cmocka_unit_test(test_trouble_ends_a_wait),
        cmocka_unit_test(test_a_pause_ends_a_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
