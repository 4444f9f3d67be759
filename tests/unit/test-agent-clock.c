/*
 * test-agent-clock.c - what rate a kernel takes the TSC to have, by what its log says.
 */
#include "clock.h"
#include "util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#define KERNEL 0
#define USER 1

/* TEXT's lines as records of FACILITY. */
static json_t *log_of(const char *text, int facility)
{
    json_t *records = json_array();
    cleanup_free char *copy = strdup(text);
    char *rest = NULL;

    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        json_array_append_new(records, json_pack("{s:i, s:s}", "facility", facility, "text", line));
    return records;
}

static double khz(const char *text, int facility)
{
    cleanup_json json_t *records = log_of(text, facility);

    return agent_clock_tsc_khz(records);
}

/* All that arch/x86/kernel/tsc.c of 6.1 says with a rate in it, and later versions. */
static void test_last_statement_counts(void **state)
{
    static const struct {
        const char *log;
        double khz;
    } known[] = {
        {"tsc: Detected 2096.012 MHz processor", 2096012},
        {"tsc: Fast TSC calibration using PIT\ntsc: Detected 2096.012 MHz processor\n"
         "clocksource: Switched to clocksource tsc-early",
         2096012},
        {"tsc: Unable to calibrate against PIT\ntsc: using PMTIMER reference calibration\n"
         "tsc: Detected 2090.909 MHz processor\n"
         "tsc: Refined TSC clocksource calibration: 2095.986 MHz\n"
         "clocksource: Switched to clocksource tsc",
         2095986},
        {"tsc: Detected 3400.000 MHz processor\ntsc: Detected 3399.906 MHz TSC", 3399906},
        {"tsc: Detected 3400.000 MHz processor\ntsc: Detected 3399.906 MHz TSC\n"
         "tsc: Refined TSC clocksource calibration: 3407.999 MHz",
         3407999},
        {"tsc: Detected 2090.909 MHz processor\ntsc: Detected 2096.012 MHz processor", 2096012},
        {"tsc: PIT calibration deviates from PMTIMER: 2095000 2096000\n"
         "tsc: Using PIT calibration value\ntsc: Detected 2095.000 MHz processor\n"
         "tsc: Marking TSC unstable due to clocksource watchdog",
         2095000},
        /* A check that is not taken over (tsc=recalibrate) */
        {"tsc: Detected 2000.000 MHz processor\n"
         "tsc: Previous calibrated TSC freq:\t 2000.000 MHz\n"
         "tsc: TSC freq recalibrated by [HPET]:\t 2100.000 MHz",
         2000000},
        {"", 0},
        {"tsc: Detected MHz processor", 0},
        {"tsc: Detected nan MHz processor\ntsc: Detected -1.000 MHz TSC", 0},
        {"tsc: Detected 2096.012 GHz processor", 0},
        {"tsc: Refined TSC clocksource calibration: ", 0},
        {"TSC deadline timer available\nfoo: tsc: Detected 1.000 MHz processor", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (fabs(khz(known[i].log, KERNEL) - known[i].khz) > 0.01)
            fail_msg("%f, not %f: %s", khz(known[i].log, KERNEL), known[i].khz, known[i].log);
}

/* User space may write into the log what it likes. */
static void test_only_the_kernel_counts(void **state)
{
    cleanup_json json_t *none = json_pack("[n, s, {}, {s:i, s:i}]", "x", "facility", 0, "text", 1);

    (void)state;
    assert_true(khz("tsc: Detected 2096.012 MHz processor", USER) == 0);
    assert_true(agent_clock_tsc_khz(none) == 0);
    assert_true(agent_clock_tsc_khz(NULL) == 0);
}

/* Reading the log takes long against what is to be bounded. */
static void test_rate_is_there_when_asked_for(void **state)
{
    cleanup_json json_t *plain = agent_clock(false);
    cleanup_json json_t *with = agent_clock(true);
    json_t *rate = json_object_get(with, "kernel_tsc_khz");

    (void)state;
    assert_true(json_is_integer(json_object_get(plain, "tsc")));
    assert_true(json_is_null(json_object_get(plain, "kernel_tsc_khz")));
    assert_true(json_is_null(rate) || json_real_value(rate) > 1e5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_statement_counts),
        cmocka_unit_test(test_only_the_kernel_counts),
        cmocka_unit_test(test_rate_is_there_when_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
