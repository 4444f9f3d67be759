/*
 * test-meter-result.c - what one operation costs, from records of many: disturbed ones are told
 * apart by their interrupts, not by their size.
 */
#include "cleanup.h"
#include "dig.h"
#include "meter-result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define N 40

static struct meter_record records[N];

static const struct meter_record *record(size_t i, uint64_t l0, uint64_t l1, uint64_t vmruns,
                                         uint64_t returns)
{
    struct meter_record *one = &records[i];

    *one = (struct meter_record){.sequence = i + 1, .began_at = 1, .ended_at = 1};
    one->counts.instructions[0] = l0;
    one->counts.instructions[1] = l1;
    one->counts.vmruns[0] = vmruns;
    one->counts.reached[1][0] = vmruns;
    one->counts.returns[0] = returns;
    return one;
}

static json_t *result_of(size_t n)
{
    cleanup_json json_t *reply = json_pack("{s:s, s:i, s:i, s:n, s:n}", "name", "cpuid", "version",
                                           3, "warmup", 10, "short", "skipped");
    json_t *result = nl_meter_result(reply, records, n, 2);

    assert_non_null(result);
    assert_int_equal(nl_dig_integer(result, "operations", -1), n);
    assert_int_equal(json_array_size(json_object_get(result, "samples")), n);
    return result;
}

static void expect(const json_t *result, const char *estimate, json_int_t total,
                   json_int_t undisturbed, json_int_t agreeing)
{
    const json_t *by = json_object_get(result, "instructions");

    assert_string_equal(nl_dig_string(result, "estimate", ""), estimate);
    assert_int_equal(nl_dig_integer(result, "total", -1), total);
    assert_int_equal(nl_dig_integer(result, "undisturbed", -1), undisturbed);
    assert_int_equal(nl_dig_integer(result, "agreeing", -1), agreeing);
    assert_int_equal(json_integer_value(json_array_get(by, 0)) +
                         json_integer_value(json_array_get(by, 1)),
                     total);
}

static void test_ticks_are_told_apart(void **state)
{
    cleanup_json json_t *result = NULL;

    (void)state;
    for (size_t i = 0; i < N; i++)
        if (i % 4 == 1)
            record(i, 13000 + i, 3500, 2, 1);
        else
            record(i, i % 10 == 0 ? 3211 : 3201, 19, 1, 0);
    result = result_of(N);
    expect(result, "mode", 3220, 30, 26);
    assert_int_equal(nl_dig_integer(result, "low", -1), 3220);
    assert_int_equal(nl_dig_integer(result, "high", -1), 3230);
    assert_int_equal(json_array_size(json_object_get(result, "exits")), 1);
    assert_null(nl_dig(result, "extra_exits"));
}

/* On a busy machine most operations of a slow layer have a tick; the rest still tell the truth. */
static void test_most_are_disturbed(void **state)
{
    cleanup_json json_t *result = NULL;

    (void)state;
    for (size_t i = 0; i < N; i++)
        if (i < 4)
            record(i, 30000, 3000, 8, 0);
        else
            record(i, 90000 + i * 7, 9000, 19, 1);
    result = result_of(N);
    expect(result, "mode", 33000, 4, 4);
}

/* Fewer than chance explains do not count: one operation that needed no page fault. */
static void test_strays(void **state)
{
    cleanup_json json_t *result = NULL;

    (void)state;
    for (size_t i = 0; i < N; i++)
        record(i, i < 2 ? 100 : 900, 50, 0, i < 2 ? 0 : 1);
    result = result_of(N);
    expect(result, "mode", 950, N - 2, N - 2);
}

/* No interrupt, yet every operation another count: the median, and it is said. */
static void test_scatter(void **state)
{
    cleanup_json json_t *result = NULL;

    (void)state;
    for (size_t i = 0; i < 21; i++)
        record(i, 1000 + 10 * ((i * 8) % 21), 50, 1, 0);
    result = result_of(21);
    expect(result, "median", 1150, 21, 1);
    assert_int_equal(nl_dig_integer(result, "low", -1), 1050);
    assert_int_equal(nl_dig_integer(result, "high", -1), 1250);
}

/* An operation that waits for interrupts, a different number each time: none is undisturbed. */
static void test_no_group(void **state)
{
    cleanup_json json_t *result = NULL;

    (void)state;
    for (size_t i = 0; i < 11; i++)
        record(i, 1000 + 10 * i, 50, 1 + i, i);
    result = result_of(11);
    expect(result, "median of all", 1100, 0, 1);
}

/* What the agent added is in the figure, and is said. */
static void test_extra_exits(void **state)
{
    cleanup_json json_t *reply = json_pack("{s:s, s:i}", "name", "cpuid", "extra_exits", 3);
    cleanup_json json_t *result = NULL;

    (void)state;
    record(0, 3201, 19, 1, 0);
    result = nl_meter_result(reply, records, 1, 2);
    assert_int_equal(nl_dig_integer(result, "extra_exits", -1), 3);
}

/* The innermost layer ran a guest of its own: the parts still make up the whole. */
static void test_a_guest_that_is_no_layer(void **state)
{
    cleanup_json json_t *result = NULL;

    (void)state;
    for (size_t i = 0; i < 10; i++) {
        record(i, 31000, 3400, 7, 0);
        records[i].counts.instructions[2] = 5;
        records[i].counts.reached[2][1] = 1;
    }
    result = result_of(10);
    assert_int_equal(nl_dig_integer(result, "total", -1), 34405);
    assert_int_equal(nl_dig_sum(json_object_get(result, "instructions")), 34405);
    assert_int_equal(json_array_size(json_object_get(result, "vmruns")), 3);
    assert_int_equal(nl_dig_integer(json_array_get(json_object_get(result, "exits"), 1), "of", -1),
                     2);
    for (size_t i = 0; i < 10; i++)
        records[i].counts.instructions[2] = records[i].counts.reached[2][1] = 0;
}

static void test_skipped(void **state)
{
    cleanup_json json_t *reply =
        json_pack("{s:s, s:i, s:s}", "name", "ipi", "version", 1, "skipped", "needs two vCPUs");
    cleanup_json json_t *result = nl_meter_result(reply, records, 0, 2);

    (void)state;
    assert_string_equal(nl_dig_string(result, "skipped", ""), "needs two vCPUs");
    assert_int_equal(nl_dig_integer(result, "operations", -1), 0);
    assert_null(nl_dig(result, "total"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ticks_are_told_apart),
        cmocka_unit_test(test_most_are_disturbed),
        cmocka_unit_test(test_strays),
        cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_no_group),
        cmocka_unit_test(test_extra_exits),
        cmocka_unit_test(test_a_guest_that_is_no_layer),
        cmocka_unit_test(test_skipped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
