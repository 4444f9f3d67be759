/*
 * watch.c - seeing whether a layer is crashed, gone, hung or slow, and keeping an eye on it while
 * something is waited for: see watch.h. What is made of it is in watch-blame.c.
 */
#include "watch-internal.h"
#include "look-take.h"
#include "probe.h"
#include "virt.h"

#include <string.h>

/* NL_LOOKS looks this far apart; meanwhile a layer in a layer in an emulated one answers a ping,
   however busy. */
#define LOOK_APART_S 1.0
/* A layer that is busy with its guests takes its time for a login; when it is too busy for a ping,
   too, nothing is wrong with its sshd. */
#define SSHD_S 20.0
#define PROMPT_PONG_S 1.0
#define FIRST_PONG_S 3.0

/* While something is waited for: a layer that has been silent for so long is pinged, and is looked
   at when it has not answered for so long; the next time after a while, for looking costs it. */
#define PING_AFTER_S 10.0
#define PONG_WITHIN_S 30.0
#define LOOK_AGAIN_S 60.0
/* A guest that boots has no agent to ping yet: when its console says nothing either, the layer
   below is asked whether it still runs, this often. */
#define GLANCE_APART_S 15.0

void nl_sight_clear(struct nl_sight *sight)
{
    free(sight->what);
    for (size_t i = 0; i < sight->n_looks; i++)
        nl_look_clear(&sight->looks[i]);
    *sight = (struct nl_sight){0};
}

void nl_sight_set(struct nl_sight *sight, const char *kind, const char *format, ...)
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

/* Its agent complained of what it cannot do without. */
static bool has_trouble(struct nl_layer *layer, struct nl_sight *sight)
{
    static const char *const services[] = {"sshd", "libvirtd"};
    cleanup_free char *trouble = NULL;

    pthread_mutex_lock(&layer->lock);
    trouble = layer->trouble ? strdup(layer->trouble) : NULL;
    pthread_mutex_unlock(&layer->lock);
    if (!trouble)
        return false;
    nl_sight_set(sight, "error", "its agent said: %s", trouble);
    sight->layer = layer;
    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
        if (strncmp(trouble, services[i], strlen(services[i])) == 0)
            sight->service = services[i];
    return true;
}

static int fail_seen(const struct nl_sight *sight, struct nl_error **err)
{
    return nl_fail(err, NL_EXIT_LAB, "%s", sight->what);
}

/* LAYER's libvirt does not answer: is the layer that it runs in lost, or it alone? */
static int glance_outward(struct nl_layer *layer, struct nl_sight *sight, struct nl_error **err)
{
    if (layer->index == 0)
        return 0;
    layer--;
    if (nl_watch_glance(layer, sight, err) < 0)
        return -1;
    return has_trouble(layer, sight) ? fail_seen(sight, err) : 0;
}

/* Its domain is paused, for libvirt's REASON. QEMU knows better: where KVM failed to run the guest
   it stops for good as "internal-error", and libvirt calls that unknown. */
static void see_pause(struct nl_layer *layer, int reason, struct nl_sight *sight)
{
    cleanup_error struct nl_error *ignored = NULL;
    cleanup_free char *status = NULL;
    char word[32];

    if (nl_virt_monitor(layer->domain, "info status", nl_look_call_deadline(sight->until), &status,
                        &ignored) == 0 &&
        sscanf(status, "VM status: paused (%31[a-z-])", word) == 1)
        nl_sight_set(sight, "crashed", "its domain stands still: paused (%s)", word);
    else
        nl_sight_set(sight, "crashed", "its domain stands still: paused%s",
                     reason == VIR_DOMAIN_PAUSED_USER ? " by somebody" : "");
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
        nl_sight_set(sight, "crashed", "its console says \"%s\"", mark);
    } else if (nl_virt_state(layer->domain, nl_look_call_deadline(sight->until), &state, &reason,
                             &ignored) < 0) {
        if (nl_interrupt_check(err) < 0)
            return -1;
        return glance_outward(layer, sight, err);
    } else if (state == VIR_DOMAIN_SHUTOFF || state == VIR_DOMAIN_SHUTDOWN) {
        nl_sight_set(sight, "gone", "its domain ended %s", shutoff_reason(reason));
    } else if (state == VIR_DOMAIN_CRASHED) {
        nl_sight_set(sight, "crashed", "libvirt says that the domain crashed");
    } else if (state == VIR_DOMAIN_PAUSED) {
        see_pause(layer, reason, sight);
    } else {
        return 0;
    }
    sight->layer = layer;
    return fail_seen(sight, err);
}

/* Look until the agent answers a ping, or there have been enough looks. 1: it answered (or the
   guest ended: a glance tells); 0: it did not; -1: interrupted. */
static int look_on(struct nl_layer *layer, bool pinged, struct nl_sight *sight)
{
    while (sight->n_looks < NL_LOOKS) {
        cleanup_error struct nl_error *ignored = NULL;
        nl_deadline until = nl_deadline_in(LOOK_APART_S);
        int rc = 0;

        nl_look_take(layer->domain, layer->console, sight->until, &sight->looks[sight->n_looks++]);
        if (pinged)
            rc = nl_link_pong(layer->link, until, NULL, &ignored);
        if (nl_interrupted())
            return -1;
        if (rc == 1)
            return 1;
        if (nl_deadline_left_ms(until) > 0 &&
            nl_sleep(nl_deadline_left_ms(until) / 1000.0, NULL) < 0)
            return -1;
        /* What does not answer the monitor will not do so next time. */
        if (sight->n_looks >= 2 && (!sight->looks[sight->n_looks - 1].registers ||
                                    (sight->until && nl_deadline_left_ms(sight->until) == 0)))
            return 0;
    }
    return 0;
}

/* Until when to wait for a layer's sshd. */
static nl_deadline sshd_deadline(const struct nl_sight *sight)
{
    nl_deadline deadline = nl_deadline_in(SSHD_S);

    return sight->until && sight->until < deadline ? sight->until : deadline;
}

/* Silence means something only after all of its time. */
static bool lacks_sshd(struct nl_layer *layer, const struct nl_sight *sight)
{
    nl_deadline whole = nl_deadline_in(SSHD_S);

    return layer->ssh_port != 0 && (!sight->until || sight->until >= whole) &&
           !nl_probe_sshd(layer->ssh_port, whole) && !nl_interrupted() &&
           nl_watch_answers(layer, PROMPT_PONG_S);
}

/* Its agent answers; do its services? */
static bool misses_service(struct nl_layer *layer, const json_t *pong, bool thorough,
                           struct nl_sight *sight)
{
    const json_t *services = json_object_get(pong, "services");
    const char *name;
    json_t *up;

    if (has_trouble(layer, sight))
        return true;
    json_object_foreach((json_t *)services, name, up)
    {
        if (json_is_true(up))
            continue;
        nl_sight_set(sight, "error", "its %s is not up", name);
        sight->service = strcmp(name, "sshd") == 0 ? "sshd" : "libvirtd";
        sight->layer = layer;
        return true;
    }
    if (!thorough || !lacks_sshd(layer, sight))
        return false;
    nl_sight_set(sight, "error", "its sshd does not answer, its agent does");
    sight->service = "sshd";
    sight->layer = layer;
    return true;
}

/* The agent said nothing; what do the looks say, and the layer's sshd? */
static void judge_silence(struct nl_layer *layer, bool answered, struct nl_sight *sight)
{
    bool idle;

    free(sight->what);
    sight->layer = layer;
    sight->kind = nl_look_compare(sight->looks, sight->n_looks, answered, &idle, &sight->what);
    if (!answered || nl_interrupted())
        return;
    if (layer->ssh_port != 0 && nl_probe_sshd(layer->ssh_port, sshd_deadline(sight)))
        nl_sight_set(sight, "lost",
                     "its agent does not answer, but its sshd does: the machine is alive");
    else if (idle && layer->ssh_port == 0)
        nl_sight_set(sight, "lost",
                     "its agent does not answer, and its kernel is idle and takes interrupts");
}

bool nl_watch_answers(struct nl_layer *layer, double seconds)
{
    cleanup_error struct nl_error *ignored = NULL;

    return layer->link && nl_link_ping(layer->link, &ignored) == 0 &&
           nl_link_pong(layer->link, nl_deadline_in(seconds), NULL, &ignored) == 1;
}

bool nl_watch_examine(struct nl_layer *layer, bool answered, bool thorough, struct nl_sight *sight)
{
    cleanup_error struct nl_error *ignored = NULL;
    cleanup_json json_t *pong = NULL;
    bool pinged = answered && layer->link && nl_link_ping(layer->link, &ignored) == 0;

    if (pinged && nl_link_pong(layer->link, nl_deadline_in(FIRST_PONG_S), &pong, NULL) == 1)
        return misses_service(layer, pong, thorough, sight);
    if (!layer->domain || nl_interrupted())
        return false;
    nl_error_free(&ignored);
    if (nl_watch_glance(layer, sight, &ignored) < 0 && sight->kind)
        return true;
    switch (look_on(layer, pinged, sight)) {
    case 1:
        return misses_service(layer, NULL, thorough, sight);
    case 0:
        break;
    default:
        return false;
    }
    nl_error_free(&ignored);
    /* libvirt learns of its QEMU's end later than those who talked to its guest. */
    if (nl_watch_glance(layer, sight, &ignored) == 0 || !sight->kind)
        judge_silence(layer, answered, sight);
    return true;
}

bool nl_watch_has_sign(struct nl_layer *layer)
{
    return layer->console && (nl_console_crash(layer->console) || nl_console_ended(layer->console));
}

bool nl_sight_is_lost(const struct nl_sight *sight)
{
    static const char *const lost[] = {"crashed", "gone", "hung", "lost"};

    for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
        if (strcmp(sight->kind, lost[i]) == 0)
            return true;
    return false;
}

/* Silent layers are pinged, and looked at if that does not help. */
static int keep_touch(struct nl_layer *layer, struct nl_error **err)
{
    cleanup_sight struct nl_sight sight = {0};
    int64_t now = nl_now_ms();
    int64_t heard = nl_link_last_heard_ms(layer->link);

    if (heard >= layer->pinged_ms)
        layer->pinged_ms = 0;
    if (now - heard < PING_AFTER_S * 1000)
        return 0;
    if (layer->pinged_ms == 0) {
        layer->pinged_ms = now;
        return nl_link_ping(layer->link, err);
    }
    if (now - layer->pinged_ms < PONG_WITHIN_S * 1000)
        return 0;
    layer->pinged_ms = now + (int64_t)(LOOK_AGAIN_S - PONG_WITHIN_S) * 1000;
    if (!nl_watch_examine(layer, true, false, &sight) || !sight.kind || !nl_sight_is_lost(&sight))
        return nl_interrupt_check(err);
    return fail_seen(&sight, err);
}

/* A guest whose vCPU was stopped says nothing more, and its deadline is far. */
static int keep_eye(struct nl_layer *layer, struct nl_error **err)
{
    cleanup_sight struct nl_sight sight = {0};
    int64_t now = nl_now_ms();
    int64_t heard = layer->console ? nl_console_last_ms(layer->console) : 0;

    if (layer->glanced_ms == 0)
        layer->glanced_ms = now;
    if (now - (heard > layer->glanced_ms ? heard : layer->glanced_ms) < GLANCE_APART_S * 1000)
        return 0;
    layer->glanced_ms = now;
    return nl_watch_glance(layer, &sight, err);
}

static int look_around(struct nl_layer *layer, struct nl_error **err)
{
    struct nl_stack *stack = layer->stack;

    for (size_t i = nl_stack_outermost(stack); i <= layer->index; i++) {
        struct nl_layer *one = &stack->layers[i];
        cleanup_sight struct nl_sight sight = {0};

        if (nl_watch_has_sign(one) && nl_watch_glance(one, &sight, err) < 0)
            return -1;
        if (has_trouble(one, &sight))
            return fail_seen(&sight, err);
        if (one->greeted && keep_touch(one, err) < 0)
            return -1;
    }
    return layer->greeted ? 0 : keep_eye(layer, err);
}

int nl_watch_tick(struct nl_layer *layer, struct nl_error **err)
{
    if (nl_interrupt_check(err) == 0 && look_around(layer, err) == 0)
        return 0;
    layer->given_up = true;
    return -1;
}
