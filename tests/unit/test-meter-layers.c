/*
 * test-meter-layers.c - whose instructions are these: the meter is fed the events of machines whose
 * layers are known.
 */
#include "meter-layers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* A machine that plays: what each layer truly executes is counted beside the meter. */
struct machine {
    struct meter_layers meter;
    struct meter_site sites[METER_LAYERS];
    uint64_t count;
    uint64_t truth[METER_LAYERS];
};

static void run(struct machine *m, unsigned layer, uint64_t instructions)
{
    m->count += instructions;
    m->truth[layer] += instructions;
}

/* The VMRUN of LAYER: an instruction of its own, which for inner layers is an exit to L0. */
static void vmrun(struct machine *m, unsigned layer)
{
    meter_layers_vmrun(&m->meter, &m->sites[layer], m->count);
    run(m, layer, 1);
}

static void after(struct machine *m, unsigned layer)
{
    meter_layers_after(&m->meter, &m->sites[layer], m->count);
}

/* The guest left: L0 runs again, for WORK instructions. */
static void to_l0(struct machine *m, uint64_t work)
{
    after(m, 0);
    run(m, 0, work);
}

static void check(struct machine *m)
{
    meter_layers_settle(&m->meter, m->count);
    for (unsigned i = 0; i < METER_LAYERS; i++)
        if (m->meter.counts.instructions[i] != m->truth[i])
            fail_msg("L%u executed %llu instructions, the meter says %llu", i,
                     (unsigned long long)m->truth[i],
                     (unsigned long long)m->meter.counts.instructions[i]);
    assert_false(m->meter.too_deep);
}

static void test_l0_alone(void **state)
{
    struct machine m = {0};

    (void)state;
    run(&m, 0, 1000);
    check(&m);
    assert_int_equal(m.meter.current, 0);
}

/* L0 boots L1: exits that L0 handles by itself. */
static void test_depth_1(void **state)
{
    struct machine m = {0};

    (void)state;
    run(&m, 0, 500);
    for (int i = 0; i < 7; i++) {
        vmrun(&m, 0);
        run(&m, 1, 40);
        to_l0(&m, 100);
    }
    check(&m);
    assert_int_equal(m.meter.counts.vmruns[0], 7);
    assert_int_equal(m.meter.counts.reached[1][0], 7);
}

/* L1 enters L2 for the first time; L0 acts it out. */
static void boot_l2(struct machine *m)
{
    run(m, 0, 500);
    vmrun(m, 0);
    run(m, 1, 300);
    vmrun(m, 1);
    to_l0(m, 200);
    vmrun(m, 0);
    run(m, 2, 60);
}

/* L2's exit goes to L0, which has L1 handle it; L1's VMLOAD and its like are exits too. */
static void handle_at_l1(struct machine *m, int traps)
{
    to_l0(m, 90);
    vmrun(m, 0);
    after(m, 1);
    run(m, 1, 25);
    for (int i = 0; i < traps; i++) {
        to_l0(m, 30);
        vmrun(m, 0);
        run(m, 1, 15);
    }
    vmrun(m, 1);
    to_l0(m, 120);
    vmrun(m, 0);
}

static void test_depth_2(void **state)
{
    struct machine m = {0};
    struct meter_counts before, cost;

    (void)state;
    boot_l2(&m);
    check(&m);
    before = m.meter.counts;
    handle_at_l1(&m, 6);
    run(&m, 2, 5);
    check(&m);
    cost = meter_counts_between(&before, &m.meter.counts);
    assert_int_equal(cost.vmruns[0], 8);
    assert_int_equal(cost.vmruns[1], 1);
    assert_int_equal(cost.reached[2][1], 1);
    assert_int_equal(cost.reached[2][0], 1);
    assert_int_equal(cost.reached[1][0], 7);
    assert_int_equal(cost.instructions[2], 5);
}

/* An exit of L2 that L0 keeps for itself: a tick of L0. */
static void test_l0_keeps_exit(void **state)
{
    struct machine m = {0};

    (void)state;
    boot_l2(&m);
    for (int i = 0; i < 3; i++) {
        to_l0(&m, 70);
        meter_layers_return(&m.meter);
        vmrun(&m, 0);
        run(&m, 2, 33);
    }
    check(&m);
    assert_int_equal(m.meter.counts.reached[2][0], 3);
    assert_int_equal(m.meter.counts.reached[2][1], 0);
    assert_int_equal(m.meter.counts.returns[0], 3);
    assert_int_equal(m.meter.counts.returns[2], 0);
}

/* A guess that was wrong is put right for the whole slice: L1 stays in L1 although L2 ran last. */
static void test_slice_is_put_right(void **state)
{
    struct machine m = {0};

    (void)state;
    boot_l2(&m);
    to_l0(&m, 10);
    vmrun(&m, 0);
    assert_int_equal(m.meter.current, 2);
    meter_layers_return(&m.meter);
    run(&m, 1, 17); /* as if L1 went on elsewhere; then it enters L2 */
    vmrun(&m, 1);
    assert_int_equal(m.meter.current, 1);
    to_l0(&m, 10);
    check(&m);
    assert_int_equal(m.meter.counts.returns[1], 1);
}

/* L2's VMRUN goes to L1 by way of L0, and L1's VMRUN then enters L3. */
static void boot_l3(struct machine *m)
{
    boot_l2(m);
    vmrun(m, 2);
    to_l0(m, 80);
    vmrun(m, 0);
    after(m, 1);
    run(m, 1, 400);
    vmrun(m, 1);
    to_l0(m, 150);
    vmrun(m, 0);
    run(m, 3, 9);
}

static void test_depth_3(void **state)
{
    struct machine m = {0};

    (void)state;
    boot_l3(&m);
    check(&m);
    /* L3's exit: L1 has L2 handle it, which enters L3 again. */
    to_l0(&m, 80);
    vmrun(&m, 0);
    after(&m, 1);
    run(&m, 1, 210);
    vmrun(&m, 1);
    to_l0(&m, 81);
    vmrun(&m, 0);
    after(&m, 2);
    run(&m, 2, 77);
    handle_at_l1(&m, 2); /* an exit of L2 on the way */
    run(&m, 2, 11);
    vmrun(&m, 2);
    handle_at_l1(&m, 1);
    run(&m, 3, 13);
    check(&m);
    assert_int_equal(m.meter.counts.reached[3][2], 1);
    assert_int_equal(m.meter.counts.reached[3][1], 1);
    /* L3's exits that L1 handles without L2 */
    handle_at_l1(&m, 1);
    run(&m, 3, 14);
    check(&m);
    assert_int_equal(m.meter.counts.reached[3][2], 1);
    assert_int_equal(m.meter.counts.reached[3][1], 2);
}

/* A guest that an operation at L0 has for itself, while L2 is idle: it executes no VMRUN that would
   tell it from L2, which ran last, and which goes on afterwards. */
static void test_guest_of_an_operation(void **state)
{
    struct machine m = {0};
    struct meter_counts before, cost;

    (void)state;
    boot_l2(&m);
    to_l0(&m, 10);
    meter_layers_begin(&m.meter);
    before = m.meter.counts;
    vmrun(&m, 0);
    run(&m, 1, 5);
    to_l0(&m, 30);
    meter_layers_end(&m.meter);
    check(&m);
    cost = meter_counts_between(&before, &m.meter.counts);
    assert_int_equal(cost.instructions[1], 5);
    assert_int_equal(cost.reached[1][0], 1);
    vmrun(&m, 0);
    run(&m, 2, 44);
    to_l0(&m, 10);
    check(&m);
}

/* The same at L1, in a stack whose L3 ran last. */
static void test_guest_of_an_operation_at_l1(void **state)
{
    struct machine m = {0};
    struct meter_counts before, cost;

    (void)state;
    boot_l3(&m);
    to_l0(&m, 80);
    vmrun(&m, 0);
    after(&m, 1);
    run(&m, 1, 20);
    meter_layers_settle(&m.meter, m.count);
    meter_layers_begin(&m.meter);
    before = m.meter.counts;
    vmrun(&m, 1);
    to_l0(&m, 30);
    vmrun(&m, 0);
    run(&m, 2, 5);
    to_l0(&m, 40);
    vmrun(&m, 0);
    after(&m, 1);
    run(&m, 1, 60);
    meter_layers_settle(&m.meter, m.count);
    meter_layers_end(&m.meter);
    check(&m);
    cost = meter_counts_between(&before, &m.meter.counts);
    assert_int_equal(cost.instructions[2], 5);
    assert_int_equal(cost.reached[2][1], 1);
    vmrun(&m, 1);
    to_l0(&m, 30);
    vmrun(&m, 0);
    run(&m, 3, 7);
    to_l0(&m, 10);
    check(&m);
}

/* A layer of the stack that ran within an operation, and says so, is not forgotten at its end. */
static void test_operation_disturbed(void **state)
{
    struct machine m = {0};

    (void)state;
    boot_l2(&m);
    to_l0(&m, 10);
    vmrun(&m, 0);
    after(&m, 1);
    run(&m, 1, 8);
    to_l0(&m, 10);
    meter_layers_begin(&m.meter);
    vmrun(&m, 0);
    run(&m, 1, 12);
    vmrun(&m, 1);
    to_l0(&m, 20);
    meter_layers_begin(&m.meter); /* one without an end changes nothing */
    meter_layers_end(&m.meter);
    meter_layers_end(&m.meter);
    vmrun(&m, 0);
    run(&m, 2, 9);
    to_l0(&m, 10);
    check(&m);
}

/* Whoever has no guest yet makes none by the instruction after a VMRUN that was not executed. */
static void test_after_without_vmrun(void **state)
{
    struct machine m = {0};

    (void)state;
    run(&m, 0, 10);
    after(&m, 0);
    after(&m, 1);
    run(&m, 0, 10);
    m.sites[0] = (struct meter_site){.known = true};
    after(&m, 0);
    check(&m);
    assert_int_equal(m.meter.counts.reached[0][0], 0);
}

static void test_too_deep(void **state)
{
    struct machine m = {0};

    (void)state;
    boot_l2(&m);
    for (unsigned layer = 2; layer < METER_LAYERS; layer++) {
        m.meter.current = layer;
        meter_layers_vmrun(&m.meter, &m.sites[layer], m.count);
        after(&m, 0);
        vmrun(&m, 0);
    }
    assert_true(m.meter.too_deep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_l0_alone),
        cmocka_unit_test(test_depth_1),
        cmocka_unit_test(test_depth_2),
        cmocka_unit_test(test_l0_keeps_exit),
        cmocka_unit_test(test_slice_is_put_right),
        cmocka_unit_test(test_depth_3),
        cmocka_unit_test(test_guest_of_an_operation),
        cmocka_unit_test(test_guest_of_an_operation_at_l1),
        cmocka_unit_test(test_operation_disturbed),
        cmocka_unit_test(test_after_without_vmrun),
        cmocka_unit_test(test_too_deep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
