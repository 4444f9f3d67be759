/*
 * test-scenario-schema.c - the published schema says what the program checks: keys, types, ranges,
 * patterns, defaults.
 */
#include "scenario-table.h"
#include "schema.h"

static int set_up(void **state)
{
    (void)state;
    return schema_load("scenarios/scenario.schema.json");
}

static void test_schema(void **state)
{
    (void)state;
    compare_record(&nl_scenario_record, schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_schema)};

    return cmocka_run_group_tests(tests, set_up, schema_free);
}
