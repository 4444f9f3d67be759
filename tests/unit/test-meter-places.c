/*
 * test-meter-places.c - in which places instructions were executed, for accepted operations only.
 */
#include "meter-places.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define FUNCTION 0xffffffff81234560ULL

static struct meter_places places;

static int set_up(void **state)
{
    struct meter_profile *profile = calloc(1, sizeof *profile);

    (void)state;
    return profile && meter_places_init(&places, profile) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    free(places.profile);
    free(places.counts);
    free(places.before);
    free(places.slots);
    return 0;
}

static uint64_t sum_of(unsigned layer, uint64_t address)
{
    for (uint32_t i = 0; i < places.profile->used; i++)
        if (places.profile->keys[i] == ((uint64_t)layer << METER_PLACE_LAYER_SHIFT | address >> 4))
            return places.profile->sums[i];
    return UINT64_MAX;
}

static void test_one_counter_a_place(void **state)
{
    uint64_t *counter = meter_places_counter(&places, 1, FUNCTION);

    (void)state;
    assert_ptr_equal(meter_places_counter(&places, 1, FUNCTION + 15), counter);
    assert_ptr_not_equal(meter_places_counter(&places, 1, FUNCTION + 16), counter);
    assert_ptr_not_equal(meter_places_counter(&places, 2, FUNCTION), counter);
    assert_ptr_equal(meter_places_counter(&places, 1, FUNCTION + 3), counter);
    assert_int_equal(places.profile->used, 3);
}

static void test_user_space_is_one_place(void **state)
{
    uint64_t *counter = meter_places_counter(&places, 2, 0x401000);

    (void)state;
    assert_ptr_equal(meter_places_counter(&places, 2, 0x7fff12345678), counter);
    assert_ptr_not_equal(meter_places_counter(&places, 0, 0x401000), counter);
    *counter += 9;
    places.profile->high = 100;
    meter_places_end(&places, 50);
    assert_int_equal(places.profile->keys[0], 2ULL << METER_PLACE_LAYER_SHIFT);
    assert_int_equal(places.profile->sums[0], 9);
}

static void operation(uint64_t *counter, uint64_t instructions)
{
    *counter += 1000; /* outside */
    meter_places_begin(&places);
    *counter += instructions;
    meter_places_end(&places, instructions);
    *counter += 1000;
}

static void test_only_accepted_operations_count(void **state)
{
    uint64_t *counter = meter_places_counter(&places, 0, FUNCTION);

    (void)state;
    places.profile->low = 20;
    places.profile->high = 30;
    operation(counter, 20);
    operation(counter, 19);
    operation(counter, 31);
    operation(counter, 30);
    assert_int_equal(places.profile->accepted, 2);
    assert_int_equal(sum_of(0, FUNCTION), 50);
}

/* A place that is seen for the first time within an operation counts from its first instruction. */
static void test_new_place_within(void **state)
{
    (void)state;
    places.profile->high = 1000;
    meter_places_begin(&places);
    *meter_places_counter(&places, 0, FUNCTION + 64) += 7;
    meter_places_end(&places, 7);
    assert_int_equal(sum_of(0, FUNCTION + 64), 7);
}

static void test_full(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < METER_PLACES; i++)
        assert_non_null(meter_places_counter(&places, i % 16, FUNCTION + (i / 16) * 16));
    assert_int_equal(places.profile->full, 0);
    assert_null(meter_places_counter(&places, 0, FUNCTION - 16));
    assert_int_equal(places.profile->full, 1);
    assert_non_null(meter_places_counter(&places, 3, FUNCTION + 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_counter_a_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_user_space_is_one_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_accepted_operations_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_new_place_within, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
