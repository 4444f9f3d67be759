/*
 * clock.c - the layer's clock and its time stamp counter, read as one: see clock.h.
 */
#include "clock.h"
#include "kmsg.h"
#include "util.h"

#include <cpuid.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

/* Of so many readings one is undisturbed, and was made with everything in the caches. */
#define TRIES 32

#define CPUINFO_MAX 65536

/* A rate between BEFORE and AFTER in TEXT, as "tsc: Detected 2096.012 MHz TSC" has it, in kHz; 0 if
   TEXT is something else. */
static double rate_in(const char *text, const char *before, const char *after)
{
    size_t length = strlen(before);
    double mhz;
    char *end;

    if (strncmp(text, before, length) != 0 || text[length] < '0' || text[length] > '9')
        return 0;
    mhz = strtod(text + length, &end);
    return strncmp(end, after, strlen(after)) == 0 ? mhz * 1000 : 0;
}

/* arch/x86/kernel/tsc.c says the processor's rate, the TSC's if that is another, and a second or
   more later the one that it takes instead. Whatever is last is what it goes by. */
double agent_clock_tsc_khz(const json_t *records)
{
    static const struct {
        const char *before, *after;
    } statements[] = {
        {"tsc: Detected ", " MHz processor"},
        {"tsc: Detected ", " MHz TSC"},
        {"tsc: Refined TSC clocksource calibration: ", " MHz"},
    };
    double khz = 0;
    size_t i;
    json_t *record;

    json_array_foreach(records, i, record)
    {
        const char *text = json_string_value(json_object_get(record, "text"));

        if (!text || json_integer_value(json_object_get(record, "facility")) != 0)
            continue;
        for (size_t k = 0; k < sizeof statements / sizeof *statements; k++) {
            double said = rate_in(text, statements[k].before, statements[k].after);

            khz = said > 0 ? said : khz;
        }
    }
    return khz;
}

static double logged_khz(void)
{
    double khz = 0;

    for (json_int_t next = 0;;) {
        cleanup_json json_t *log = NULL;
        cleanup_agent_error struct agent_error error = {0};
        const json_t *records;
        double said;

        if (agent_kmsg_read("/dev/kmsg", next, &log, &error) < 0)
            return khz;
        records = json_object_get(log, "records");
        if (json_array_size(records) == 0)
            return khz;
        said = agent_clock_tsc_khz(records);
        khz = said > 0 ? said : khz;
        next = json_integer_value(json_object_get(log, "next"));
    }
}

/* /proc/cpuinfo has the rate as it was when the kernel began, and in guests only: elsewhere it is
   the processor's at the moment. So it holds where nothing is refined later. */
static double known_khz(void)
{
    unsigned eax, ebx, ecx, edx;
    cleanup_free char *text = NULL;
    const char *at;

    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1U << 31)))
        return 0;
    text = agent_read_file("/proc/cpuinfo", CPUINFO_MAX, NULL);
    if (!text || !strstr(text, " tsc_known_freq"))
        return 0;
    at = strstr(text, "cpu MHz");
    at = at ? strchr(at, ':') : NULL;
    return at ? strtod(at + 1, NULL) * 1000 : 0;
}

static json_t *kernel_tsc_khz(void)
{
    double khz = logged_khz();

    if (!(khz > 0))
        khz = known_khz();
    return khz > 0 ? json_real(khz) : json_null();
}

json_t *agent_clock(bool rate)
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
                     "kernel_tsc_khz", rate ? kernel_tsc_khz() : json_null());
}
