/*
 * clocks.c - rates of clocks from bounded readings: see clocks.h.
 */
#include "clocks.h"
#include "cleanup.h"
#include "dig.h"

#include <time.h>
#include <x86intrin.h>

/* What a number is between. */
struct bounds {
    double low;
    double high;
};

struct nl_clock nl_clock_here(void)
{
    struct timespec now;
    uint64_t before = __rdtsc();

    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (struct nl_clock){(int64_t)now.tv_sec * 1000000000 + now.tv_nsec, before,
                             __rdtsc() - before};
}

int nl_clock_parse(const json_t *reply, struct nl_clock *clock, struct nl_error **err)
{
    json_int_t raw_ns = nl_dig_integer(reply, "raw_ns", -1);
    json_int_t tsc = nl_dig_integer(reply, "tsc", -1);
    json_int_t width = nl_dig_integer(reply, "tsc_width", -1);

    if (raw_ns < 0 || tsc < 0 || width < 0)
        return nl_fail(err, NL_EXIT_LAB, "the agent's clock reads %lld ns at TSC %lld + %lld",
                       (long long)raw_ns, (long long)tsc, (long long)width);
    *clock = (struct nl_clock){raw_ns, (uint64_t)tsc, (uint64_t)width};
    return 0;
}

bool nl_clock_closer(const struct nl_clock_look *a, const struct nl_clock_look *b)
{
    return a->after.raw_ns - a->before.raw_ns < b->after.raw_ns - b->before.raw_ns;
}

/* Ticks of the TSC between the readings of the clock in FROM and TO. */
static struct bounds ticks(const struct nl_clock *from, const struct nl_clock *to)
{
    double between = (double)(int64_t)(to->tsc - from->tsc);

    return (struct bounds){between - (double)from->tsc_width, between + (double)to->tsc_width};
}

static struct bounds divide(struct bounds a, struct bounds b)
{
    return (struct bounds){a.low / b.high, a.high / b.low};
}

static struct bounds exactly(double value)
{
    return (struct bounds){value, value};
}

static double ns_between(const struct nl_clock *from, const struct nl_clock *to)
{
    return (double)(to->raw_ns - from->raw_ns);
}

/* How far RATE is from 1; null where the looks are too close to each other to say. */
static json_t *ppm(struct bounds rate)
{
    if (!(rate.low > 0 && rate.high >= rate.low && rate.high < 1e6))
        return json_null();
    return json_pack("{s:f, s:f}", "ppm", ((rate.low + rate.high) / 2 - 1) * 1e6, "uncertainty_ppm",
                     (rate.high - rate.low) / 2 * 1e6);
}

/* Ticks per second of the layer's own clock. */
static struct bounds frequency(const struct nl_clock *from, const struct nl_clock *to)
{
    return divide(ticks(from, to), exactly(ns_between(from, to) / 1e9));
}

static json_t *frequency_json(struct bounds hz)
{
    if (!(hz.low > 0 && hz.high >= hz.low && hz.high < 1e12))
        return json_null();
    return json_pack("{s:f, s:f}", "hz", (hz.low + hz.high) / 2, "uncertainty_ppm",
                     (hz.high - hz.low) / (hz.high + hz.low) * 1e6);
}

/* Between the inner readings of two looks the clock below went on by at least what is between their
   inner ends, and at most what is between their outer ones. */
static json_t *to_below(const struct nl_clock_look *first, const struct nl_clock_look *last)
{
    struct bounds own = exactly(ns_between(&first->at, &last->at));
    struct bounds below = {ns_between(&first->after, &last->before),
                           ns_between(&first->before, &last->after)};
    struct bounds ticks_below = {ticks(&first->after, &last->before).low,
                                 ticks(&first->before, &last->after).high};
    struct bounds hz_below = frequency(&first->before, &last->before);

    return json_pack("{s:o, s:o, s:o}", "clock", ppm(divide(own, below)), "tsc",
                     ppm(divide(ticks(&first->at, &last->at), ticks_below)), "clock_by_tsc",
                     ppm(divide(hz_below, frequency(&first->at, &last->at))));
}

json_t *nl_clocks_between(const json_t *reply, const struct nl_clock_look *first,
                          const struct nl_clock_look *last, bool below)
{
    double kernel_hz = nl_dig_number(reply, "kernel_tsc_khz", 0) * 1e3;
    struct bounds hz = frequency(&first->at, &last->at);

    return json_pack(
        "{s:s?, s:f, s:o, s:o, s:o, s:o}", "source", nl_dig_string(reply, "source", NULL),
        "seconds", ns_between(&first->at, &last->at) / 1e9, "tsc", frequency_json(hz),
        "kernel_tsc_hz", kernel_hz > 0 ? json_real(kernel_hz) : json_null(), "tsc_to_clock",
        kernel_hz > 0 ? ppm(divide(hz, exactly(kernel_hz))) : json_null(), "to_below",
        below ? to_below(first, last) : json_null());
}
