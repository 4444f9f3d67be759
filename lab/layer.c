/*
 * layer.c - one layer: see layer.h. The same code for every layer; only where the libvirt is that
 * boots it, and whether it is this very machine, differ.
 */
#include "layer.h"
#include "disks.h"
#include "layer-domain.h"
#include "../agents/protocol.h"
#include "progress.h"
#include "virt.h"
#include "watch.h"

#include <string.h>

#define RESUME_S 60.0
#define END_S 3.0
/* How long a domain that just ended may take to let its last words through. */
#define LAST_WORDS_S 0.5
/* A kernel log of a megabyte comes in a handful of replies; a guest may write without end. */
#define LOG_REPLIES_MAX 100

/* A step of bringing a layer up: its phase in the document, and what to do. */
struct step {
    const char *phase;
    int (*run)(struct nl_layer *layer, struct nl_error **err);
    bool (*applies)(const struct nl_layer *layer);
};

static virConnectPtr conn_below(const struct nl_layer *layer)
{
    bool outermost = layer->index == nl_stack_outermost(layer->stack);

    return outermost ? layer->stack->base : layer[-1].conn;
}

static void replace(char **text, const char *value)
{
    free(*text);
    *text = value ? strdup(value) : NULL;
}

/* Without these a layer cannot boot the next one, or is not as broken as the scenario asked; other
   trouble (a module that does not load) is for the checks to judge. */
static bool is_fatal(const char *name)
{
    static const char *const fatal[] = {"root disk", "sshd", "libvirtd", "fault"};

    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
        if (!strcmp(name, fatal[i]))
            return true;
    return false;
}

/* On the link's thread. */
static void on_event(const json_t *event, void *data)
{
    struct nl_layer *layer = data;
    const char *kind = json_string_value(json_object_get(event, "event"));
    const char *name = json_string_value(json_object_get(event, "name"));
    const char *message = json_string_value(json_object_get(event, "message"));
    cleanup_free char *trouble = NULL;

    if (!kind)
        return;
    pthread_mutex_lock(&layer->lock);
    if (!strcmp(kind, "ready"))
        layer->ready = true;
    else if (!strcmp(kind, "phase"))
        replace(&layer->busy, name);
    else if (!strcmp(kind, "trouble") && name && is_fatal(name) &&
             asprintf(&trouble, "%s: %s", name, message ? message : "?") >= 0)
        replace(&layer->trouble, trouble);
    pthread_mutex_unlock(&layer->lock);
}

/* A copy of what the agent said last; the caller frees it. */
static char *copy_locked(struct nl_layer *layer, char *const *text)
{
    char *copy;

    pthread_mutex_lock(&layer->lock);
    copy = *text ? strdup(*text) : NULL;
    pthread_mutex_unlock(&layer->lock);
    return copy;
}

static bool is_ready(struct nl_layer *layer)
{
    bool ready;

    pthread_mutex_lock(&layer->lock);
    ready = layer->ready;
    pthread_mutex_unlock(&layer->lock);
    return ready;
}

static bool is_local(const struct nl_layer *layer)
{
    return layer->local;
}

static bool is_guest(const struct nl_layer *layer)
{
    return !layer->local;
}

static bool boots_another(const struct nl_layer *layer)
{
    return layer->hypervisor;
}

/* Show on the progress line what the layer is busy with, and end a wait that is in vain. */
static int tick(void *data, struct nl_error **err)
{
    struct nl_layer *layer = data;
    cleanup_free char *busy = copy_locked(layer, &layer->busy);
    cleanup_free char *line = layer->console ? nl_console_last_line(layer->console) : NULL;

    nl_progress_update("%s", busy ? busy : line && line[0] ? line : "the kernel boots");
    return nl_watch_tick(layer, err);
}

/* While one question is open, others know better what to show. */
static int tick_quietly(void *data, struct nl_error **err)
{
    return nl_watch_tick(data, err);
}

void nl_layer_watch(struct nl_layer *layer)
{
    nl_link_watch(layer->link, tick_quietly, layer);
}

/* libvirt may have to probe QEMU first, and on a loaded machine an emulated layer takes its time:
   the scenario's patience for a boot is its patience for this too. */
static nl_deadline create_deadline(const struct nl_layer *layer)
{
    return nl_stack_deadline(layer->stack, layer->stack->scenario->timeouts.boot_s);
}

static int create(struct nl_layer *layer, struct nl_error **err)
{
    cleanup_free char *xml = NULL;
    json_t *about = NULL;

    if (nl_layer_domain(layer, &xml, &about, err) < 0)
        return -1;
    nl_document_layer_set(layer->stack->document, layer->index, "domain", about);
    if (nl_virt_create(conn_below(layer), xml, create_deadline(layer), &layer->domain, err) < 0) {
        if (layer->index == nl_stack_outermost(layer->stack))
            nl_disks_examine(layer->stack, err);
        return -1;
    }
    if (nl_console_open(layer->domain, layer->console_file, &layer->console, err) < 0 ||
        nl_link_open_serial(layer->domain, NL_PROTOCOL_PORT, on_event, layer, &layer->link, err) <
            0)
        return -1;
    nl_layer_count_exits(layer, "created");
    return nl_virt_resume(layer->domain, nl_stack_deadline(layer->stack, RESUME_S), err);
}

static int start_local(struct nl_layer *layer, struct nl_error **err)
{
    return nl_link_open_local(nl_store_agent(layer->stack->store), on_event, layer, &layer->link,
                              err);
}

static int greet(struct nl_layer *layer, struct nl_error **err)
{
    cleanup_json json_t *hello = NULL;
    double seconds = layer->stack->scenario->timeouts.boot_s;

    if (nl_link_hello(layer->link, nl_stack_deadline(layer->stack, seconds), tick, layer, &hello,
                      err) < 0)
        return -1;
    layer->disks = json_incref(json_object_get(hello, "disks"));
    layer->greeted = true;
    nl_layer_watch(layer);
    if (json_is_true(json_object_get(hello, "ready"))) {
        pthread_mutex_lock(&layer->lock);
        layer->ready = true;
        pthread_mutex_unlock(&layer->lock);
    }
    return 0;
}

static int wait_for_services(struct nl_layer *layer, struct nl_error **err)
{
    double seconds = layer->stack->scenario->timeouts.services_s;
    nl_deadline deadline = nl_stack_deadline(layer->stack, seconds);
    int64_t begun = nl_now_ms();

    while (!is_ready(layer)) {
        cleanup_free char *trouble = copy_locked(layer, &layer->trouble);

        if (trouble)
            return nl_fail(err, NL_EXIT_LAB, "%s", trouble);
        if (!nl_link_alive(layer->link))
            return nl_fail(err, NL_EXIT_LAB, "the link to its agent ended");
        if (tick(layer, err) < 0 || nl_sleep(0.1, err) < 0)
            return -1;
        if (nl_deadline_left_ms(deadline) == 0)
            return nl_fail(err, NL_EXIT_LAB, "its services were not up after %.0f s",
                           (double)(nl_now_ms() - begun) / 1000);
    }
    return 0;
}

static int connect_libvirt(struct nl_layer *layer, struct nl_error **err)
{
    const struct nl_stack *stack = layer->stack;

    if (layer->local) {
        if (virConnectRef(stack->base) < 0)
            return nl_fail(err, NL_EXIT_LAB, "cannot share the connection of the embedded driver");
        layer->conn = stack->base;
        return 0;
    }
    return nl_virt_open_ssh(layer->ssh_port, nl_store_client_key(stack->store), stack->known_hosts,
                            nl_stack_deadline(layer->stack, stack->scenario->timeouts.services_s),
                            &layer->conn, err);
}

static int take_facts(struct nl_layer *layer, struct nl_error **err)
{
    if (nl_layer_ask(layer, "facts", NULL, &layer->facts, err) < 0)
        return -1;
    nl_document_layer_set(layer->stack->document, layer->index, "facts", json_incref(layer->facts));
    nl_layer_count_exits(layer, "ready");
    return 0;
}

static const struct step steps[] = {
    {NL_PHASE_CREATE, create, is_guest},
    {"agent", start_local, is_local},
    {"kernel", greet, NULL},
    {"services", wait_for_services, is_guest},
    {"connect", connect_libvirt, boots_another},
    {"facts", take_facts, NULL},
};

static void set_state(struct nl_layer *layer, const char *state)
{
    layer->state = state;
    nl_document_layer_state(layer->stack->document, layer->index, state);
}

/* What is known of a failure in PHASE goes into the document: judged by what is seen of the guest,
   for the error alone only says what was waited for. */
static void record_failure(struct nl_layer *layer, const char *phase, bool timed_out,
                           struct nl_error **err)
{
    set_state(layer, NL_LAYER_FAILED);
    if (layer->domain)
        nl_sleep(LAST_WORDS_S, NULL);
    nl_watch_blame(layer, phase, timed_out ? "timeout" : "refused", err);
}

/* PHASE ended in *ERR, after it had all its time if TIMED_OUT. An interrupt says nothing of the
   layer. */
static int give_up(struct nl_layer *layer, const char *phase, bool timed_out, struct nl_error **err)
{
    bool interrupted = nl_error_status(*err) == NL_EXIT_INTERRUPTED;

    if (interrupted)
        set_state(layer, NL_LAYER_INTERRUPTED);
    else
        record_failure(layer, phase, timed_out, err);
    nl_progress_end("%s in phase %s", interrupted ? "interrupted" : "failed", phase);
    return -1;
}

static const char *describe(const struct nl_layer *layer)
{
    if (layer->local)
        return "this machine";
    return layer->index == nl_stack_outermost(layer->stack) && !layer->stack->kvm ? "under TCG"
                                                                                  : "under KVM";
}

int nl_layer_up(struct nl_layer *layer, struct nl_error **err)
{
    struct nl_document *document = layer->stack->document;

    nl_progress_begin("%s (%s, %s)", layer->spec->name, layer->spec->image, describe(layer));
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        double patience = layer->stack->scenario->timeouts.boot_s;
        double seconds;
        int phase, rc;

        if (steps[i].applies && !steps[i].applies(layer))
            continue;
        nl_progress_update("%s", steps[i].phase);
        phase = nl_document_phase_begin(document, layer->spec->name, steps[i].phase);
        rc = steps[i].run(layer, err);
        seconds = nl_document_phase_end(document, phase);
        if (rc < 0)
            return give_up(layer, steps[i].phase, seconds >= patience, err);
    }
    set_state(layer, NL_LAYER_UP);
    nl_progress_end("up");
    return 0;
}

json_t *nl_layer_counters(struct nl_layer *layer)
{
    cleanup_error struct nl_error *ignored = NULL;
    json_t *counters = NULL;

    if (!layer->domain || nl_virt_counters(layer->domain, nl_stack_deadline(layer->stack, 10),
                                           &counters, &ignored) < 0)
        return NULL;
    return counters;
}

void nl_layer_count_exits(struct nl_layer *layer, const char *when)
{
    json_t *counters = nl_layer_counters(layer);

    if (counters)
        nl_document_layer_exits(layer->stack->document, layer->index, when, counters);
}

int nl_layer_ask(struct nl_layer *layer, const char *op, json_t *arguments, json_t **result,
                 struct nl_error **err)
{
    double seconds = layer->stack->scenario->timeouts.agent_s;

    if (!layer->link) {
        json_decref(arguments);
        return nl_fail(err, NL_EXIT_LAB, "it has no agent");
    }
    if (nl_link_ask(layer->link, op, arguments, nl_stack_deadline(layer->stack, seconds), result,
                    err) < 0)
        return nl_wrap(err, "asking its agent for \"%s\"", op);
    return 0;
}

int nl_layer_read_log(struct nl_layer *layer, struct nl_error **err)
{
    json_int_t since = 0;

    for (int i = 0; i < LOG_REPLIES_MAX; i++) {
        cleanup_json json_t *reply = NULL;
        json_int_t next;

        if (nl_layer_ask(layer, "log", json_pack("{s:I}", "since", since), &reply, err) < 0)
            return -1;
        nl_document_layer_log(layer->stack->document, layer->index, reply);
        if (json_array_size(json_object_get(reply, "records")) == 0)
            return 0;
        next = json_integer_value(json_object_get(reply, "next"));
        if (next <= since)
            return nl_fail(err, NL_EXIT_LAB, "its agent does not get on with its kernel log");
        since = next;
    }
    return nl_fail(err, NL_EXIT_LAB, "its kernel log does not end");
}

int nl_layer_end_domain(struct nl_layer *layer, struct nl_error **err)
{
    return layer->domain ? nl_virt_destroy(layer->domain, nl_deadline_in(END_S), err) : 0;
}

void nl_layer_close(struct nl_layer *layer)
{
    nl_link_close(&layer->link);
    nl_console_close(&layer->console);
    if (layer->domain)
        virDomainFree(layer->domain);
    layer->domain = NULL;
    nl_virt_close(&layer->conn);
}
