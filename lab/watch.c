/*
 * watch.c - crashed, gone, hung or slow: see watch.h.
 */
#include "watch.h"
#include "virt.h"

#include <string.h>

/* Two looks this far apart tell progress; a nested guest's tick alone moves its exits in less. */
#define LOOK_APART_S 3.0
#define CALL_S 5.0
/* Looking at a guest may take so long, and so long when the run's own limit is over: asking a
   libvirt that hangs would go on otherwise. */
#define JUDGE_S 15.0
#define JUDGE_LATE_S 3.0
#define CONSOLE_TAIL 20

static nl_deadline call_deadline(nl_deadline until)
{
    nl_deadline deadline = nl_deadline_in(CALL_S);

    return until && until < deadline ? until : deadline;
}

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

    free(sight->what);
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

/* LAYER's libvirt does not answer: is the layer that it runs in lost, or it alone? */
static int glance_outward(struct nl_layer *layer, struct nl_sight *sight, struct nl_error **err)
{
    cleanup_free char *trouble = NULL;

    if (layer->index == 0)
        return 0;
    layer--;
    if (nl_watch_glance(layer, sight, err) < 0)
        return -1;
    pthread_mutex_lock(&layer->lock);
    trouble = layer->trouble ? strdup(layer->trouble) : NULL;
    pthread_mutex_unlock(&layer->lock);
    if (!trouble)
        return 0;
    set_sight(sight, "error", "its agent said: %s", trouble);
    sight->layer = layer;
    return nl_fail(err, NL_EXIT_LAB, "%s", sight->what);
}

int nl_watch_glance(struct nl_layer *layer, struct nl_sight *sight, struct nl_error **err)
{
    cleanup_error struct nl_error *ignored = NULL;
    const char *mark = layer->console ? nl_console_crash(layer->console) : NULL;
    int state = VIR_DOMAIN_RUNNING;
    int reason = 0;

    if (!layer->domain)
        return 0;
    if (mark) {
        set_sight(sight, "crashed", "its console says \"%s\"", mark);
    } else if (nl_virt_state(layer->domain, call_deadline(sight->until), &state, &reason,
                             &ignored) < 0) {
        if (nl_interrupt_check(err) < 0)
            return -1;
        return glance_outward(layer, sight, err);
    } else if (state == VIR_DOMAIN_SHUTOFF || state == VIR_DOMAIN_SHUTDOWN) {
        set_sight(sight, "gone", "its domain ended %s", shutoff_reason(reason));
    } else if (state == VIR_DOMAIN_CRASHED) {
        set_sight(sight, "crashed", "libvirt says that the domain crashed");
    } else if (state == VIR_DOMAIN_PAUSED) {
        set_sight(sight, "crashed", "its domain stands still (paused, reason %d)", reason);
    } else {
        return 0;
    }
    sight->layer = layer;
    return nl_fail(err, NL_EXIT_LAB, "%s", sight->what);
}

/* The exits of all vCPUs. False: there are no such counters (a domain under TCG). */
static bool count_exits(const json_t *counters, unsigned long long *exits)
{
    bool found = false;
    char key[32];

    *exits = 0;
    for (unsigned i = 0;; i++) {
        const char *value;

        snprintf(key, sizeof(key), "vcpu.%u.exits.sum", i);
        value = json_string_value(json_object_get(counters, key));
        if (!value)
            return found;
        *exits += strtoull(value, NULL, 10);
        found = true;
    }
}

static void take_look(struct nl_layer *layer, nl_deadline until, struct nl_look *look)
{
    cleanup_error struct nl_error *ignored = NULL;
    cleanup_json json_t *counters = NULL;

    if (layer->console)
        look->console_bytes = nl_console_bytes(layer->console);
    if (nl_virt_monitor(layer->domain, "info registers -a", call_deadline(until), &look->registers,
                        &ignored) < 0)
        nl_error_free(&ignored);
    if (nl_virt_counters(layer->domain, call_deadline(until), &counters, &ignored) == 0)
        look->has_exits = count_exits(counters, &look->exits);
}

/* "RIP=ffffffff81..." out of QEMU's register dump; "?" when it is not there. */
static void copy_rip(const char *registers, char *rip, size_t size)
{
    const char *at = registers ? strstr(registers, "RIP=") : NULL;

    snprintf(rip, size, "%.*s", at ? (int)strcspn(at + 4, " \r\n") : 1, at ? at + 4 : "?");
}

/* Every vCPU waits in HLT for an interrupt, as an idle kernel's do. */
static bool all_halted(const char *registers)
{
    return strstr(registers, "HLT=1") && !strstr(registers, "HLT=0");
}

void nl_watch_compare(const struct nl_look looks[2], struct nl_sight *sight)
{
    unsigned long long bytes = looks[1].console_bytes - looks[0].console_bytes;
    const char *registers = looks[0].registers ? looks[1].registers : NULL;
    bool moved = registers && strcmp(looks[0].registers, registers) != 0;
    bool exits = looks[0].has_exits && looks[1].has_exits && looks[1].exits != looks[0].exits;
    char rip[32];

    copy_rip(registers, rip, sizeof(rip));
    if (bytes > 0)
        set_sight(sight, "slow", "its console is still writing (%llu bytes in %.0f s)", bytes,
                  LOOK_APART_S);
    else if (moved)
        set_sight(sight, "slow",
                  "its vCPU is executing (RIP %s%s), but neither console nor agent say anything",
                  rip,
                  !looks[1].has_exits ? ""
                  : exits             ? ", exits move"
                                      : ", no exits");
    else if (exits)
        set_sight(sight, "slow", "its vCPU has exits, but neither console nor agent say anything");
    else if (registers && all_halted(registers))
        set_sight(sight, "hung",
                  "its vCPU is halted at RIP %s and had nothing to do in %.0f s: what runs in it "
                  "waits for something that does not come",
                  rip, LOOK_APART_S);
    else if (registers)
        set_sight(sight, "hung", "its vCPU has not moved from RIP %s in %.0f s", rip, LOOK_APART_S);
    else
        set_sight(sight, "hung", "nothing could be learned of its vCPU, and its console is silent");
}

/* Two looks at a guest that nothing is known to be wrong with. */
static void look_twice(struct nl_layer *layer, struct nl_sight *sight)
{
    cleanup_error struct nl_error *ignored = NULL;
    struct nl_look looks[2] = {0};

    take_look(layer, sight->until, &looks[0]);
    if (nl_sleep(LOOK_APART_S, NULL) == 0) {
        take_look(layer, sight->until, &looks[1]);
        /* libvirt learns of its QEMU's end later than those who talked to its guest. */
        if (nl_watch_glance(layer, sight, &ignored) == 0 || !sight->kind)
            nl_watch_compare(looks, sight);
    } else {
        set_sight(sight, "timeout", "interrupted while looking");
    }
    free(looks[0].registers);
    free(looks[1].registers);
}

/* At the layers around one that has not run yet. libvirt may hear of a layer's end a moment after
   its agent's stream has ended. */
static void look_outward(struct nl_layer *layer, struct nl_sight *sight)
{
    cleanup_error struct nl_error *ignored = NULL;
    struct nl_layer *outer = layer - 1;

    if (nl_watch_glance(outer, sight, &ignored) < 0 || !outer->link || nl_link_alive(outer->link))
        return;
    if (nl_sleep(LOOK_APART_S, &ignored) == 0)
        nl_watch_glance(outer, sight, &ignored);
}

/* STARTED: its guest has run. Before that the fault is not in it, but it may be further out. LATE:
   there is only time to see whether it has ended. */
static void judge(struct nl_layer *layer, bool started, bool late, struct nl_sight *sight)
{
    nl_deadline soon = nl_deadline_in(JUDGE_LATE_S);
    cleanup_error struct nl_error *ignored = NULL;

    sight->layer = layer;
    sight->until = nl_stack_deadline(layer->stack, JUDGE_S);
    if (sight->until < soon)
        sight->until = soon;
    if (layer->local && layer->link)
        set_sight(sight, "timeout", "its agent, a local process, does not answer");
    else if (late)
        nl_watch_glance(layer, sight, &ignored);
    else if (started && (nl_watch_glance(layer, sight, &ignored) == 0 || !sight->kind))
        look_twice(layer, sight);
    else if (!started && layer->index > 0)
        look_outward(layer, sight);
}

/* Whether the layer itself came to its end, and not what it runs for us, or our patience, which is
   the run's when LATE. */
static bool is_lost(const struct nl_sight *sight, bool late)
{
    if (late && strcmp(sight->kind, "timeout") == 0)
        return false;
    return strcmp(sight->kind, "slow") != 0 && strcmp(sight->kind, "error") != 0;
}

/* What SIGHT's kind is called in a sentence. */
static const char *condition(const struct nl_sight *sight)
{
    if (!strcmp(sight->kind, "error"))
        return "in trouble";
    return !strcmp(sight->kind, "timeout") ? "silent" : sight->kind;
}

/* Put what was seen into *ERR; LAYER was waited for. The layer that it is about is told apart from
   the message, which calls it "it". */
static void tell(const struct nl_layer *layer, const struct nl_sight *sight, struct nl_error **err)
{
    cleanup_free char *waited = NULL;

    if (!sight->what)
        return;
    if (sight->layer == layer ||
        asprintf(&waited, ", while %s was waited for", layer->spec->name) < 0)
        waited = NULL;
    /* The wait may have ended because a glance saw the same. */
    if (!strcmp(nl_error_message(*err), sight->what))
        nl_fail(err, NL_EXIT_LAB, "it is %s: %s%s", condition(sight), sight->what,
                waited ? waited : "");
    else
        nl_wrap(err, "it is %s (%s)%s", condition(sight), sight->what, waited ? waited : "");
}

int nl_watch_blame(struct nl_layer *layer, const char *phase, const char *kind,
                   struct nl_error **err)
{
    struct nl_document *document = layer->stack->document;
    cleanup_sight struct nl_sight sight = {0};
    struct nl_layer *found;
    json_t *tail;
    bool late;

    if (nl_error_status(*err) == NL_EXIT_INTERRUPTED)
        return -1;
    late = nl_stack_explain_late(layer->stack, err);
    judge(layer, layer->domain && strcmp(phase, NL_PHASE_CREATE) != 0, late, &sight);
    if (!sight.kind)
        sight.kind = late ? "timeout" : kind;
    found = sight.layer;
    tell(layer, &sight, err);
    if (!strcmp(found->state, NL_LAYER_UP) && is_lost(&sight, late)) {
        found->state = NL_LAYER_GONE;
        nl_document_layer_state(document, found->index, found->state);
    }
    tail = found->console ? nl_console_tail(found->console, CONSOLE_TAIL) : NULL;
    return nl_stack_fail(layer->stack, found->spec->name, phase, sight.kind, tail, err);
}
