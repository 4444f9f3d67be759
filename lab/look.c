/*
 * look.c - several looks at a guest that says nothing: see look.h.
 *
 * Progress is a console that writes, a disk that moves, or a vCPU that gets about. A vCPU that runs
 * is no progress by itself: one that goes round in one place, takes no interrupts, or is kept by
 * one program for as long as one looks hangs at full speed. Exits are none either: the layer below
 * has interrupts of its own, each of which is an exit of its guest.
 */
#include "look.h"
#include "cleanup.h"

#include <string.h>

/* A loop fits into so many bytes of code; of that share of the looks at least. */
#define LOOP_BYTES 4096ULL
#define LOOP_SHARE 0.8
/* Fewer looks at a vCPU that runs say nothing of where it goes. */
#define LOOPS_LOOKS 5

void nl_look_clear(struct nl_look *look)
{
    free(look->registers);
    *look = (struct nl_look){0};
}

/* The number behind NAME ("RIP=") in the text of one vCPU, which ends at END. */
static unsigned long long number(const char *text, const char *end, const char *name, int base)
{
    const char *at = strstr(text, name);

    return at && at < end ? strtoull(at + strlen(name), NULL, base) : 0;
}

size_t nl_look_vcpus(const char *registers, struct nl_vcpu *vcpus)
{
    const char *at = registers ? strstr(registers, "RIP=") : NULL;
    size_t n = 0;

    for (; at && n < NL_VCPUS_MAX; n++) {
        const char *next = strstr(at + 1, "RIP=");
        const char *end = next ? next : at + strlen(at);
        const char *begin = at;

        /* RSP comes before RIP, and belongs to the vCPU whose dump began last. */
        while (begin > registers && strncmp(begin, "RSP=", 4) != 0)
            begin--;
        vcpus[n] = (struct nl_vcpu){
            .rip = number(at, end, "RIP=", 16),
            .rsp = number(begin, at, "RSP=", 16),
            .cr3 = number(at, end, "CR3=", 16),
            .interrupts = number(at, end, "RFL=", 16) & 0x200,
            .halted = number(at, end, "HLT=", 10) == 1,
            .cpl = (int)number(at, end, "CPL=", 10),
        };
        at = next;
    }
    return n;
}

/* One vCPU over all looks. */
struct course {
    struct nl_vcpu at[32];
    size_t n, halted, masked;
};

#define LOOKS_MAX (sizeof(((struct course *)NULL)->at) / sizeof(struct nl_vcpu))

static struct course follow(const struct nl_look *looks, size_t n, size_t vcpu)
{
    struct course course = {0};

    for (size_t i = 0; i < n && course.n < LOOKS_MAX; i++) {
        struct nl_vcpu vcpus[NL_VCPUS_MAX];

        if (nl_look_vcpus(looks[i].registers, vcpus) <= vcpu)
            continue;
        course.halted += vcpus[vcpu].halted;
        course.masked += !vcpus[vcpu].interrupts;
        course.at[course.n++] = vcpus[vcpu];
    }
    return course;
}

/* The range of code, LOOP_BYTES long, that holds most of the looks: its first address, its last one
   seen, and how many they are. */
static size_t tightest(const struct course *course, unsigned long long *first,
                       unsigned long long *last)
{
    size_t most = 0;

    for (size_t i = 0; i < course->n; i++) {
        unsigned long long low = course->at[i].rip, high = low;
        size_t n = 0;

        for (size_t k = 0; k < course->n; k++) {
            unsigned long long rip = course->at[k].rip;

            if (rip < low || rip - low >= LOOP_BYTES)
                continue;
            high = rip > high ? rip : high;
            n++;
        }
        if (n <= most)
            continue;
        most = n;
        *first = low;
        *last = high;
    }
    return most;
}

/* One address space, never halted: one program, or the kernel on its behalf. */
static bool is_kept_by_one(const struct course *course)
{
    for (size_t i = 1; i < course->n; i++)
        if (course->at[i].cr3 != course->at[0].cr3)
            return false;
    return course->n >= LOOPS_LOOKS && course->halted == 0;
}

static char *say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *say(const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    return text;
}

/* What the vCPU does, where that is a way to hang; NULL: it is not. */
static char *judge_course(const struct course *course, bool answered_before, double seconds)
{
    unsigned long long first = 0, last = 0;
    size_t in_range = tightest(course, &first, &last);
    bool masked = course->masked == course->n;
    bool tight = (double)in_range >= LOOP_SHARE * (double)course->n;

    if (course->n < 2)
        return NULL;
    if (course->halted == course->n && masked)
        return say("its vCPU is halted at RIP %llx with interrupts off: nothing will wake it",
                   first);
    if (course->halted == course->n)
        return say(
            "its vCPU is halted at RIP %llx and had nothing to do in %.0f s: what runs in it "
            "waits for something that does not come",
            first, seconds);
    if (first == last && in_range == course->n)
        return say("its vCPU stands at RIP %llx with interrupts %s: it has not moved in %.0f s",
                   first, masked ? "off" : "on", seconds);
    if (course->n < LOOPS_LOOKS)
        return NULL;
    if (tight && masked)
        return say("its vCPU goes round from RIP %llx to %llx with interrupts off", first, last);
    if (tight && course->halted == 0)
        return say("its vCPU loops at full speed from RIP %llx to %llx (%zu of %zu looks, %s)",
                   first, last, in_range, course->n,
                   course->at[0].cpl == 3 ? "in a program" : "in the kernel");
    if (answered_before && is_kept_by_one(course))
        return say(
            "one %s has its vCPU to itself, and nothing else gets on: the same address space in "
            "all of %zu looks, never halted, last at RIP %llx",
            course->at[course->n - 1].cpl == 3 ? "program" : "task", course->n,
            course->at[course->n - 1].rip);
    return NULL;
}

/* One vCPU that gets about is progress, whatever the others do. */
static const char *judge_vcpus(const struct nl_look *looks, size_t n, bool answered_before,
                               double seconds, char **what)
{
    for (size_t vcpu = 0; vcpu < NL_VCPUS_MAX; vcpu++) {
        struct course course = follow(looks, n, vcpu);
        cleanup_free char *said =
            course.n > 0 ? judge_course(&course, answered_before, seconds) : NULL;
        bool idle = course.n > 0 && course.halted == course.n;

        if (course.n == 0)
            return *what ? "hung" : NULL;
        if (!said) {
            free(*what);
            *what =
                say("its vCPU is executing (last seen at RIP %llx), but neither console nor agent "
                    "say anything",
                    course.at[course.n - 1].rip);
            return "slow";
        }
        /* The one that is busy tells more than those that wait for it. */
        if (!*what || !idle) {
            free(*what);
            *what = nl_steal(&said);
        }
    }
    return "hung";
}

/* Halted with interrupts on, all of them, at all looks. */
static bool is_idle(const struct nl_look *looks, size_t n)
{
    struct nl_vcpu vcpus[NL_VCPUS_MAX];

    for (size_t i = 0; i < n; i++) {
        size_t n_vcpus = nl_look_vcpus(looks[i].registers, vcpus);

        if (n_vcpus == 0)
            return false;
        for (size_t k = 0; k < n_vcpus; k++)
            if (!vcpus[k].halted || !vcpus[k].interrupts)
                return false;
    }
    return true;
}

const char *nl_look_compare(const struct nl_look *looks, size_t n, bool answered_before, bool *idle,
                            char **what)
{
    const struct nl_look *first = &looks[0], *last = &looks[n - 1];
    double seconds = (double)(last->at_ms - first->at_ms) / 1000.0;
    unsigned long long bytes = last->console_bytes - first->console_bytes;
    const char *kind;

    *what = NULL;
    *idle = is_idle(looks, n);
    if (bytes > 0) {
        *what = say("its console is still writing (%llu bytes in %.0f s)", bytes, seconds);
        return "slow";
    }
    if (first->has_disk && last->has_disk && last->disk_bytes != first->disk_bytes) {
        *what = say("its disks are busy (%llu bytes in %.0f s)",
                    last->disk_bytes - first->disk_bytes, seconds);
        return "slow";
    }
    kind = judge_vcpus(looks, n, answered_before, seconds, what);
    if (kind)
        return kind;
    if (first->has_exits && last->has_exits && last->exits != first->exits) {
        *what = say("its vCPU has exits, but neither console nor agent say anything");
        return "slow";
    }
    *what =
        say("nothing could be learned of its vCPU (its QEMU does not answer), and its console is "
            "silent");
    return "hung";
}
