/*
 * clock.c - the layer's clock and its time stamp counter, read as one: see clock.h.
 */
#include "clock.h"
#include "util.h"

#include <cpuid.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

/* Of so many readings one is undisturbed, and was made with everything in the caches. */
#define TRIES 32

#define CPUINFO_MAX 65536

/* The rate that the kernel takes the TSC to have. /proc/cpuinfo shows it only where there is no
   better idea of the processor's frequency, which is so in guests. */
static json_t *kernel_tsc_khz(void)
{
    unsigned eax, ebx, ecx, edx;
    cleanup_free char *text = NULL;
    const char *at;

    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1U << 31)))
        return json_null();
    text = agent_read_file("/proc/cpuinfo", CPUINFO_MAX, NULL);
    at = text ? strstr(text, "cpu MHz") : NULL;
    at = at ? strchr(at, ':') : NULL;
    return at ? json_real(strtod(at + 1, NULL) * 1000) : json_null();
}

json_t *agent_clock(void)
{
    cleanup_free char *source =
        agent_read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    uint64_t best_tsc = 0, best_width = UINT64_MAX;
    json_int_t best_ns = 0;

    for (int i = 0; i < TRIES; i++) {
        struct timespec now;
        uint64_t before = __rdtsc(), width;

        clock_gettime(CLOCK_MONOTONIC_RAW, &now);
        width = __rdtsc() - before;
        if (width >= best_width)
            continue;
        best_tsc = before;
        best_width = width;
        best_ns = (json_int_t)now.tv_sec * 1000000000 + now.tv_nsec;
    }
    return json_pack("{s:o, s:I, s:I, s:I, s:o}", "source", agent_json_string(source), "raw_ns",
                     best_ns, "tsc", (json_int_t)best_tsc, "tsc_width", (json_int_t)best_width,
                     "kernel_tsc_khz", kernel_tsc_khz());
}
