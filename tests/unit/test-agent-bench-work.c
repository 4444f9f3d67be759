/*
 * test-agent-bench-work.c - benchmarks do what they are named for, by the kernel's own counters.
 */
#include "bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>

/* The line of /proc/interrupts that begins with NAME, summed over all vCPUs. */
static unsigned long interrupts(const char *name)
{
    FILE *file = fopen("/proc/interrupts", "re");
    unsigned long sum = 0;
    char *line = NULL;
    size_t size = 0;

    assert_non_null(file);
    while (getline(&line, &size, file) > 0) {
        char *at = line + strspn(line, " "), *end;

        if (strncmp(at, name, strlen(name)) != 0 || at[strlen(name)] != ':')
            continue;
        at += strlen(name) + 1;
        for (unsigned long one = strtoul(at, &end, 10); end != at; one = strtoul(at, &end, 10)) {
            sum += one;
            at = end;
        }
    }
    free(line);
    fclose(file);
    return sum;
}

static unsigned long page_faults(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
    return (unsigned long)usage.ru_minflt;
}

/* How many operations benchmark NAME did; 0 if this machine cannot run it. */
static unsigned long operations_of(const char *name)
{
    json_t *args = json_pack("{s:f}", "budget_s", 0.1), *result = NULL;
    unsigned long operations = 0;
    const char *skipped;
    char *error = NULL;

    if (agent_bench(name, args, &result, &error))
        fail_msg("%s: %s", name, error);
    skipped = json_string_value(json_object_get(result, "skipped"));
    if (skipped)
        print_message("%s: %s\n", name, skipped);
    else
        operations = (unsigned long)json_integer_value(json_object_get(result, "operations"));
    json_decref(result);
    json_decref(args);
    return operations;
}

static void test_page_touch_faults(void **state)
{
    unsigned long before = page_faults(), operations = operations_of("page-touch");

    (void)state;
    assert_true(operations > 0);
    assert_true(page_faults() - before >= operations);
}

/* Each operation is an interrupt: none is merged with the next. Others may send some, too. */
static void test_self_ipi_interrupts(void **state)
{
    unsigned long before = interrupts("IWI"), operations = operations_of("self-ipi");

    (void)state;
    if (!operations)
        skip();
    assert_true(interrupts("IWI") - before >= operations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_touch_faults),
        cmocka_unit_test(test_self_ipi_interrupts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
