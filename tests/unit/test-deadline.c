/*
 * test-deadline.c - waits that end, and calls that are left behind.
 */
#include "deadline.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

/* What a call works on; static, so that a late or a second free is seen and not a crash. */
static struct job {
    atomic_int wait_ms;
    atomic_int ran;
    atomic_int freed;
} job;

static void run_job(void *data)
{
    struct job *mine = data;

    usleep((useconds_t)atomic_load(&mine->wait_ms) * 1000);
    atomic_fetch_add(&mine->ran, 1);
}

static void free_job(void *data)
{
    struct job *mine = data;

    atomic_fetch_add(&mine->freed, 1);
}

static void begin(int wait_ms)
{
    atomic_store(&job.wait_ms, wait_ms);
    atomic_store(&job.ran, 0);
    atomic_store(&job.freed, 0);
}

/* Not nl_sleep(): it ends at an interrupt. */
static void wait_for(atomic_int *counter)
{
    for (int i = 0; i < 500 && atomic_load(counter) == 0; i++)
        usleep(10000);
}

static void test_call_in_time_leaves_the_argument(void **state)
{
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    begin(10);
    assert_int_equal(
        nl_call_with_deadline(run_job, &job, free_job, nl_deadline_in(10), "job", &err), 0);
    assert_int_equal(atomic_load(&job.ran), 1);
    assert_int_equal(atomic_load(&job.freed), 0);
    assert_null(err);
}

static void test_late_call_frees_its_argument_once(void **state)
{
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    begin(300);
    assert_int_equal(
        nl_call_with_deadline(run_job, &job, free_job, nl_deadline_in(0.05), "the job", &err), -1);
    assert_string_equal(nl_error_message(err), "the job: no answer before its deadline");
    assert_int_equal(atomic_load(&job.freed), 0);
    wait_for(&job.freed);
    assert_int_equal(atomic_load(&job.ran), 1);
    assert_int_equal(atomic_load(&job.freed), 1);
}

/* Without a descriptor for it there is no call, and nobody else would free what it owns. */
static void test_call_that_cannot_start_frees_its_argument(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    struct rlimit old, none;

    (void)state;
    begin(0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(nl_call_with_deadline(run_job, &job, free_job, nl_deadline_in(5), "job", &err),
                     -1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(atomic_load(&job.ran), 0);
    assert_int_equal(atomic_load(&job.freed), 1);
    assert_non_null(err);
}

static void test_far_deadline_fits_poll(void **state)
{
    (void)state;
    assert_int_equal(nl_deadline_left_ms(nl_now_ms() + ((int64_t)1 << 40)), INT32_MAX);
    assert_int_equal(nl_deadline_left_ms(nl_now_ms() - 1000), 0);
}

/* Last: an interrupt stays. */
static void test_interrupt_ends_waits_unless_shielded(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    int64_t begun;

    (void)state;
    assert_int_equal(nl_interrupt_catch(&err), 0);
    assert_int_equal(nl_interrupt_check(&err), 0);
    raise(SIGINT);
    begun = nl_now_ms();
    assert_int_equal(nl_sleep(20, &err), -1);
    assert_int_equal(nl_error_status(err), NL_EXIT_INTERRUPTED);
    assert_true(nl_now_ms() - begun < 5000);
    nl_error_free(&err);

    nl_interrupt_shield(true);
    assert_false(nl_interrupted());
    begun = nl_now_ms();
    assert_int_equal(nl_sleep(0.1, &err), 0);
    assert_true(nl_now_ms() - begun >= 100);
    begin(50);
    assert_int_equal(nl_call_with_deadline(run_job, &job, free_job, nl_deadline_in(5), "job", &err),
                     0);
    nl_interrupt_shield(false);
    assert_true(nl_interrupted());

    begin(200);
    assert_int_equal(nl_call_with_deadline(run_job, &job, free_job, nl_deadline_in(5), "job", &err),
                     -1);
    assert_int_equal(nl_error_status(err), NL_EXIT_INTERRUPTED);
    wait_for(&job.freed);
    assert_int_equal(atomic_load(&job.freed), 1);
}

static void note_place(void *arg)
{
    int here;
    uintptr_t *place = arg;

    *place = (uintptr_t)&here;
}

/* libvirt may write to the stack of a call's thread after its end. */
static void test_calls_in_a_row_share_no_stack(void **state)
{
    uintptr_t places[20];

    (void)state;
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(
            nl_call_with_deadline(note_place, &places[i], NULL, nl_deadline_in(5), "call", NULL),
            0);
        for (size_t k = 0; k < i; k++)
            assert_true(places[i] > places[k] ? places[i] - places[k] > 65536
                                              : places[k] - places[i] > 65536);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_in_time_leaves_the_argument),
        cmocka_unit_test(test_late_call_frees_its_argument_once),
        cmocka_unit_test(test_call_that_cannot_start_frees_its_argument),
        cmocka_unit_test(test_far_deadline_fits_poll),
        cmocka_unit_test(test_calls_in_a_row_share_no_stack),
        cmocka_unit_test(test_interrupt_ends_waits_unless_shielded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
