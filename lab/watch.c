/*
 * watch.c - crashed, gone, hung or slow: see watch.h.
 */
#include "watch.h"
#include "virt.h"

#include <string.h>

/* Two looks this far apart tell progress; a nested guest's tick alone moves its exits in less. */
#define LOOK_APART_S 3.0
#define CALL_S 5.0

/* What one look at a guest finds. */
struct look {
    unsigned long long console_bytes;
    char *registers;
    unsigned long long exits;
    bool has_exits;
};

void nl_sight_clear(struct nl_sight *sight)
{
    free(sight->what);
    *sight = (struct nl_sight){0};
}

static void set_sight(struct nl_sight *sight, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void set_sight(struct nl_sight *sight, const char *kind, const char *format, ...)
{
    va_list args;

    nl_sight_clear(sight);
    sight->kind = kind;
    va_start(args, format);
    if (vasprintf(&sight->what, format, args) < 0)
        sight->what = NULL;
    va_end(args);
}

static const char *shutoff_reason(int reason)
{
    static const char *const names[] = {
        [VIR_DOMAIN_SHUTOFF_UNKNOWN] = "for an unknown reason",
        [VIR_DOMAIN_SHUTOFF_SHUTDOWN] = "by shutting down or resetting",
        [VIR_DOMAIN_SHUTOFF_DESTROYED] = "by being destroyed, or by its guest's reset",
        [VIR_DOMAIN_SHUTOFF_CRASHED] = "because its QEMU died",
        [VIR_DOMAIN_SHUTOFF_FAILED] = "because it failed to start",
    };

    if (reason < 0 || reason >= (int)(sizeof(names) / sizeof(names[0])) || !names[reason])
        return "for an unknown reason";
    return names[reason];
}

int nl_watch_glance(struct nl_layer *layer, struct nl_sight *sight, struct nl_error **err)
{
    cleanup_error struct nl_error *ignored = NULL;
    const char *mark = layer->console ? nl_console_crash(layer->console) : NULL;
    int state = VIR_DOMAIN_RUNNING;
    int reason = 0;

    if (!layer->domain)
        return 0;
    if (mark)
        set_sight(sight, "crashed", "its console says \"%s\"", mark);
    else if (nl_virt_state(layer->domain, nl_deadline_in(CALL_S), &state, &reason, &ignored) < 0)
        return nl_interrupt_check(err);
    else if (state == VIR_DOMAIN_SHUTOFF || state == VIR_DOMAIN_SHUTDOWN)
        set_sight(sight, "gone", "its domain ended %s", shutoff_reason(reason));
    else if (state == VIR_DOMAIN_CRASHED)
        set_sight(sight, "crashed", "libvirt says that the domain crashed");
    else if (state == VIR_DOMAIN_PAUSED)
        set_sight(sight, "crashed", "its domain stands still (paused, reason %d)", reason);
    else
        return 0;
    return nl_fail(err, NL_EXIT_LAB, "%s is %s: %s", layer->spec->name, sight->kind, sight->what);
}

static void take_look(struct nl_layer *layer, struct look *look)
{
    cleanup_error struct nl_error *ignored = NULL;
    cleanup_json json_t *counters = NULL;
    const char *exits;

    if (layer->console)
        look->console_bytes = nl_console_bytes(layer->console);
    if (nl_virt_monitor(layer->domain, "info registers", nl_deadline_in(CALL_S), &look->registers,
                        &ignored) < 0)
        nl_error_free(&ignored);
    if (nl_virt_counters(layer->domain, nl_deadline_in(CALL_S), &counters, &ignored) < 0)
        return;
    exits = json_string_value(json_object_get(counters, "vcpu.0.exits.sum"));
    look->has_exits = exits != NULL;
    look->exits = exits ? strtoull(exits, NULL, 10) : 0;
}

/* "RIP=ffffffff81..." out of QEMU's register dump; "?" when it is not there. */
static void copy_rip(const char *registers, char *rip, size_t size)
{
    const char *at = registers ? strstr(registers, "RIP=") : NULL;

    snprintf(rip, size, "%.*s", at ? (int)strcspn(at + 4, " \r\n") : 1, at ? at + 4 : "?");
}

static void compare_looks(const struct look looks[2], struct nl_sight *sight)
{
    unsigned long long bytes = looks[1].console_bytes - looks[0].console_bytes;
    unsigned long long exits = looks[1].exits - looks[0].exits;
    bool moved = looks[0].registers && looks[1].registers &&
                 strcmp(looks[0].registers, looks[1].registers) != 0;
    char rip[32];

    copy_rip(looks[1].registers, rip, sizeof(rip));
    if (bytes > 0)
        set_sight(sight, "slow", "its console is still writing (%llu bytes in %.0f s)", bytes,
                  LOOK_APART_S);
    else if (moved)
        set_sight(sight, "slow",
                  "its vCPU is executing (RIP %s%s), but neither console nor agent say anything",
                  rip, looks[1].has_exits ? (exits ? ", exits move" : ", no exits") : "");
    else if (looks[0].registers && looks[1].registers)
        set_sight(sight, "hung", "its vCPU has not moved from RIP %s in %.0f s", rip, LOOK_APART_S);
    else
        set_sight(sight, "hung", "nothing could be learned of its vCPU, and its console is silent");
}

void nl_watch_judge(struct nl_layer *layer, struct nl_sight *sight)
{
    cleanup_error struct nl_error *ignored = NULL;
    struct look looks[2] = {0};

    if (!layer->domain) {
        set_sight(sight, "timeout", "its agent, a local process, does not answer");
        return;
    }
    if (nl_watch_glance(layer, sight, &ignored) < 0)
        return;
    take_look(layer, &looks[0]);
    if (nl_sleep(LOOK_APART_S, &ignored) == 0) {
        take_look(layer, &looks[1]);
        compare_looks(looks, sight);
    } else {
        set_sight(sight, "timeout", "interrupted while looking");
    }
    free(looks[0].registers);
    free(looks[1].registers);
}
