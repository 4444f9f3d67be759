/*
 * hang.c - evidence about a guest that does not get on: see hang.h.
 *
 * Each source may be silent; what it would have said is absent then. The guest cannot help, so
 * everything comes from around it: the layer below, QEMU's monitor, and other layers that run the
 * same kernel.
 */
#include "hang.h"
#include "dig.h"
#include "hang-text.h"
#include "virt.h"

#include <string.h>

#define TOTAL_S 40.0
#define CALL_S 5.0
#define SYMBOLS_S 8.0
#define NMI_S 18.0
/* A console that has been silent for so long after its backtrace began is done with it. */
#define NMI_SILENCE_MS 3000
#define STACK_WORDS 192

struct collection {
    const struct nl_sight *sight;
    struct nl_layer *layer;
    nl_deadline end;
    json_t *evidence; /* what goes into the document */
    FILE *file;       /* LN-hang.txt, or NULL */
};

static nl_deadline within(const struct collection *collection, double seconds)
{
    nl_deadline deadline = nl_deadline_in(seconds);

    return deadline < collection->end ? deadline : collection->end;
}

static bool has_time(const struct collection *collection)
{
    return nl_deadline_left_ms(collection->end) > 0 && !nl_interrupted();
}

static void set(struct collection *collection, const char *key, json_t *value)
{
    if (value)
        json_object_set_new(collection->evidence, key, value);
}

/* A section of the file; TEXT is a guest's or a QEMU's. */
static void write_section(struct collection *collection, const char *title, const char *text)
{
    if (collection->file && text && *text)
        fprintf(collection->file, "== %s\n%s%s\n", title, text,
                text[strlen(text) - 1] == '\n' ? "" : "\n");
}

static bool can_ask(const struct collection *collection, const struct nl_layer *layer)
{
    return layer->link && layer->greeted && has_time(collection);
}

/* A layer's agent that still answers, asked for what only it can see. */
static json_t *ask(struct collection *collection, const struct nl_layer *layer, const char *op,
                   json_t *arguments, double seconds)
{
    cleanup_error struct nl_error *ignored = NULL;
    json_t *result = NULL;

    if (!can_ask(collection, layer)) {
        json_decref(arguments);
        return NULL;
    }
    if (nl_link_ask(layer->link, op, arguments, within(collection, seconds), &result, &ignored) < 0)
        return NULL;
    return result;
}

static json_t *run_below(struct collection *collection, json_t *argv, double seconds)
{
    const struct nl_layer *layer = collection->layer;

    if (layer->index == nl_stack_outermost(layer->stack)) {
        json_decref(argv);
        return NULL;
    }
    return ask(collection, &layer[-1], "exec",
               json_pack("{s:o, s:f}", "argv", argv, "timeout_s", seconds), seconds + 1);
}

/* "T (stopped)" is a QEMU that somebody stopped: no guest gets on in it. */
static void look_at_process(struct collection *collection)
{
    cleanup_free char *pid_file = NULL;
    cleanup_free char *path = NULL;
    cleanup_json json_t *pid = NULL;
    cleanup_json json_t *status = NULL;
    const char *text;
    long number;

    if (asprintf(&pid_file, "/run/libvirt/qemu/nl-%s.pid", collection->layer->spec->name) < 0)
        pid_file = NULL;
    pid = run_below(collection, json_pack("[s, s]", "cat", pid_file ? pid_file : ""), CALL_S);
    number = strtol(nl_dig_string(pid, "stdout", ""), NULL, 10);
    if (number <= 0 || asprintf(&path, "/proc/%ld/status", number) < 0)
        return;
    status = run_below(collection, json_pack("[s, s]", "cat", path), CALL_S);
    text = nl_dig_string(status, "stdout", "");
    write_section(collection, "QEMU's process in the layer below", text);
    text = strstr(text, "State:\t");
    if (!text)
        return;
    text += strlen("State:\t");
    set(collection, "process", json_sprintf("%.*s", (int)strcspn(text, "\n"), text));
}

/* The words on its stack. */
static void read_stack(struct collection *collection, char **text)
{
    const struct nl_look *last = &collection->sight->looks[collection->sight->n_looks - 1];
    struct nl_vcpu vcpus[NL_VCPUS_MAX];
    cleanup_error struct nl_error *ignored = NULL;
    char command[64];

    if (nl_look_vcpus(last->registers, vcpus) == 0 || !has_time(collection))
        return;
    snprintf(command, sizeof(command), "x /%dgx 0x%llx", STACK_WORDS, vcpus[0].rsp);
    if (nl_virt_monitor(collection->layer->domain, command, within(collection, CALL_S), text,
                        &ignored) == 0)
        write_section(collection, "stack of the first vCPU, from RSP on", *text);
}

/* Its kernel is the image's, and is where it was linked for: PVH entry randomizes nothing. */
static bool has_known_addresses(const struct nl_layer *layer)
{
    return layer->image && layer->image->vmlinux && layer->image->kernel_release &&
           !layer->spec->kernel.image && !layer->spec->kernel.deb;
}

/* A layer further out that answers and runs the same kernel: addresses of one are those of the
   other. */
static const struct nl_layer *find_twin(const struct nl_layer *layer)
{
    const struct nl_layer *layers = layer->stack->layers;

    for (size_t i = nl_stack_outermost(layer->stack); i < layer->index; i++)
        if (has_known_addresses(layer) && has_known_addresses(&layers[i]) && layers[i].greeted &&
            strcmp(layers[i].image->kernel_release, layer->image->kernel_release) == 0)
            return &layers[i];
    return NULL;
}

/* Name the functions at which it was seen, and those on its stack. */
static void name_functions(struct collection *collection, const char *stack)
{
    cleanup_json json_t *addresses =
        nl_hang_addresses(collection->sight->looks, collection->sight->n_looks, stack);
    const struct nl_layer *twin = find_twin(collection->layer);
    cleanup_json json_t *reply = NULL;
    json_t *backtrace;

    if (!twin || json_array_size(addresses) == 0)
        return;
    reply = ask(collection, twin, "symbols", json_pack("{s:O}", "addresses", addresses), SYMBOLS_S);
    backtrace = nl_hang_name(addresses, json_object_get(reply, "symbols"),
                             json_object_get(collection->evidence, "looks"), stack);
    if (json_array_size(backtrace) > 0)
        set(collection, "stack", backtrace);
    else
        json_decref(backtrace);
}

static void write_reasons(struct collection *collection, const json_t *reasons)
{
    const char *reason;
    json_t *times;

    if (!collection->file)
        return;
    fputs("== VM exits of one second by reason\n", collection->file);
    json_object_foreach((json_t *)reasons, reason, times)
    {
        fprintf(collection->file, "%8s %s\n", json_string_value(times), reason);
    }
}

/* Neither an interrupt nor the end of the time for evidence keeps from it: a layer that goes on
   counting pays for it at every exit of its guests. Also of one that did not say that it had begun,
   for it may have. NULL: there is no answer. New reference. */
static json_t *end_counting(const struct nl_layer *below, const char *uuid)
{
    cleanup_error struct nl_error *ignored = NULL;
    json_t *reply = NULL;

    nl_interrupt_shield(true);
    nl_link_ask(below->link, "exit-reasons", json_pack("{s:b, s:s}", "count", 0, "uuid", uuid),
                nl_deadline_in(CALL_S), &reply, &ignored);
    nl_interrupt_shield(false);
    return reply;
}

/* Why it exits, for a second; not if this machine is below it: that would be changed by it. */
static void count_reasons(struct collection *collection)
{
    const struct nl_layer *layer = collection->layer;
    const struct nl_layer *below = layer - 1;
    cleanup_json json_t *begun = NULL;
    cleanup_json json_t *reply = NULL;
    char uuid[VIR_UUID_STRING_BUFLEN];
    json_t *reasons;

    if (layer->index == nl_stack_outermost(layer->stack) || !can_ask(collection, below) ||
        virDomainGetUUIDString(layer->domain, uuid) < 0)
        return;
    begun = ask(collection, below, "exit-reasons", json_pack("{s:b}", "count", 1), CALL_S);
    if (begun && nl_sleep(1, NULL) < 0)
        json_decref(nl_steal(&begun));
    reply = end_counting(below, uuid);
    reasons = begun ? nl_hang_reasons(reply) : NULL;
    if (json_object_size(reasons) > 0) {
        write_reasons(collection, reasons);
        set(collection, "exit_reasons", reasons);
    } else {
        json_decref(reasons);
    }
}

/* Guests of the lab are booted with unknown_nmi_panic: an NMI makes the kernel print where it is.
   It ends it too, so this comes last. */
static void backtrace_by_nmi(struct collection *collection)
{
    struct nl_layer *layer = collection->layer;
    cleanup_error struct nl_error *ignored = NULL;
    nl_deadline deadline = within(collection, NMI_S);
    unsigned long long before;
    json_t *lines;

    if (!layer->console || !has_time(collection))
        return;
    before = nl_console_bytes(layer->console);
    if (nl_virt_inject_nmi(layer->domain, within(collection, CALL_S), &ignored) < 0)
        return;
    while (nl_deadline_left_ms(deadline) > 0 && nl_sleep(0.2, NULL) == 0)
        if (nl_console_bytes(layer->console) > before &&
            nl_now_ms() - nl_console_last_ms(layer->console) > NMI_SILENCE_MS)
            break;
    if (nl_console_bytes(layer->console) == before)
        return;
    /* All that is kept: with what is left on a deep stack it is a hundred lines and more, and the
       first of them says that there was an NMI. */
    lines = nl_hang_since_nmi(nl_console_tail(layer->console, NL_CONSOLE_LINES));
    set(collection, "backtrace", lines);
}

static void open_file(struct collection *collection)
{
    struct nl_layer *layer = collection->layer;
    cleanup_free char *name = NULL;
    cleanup_free char *path = NULL;

    if (!layer->stack->out || asprintf(&name, "%s-hang.txt", layer->spec->name) < 0)
        return;
    if (asprintf(&path, "%s/%s", layer->stack->out, name) < 0)
        return;
    collection->file = fopen(path, "we");
    if (!collection->file)
        return;
    nl_document_layer_file(layer->stack->document, layer->index, "hang", name);
    fprintf(collection->file, "%s is %s: %s\n\n", layer->spec->name, collection->sight->kind,
            collection->sight->what ? collection->sight->what : "");
}

static void write_looks(struct collection *collection)
{
    const struct nl_sight *sight = collection->sight;
    char title[64];

    for (size_t i = 0; i < sight->n_looks; i++) {
        snprintf(title, sizeof(title), "registers, look %zu", i + 1);
        if (i == 0 || i + 1 == sight->n_looks)
            write_section(collection, title, sight->looks[i].registers);
    }
}

json_t *nl_hang_evidence(const struct nl_sight *sight)
{
    struct collection collection = {
        .sight = sight,
        .layer = sight->layer,
        .end = nl_stack_deadline(sight->layer->stack, TOTAL_S),
        .evidence = json_pack("{s:o}", "looks", nl_hang_looks(sight->looks, sight->n_looks)),
    };
    cleanup_free char *stack = NULL;
    cleanup_json json_t *lines = NULL;

    if (strcmp(sight->kind, "hung") != 0 || !sight->layer->domain)
        return collection.evidence;
    open_file(&collection);
    write_looks(&collection);
    look_at_process(&collection);
    read_stack(&collection, &stack);
    name_functions(&collection, stack);
    count_reasons(&collection);
    if (sight->looks[sight->n_looks - 1].registers)
        backtrace_by_nmi(&collection);
    lines = nl_hang_summary(collection.evidence);
    if (collection.file) {
        size_t i;
        json_t *line;

        fprintf(collection.file, "== in short\n");
        json_array_foreach(lines, i, line)
            fprintf(collection.file, "%s\n", json_string_value(line));
        fclose(collection.file);
    }
    return collection.evidence;
}
