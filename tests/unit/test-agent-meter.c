/*
 * test-agent-meter.c - what the agent does for the meter: single operations between marks, as many
 * as asked for, and no times.
 */
#include "bench-meter.h"
#include "bench-run.h"
#include "mark.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

/* Shared with the process that the benchmark runs in. */
static struct {
    unsigned long resets, operations, most;
} * seen;

static int reset(struct bench *bench, unsigned long n)
{
    (void)bench;
    seen->resets += n;
    return 0;
}

static int work(struct bench *bench, unsigned long n)
{
    (void)bench;
    seen->operations += n;
    seen->most = n > seen->most ? n : seen->most;
    return 0;
}

static int refuse(struct bench *bench, unsigned long n)
{
    (void)n;
    return agent_bench_skip(bench, "not today");
}

static json_t *result_of(int (*operation)(struct bench *bench, unsigned long n), long samples)
{
    const struct benchmark benchmark = {.name = "work",
                                        .unit = "ns",
                                        .about = "test",
                                        .version = 2,
                                        .reset = reset,
                                        .operation = operation};
    const struct bench_options options = {
        .samples = samples, .warmup = 3, .budget_s = 5, .deadline_s = 20, .metered = true};
    json_t *result = NULL;
    char *error = NULL;

    memset(seen, 0, sizeof *seen);
    if (agent_bench_run(&benchmark, &options, NULL, &result, &error))
        fail_msg("%s", error);
    return result;
}

static void test_single_operations(void **state)
{
    json_t *result = result_of(work, 25);

    (void)state;
    assert_int_equal(json_integer_value(json_object_get(result, "operations")), 25);
    assert_int_equal(json_integer_value(json_object_get(result, "warmup")), 3);
    assert_int_equal(json_integer_value(json_object_get(result, "version")), 2);
    assert_true(json_is_null(json_object_get(result, "skipped")));
    assert_true(json_is_null(json_object_get(result, "short")));
    assert_null(json_object_get(result, "clock"));
    assert_int_equal(seen->operations, 28);
    assert_int_equal(seen->resets, 28);
    assert_int_equal(seen->most, 1);
    json_decref(result);
}

static void test_skipped(void **state)
{
    json_t *result = result_of(refuse, 25);

    (void)state;
    assert_string_equal(json_string_value(json_object_get(result, "skipped")), "not today");
    json_decref(result);
}

/* Both marks, as often each, as the meter finds them: in machine code. */
static void test_marks_are_in_the_code(void **state)
{
    int (*function)(const struct benchmark *benchmark, struct bench *bench,
                    const struct bench_options *options, double limit_ns, long *warmup,
                    volatile long *count) = agent_bench_metered;
    const unsigned char *code;
    unsigned found[3] = {0};

    (void)state;
    memcpy(&code, &function, sizeof code); /* no cast leads from a function to its bytes */
    for (size_t i = 0; i < 2048; i++) {
        uint32_t displacement;

        memcpy(&displacement, code + i + 3, sizeof displacement);
        if (code[i] == 0x0f && code[i + 1] == 0x1f && code[i + 2] == 0x80 &&
            (displacement & 0xffffff00U) == METER_MARK_MAGIC && (displacement & 0xff) < 3)
            found[displacement & 0xff]++;
    }
    /* The function for extra exits may lie beside it, and has marks of its own. */
    assert_in_range(found[METER_MARK_BEGIN], 1, 2);
    assert_int_equal(found[METER_MARK_END], found[METER_MARK_BEGIN]);
}

static int set_up(void **state)
{
    (void)state;
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return seen == MAP_FAILED ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_operations),
        cmocka_unit_test(test_skipped),
        cmocka_unit_test(test_marks_are_in_the_code),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
