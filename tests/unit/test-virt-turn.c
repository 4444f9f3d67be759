/*
 * test-virt-turn.c - turns on a connection: one thread at a time, and none is kept waiting by a
 * call that hangs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "deadline.h"
#include "virt-turn.h"

#include <pthread.h>
#include <unistd.h>

/* Never used but as an address. */
static char shared, embedded;
static const virConnectPtr conn = (virConnectPtr)&shared;

static int inside, most;

static void *call_often(void *data)
{
    (void)data;
    for (int i = 0; i < 200; i++) {
        cleanup_turn struct nl_virt_turn *turn = nl_virt_turn_take(conn);

        assert_non_null(turn);
        inside++;
        most = inside > most ? inside : most;
        usleep(100);
        inside--;
    }
    return NULL;
}

static void test_one_at_a_time(void **state)
{
    pthread_t threads[4];

    (void)state;
    nl_virt_turn_make(conn);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, NULL), 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(most, 1);
}

static void *hurry(void *data)
{
    struct nl_virt_turn *turn = nl_virt_turn_take(conn);

    *(bool *)data = turn == NULL;
    nl_virt_turn_give(&turn);
    return NULL;
}

/* As when QEMU hangs under a call, and another is to end it. */
static void test_hanging_call(void **state)
{
    struct nl_virt_turn *turn = nl_virt_turn_take(conn);
    int64_t start = nl_now_ms();
    bool without = false;
    pthread_t thread;

    (void)state;
    assert_non_null(turn);
    assert_int_equal(pthread_create(&thread, NULL, hurry, &without), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(without);
    assert_in_range(nl_now_ms() - start, 1500, 10000);
    nl_virt_turn_give(&turn);
    hurry(&without);
    assert_false(without);
}

static void test_no_turns(void **state)
{
    struct nl_virt_turn *turn = nl_virt_turn_take((virConnectPtr)&embedded);

    (void)state;
    assert_null(turn);
    nl_virt_turn_give(&turn);
    assert_null(nl_virt_turn_take(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_hanging_call),
        cmocka_unit_test(test_no_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
