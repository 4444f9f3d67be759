/*
 * stack.c - a stack as a whole: see stack.h.
 */
#include "stack.h"
#include "disks.h"
#include "fault-inject.h"
#include "layer.h"
#include "ports.h"
#include "progress.h"
#include "rundir-guests.h"
#include "store.h"
#include "virt.h"
#include "warm.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

size_t nl_stack_outermost(const struct nl_stack *stack)
{
    return stack->local ? 1 : 0;
}

struct nl_layer *nl_stack_layer(struct nl_stack *stack, const char *name)
{
    for (size_t i = 0; i < stack->n_layers; i++)
        if (!strcmp(stack->layers[i].spec->name, name))
            return &stack->layers[i];
    return NULL;
}

nl_deadline nl_stack_deadline(const struct nl_stack *stack, double seconds)
{
    nl_deadline deadline = nl_deadline_in(seconds);

    return deadline < stack->deadline ? deadline : stack->deadline;
}

bool nl_stack_explain_late(const struct nl_stack *stack, struct nl_error **err)
{
    cleanup_free char *until_then = NULL;

    if (nl_deadline_left_ms(stack->deadline) > 0 || nl_error_status(*err) == NL_EXIT_INTERRUPTED)
        return false;
    until_then = strdup(nl_error_message(*err));
    nl_fail(err, NL_EXIT_LAB, "the run's own limit of %g s was over: %s",
            stack->scenario->timeouts.total_s, until_then ? until_then : "?");
    nl_hint(err, "give the run longer with --timeout SECONDS, or timeouts.total_s in the scenario");
    return true;
}

int nl_stack_fail(struct nl_stack *stack, const char *layer, const char *phase, const char *kind,
                  json_t *console_tail, struct nl_error **err)
{
    nl_document_fail(stack->document, layer, phase, kind, *err, console_tail);
    return layer ? nl_wrap(err, "%s, phase %s", layer, phase) : nl_wrap(err, "phase %s", phase);
}

static void init_layer(struct nl_stack *stack, size_t index)
{
    struct nl_layer *layer = &stack->layers[index];

    layer->stack = stack;
    layer->spec = &stack->scenario->layers[index];
    layer->index = index;
    layer->local = stack->local && index == 0;
    layer->hypervisor = strcmp(layer->spec->image, "leaf") != 0;
    layer->state = NL_LAYER_NOT_REACHED;
    pthread_mutex_init(&layer->lock, NULL);
}

int nl_stack_new(struct nl_scenario *scenario, struct nl_store *store, struct nl_rundir *rundir,
                 struct nl_document *document, const char *out, bool local, struct nl_stack **stack,
                 struct nl_error **err)
{
    cleanup_stack struct nl_stack *made = calloc(1, sizeof(*made));

    if (!made)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    made->scenario = scenario;
    made->store = store;
    made->rundir = rundir;
    made->document = document;
    made->local = local;
    made->kvm = local;
    made->deadline = nl_deadline_in(scenario->timeouts.total_s);
    made->out = strdup(out);
    made->layers = calloc(scenario->n_layers, sizeof(*made->layers));
    if (!made->out || !made->layers)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    made->n_layers = scenario->n_layers;
    for (size_t i = 0; i < made->n_layers; i++)
        init_layer(made, i);
    *stack = nl_steal(&made);
    return 0;
}

static int ensure_images(struct nl_stack *stack, struct nl_error **err)
{
    for (size_t i = nl_stack_outermost(stack); i < stack->n_layers; i++) {
        struct nl_layer *layer = &stack->layers[i];
        struct nl_image_request request = {
            .recipe = layer->spec->image,
            .kernel = &layer->spec->kernel,
            .debs = layer->spec->debs,
            .deadline = stack->deadline,
        };

        if (nl_image_ensure(stack->store, &request, false, &layer->image, NULL, err) < 0)
            return nl_wrap(err, "for %s", layer->spec->name);
        nl_document_layer_set(stack->document, i, "image",
                              json_pack("{s:s, s:s, s:s?}", "recipe", layer->image->recipe,
                                        "digest", layer->image->digest, "kernel_release",
                                        layer->image->kernel_release));
    }
    return 0;
}

/* Consoles are appended to as they come; a name that is taken belongs to an older run. */
static int prepare_console(struct nl_layer *layer, struct nl_error **err)
{
    cleanup_free char *name = NULL;
    int fd;

    if (asprintf(&name, "%s-console.log", layer->spec->name) < 0 ||
        asprintf(&layer->console_file, "%s/%s", layer->stack->out, name) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    fd = open(layer->console_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write %s", layer->console_file);
    close(fd);
    nl_document_layer_file(layer->stack->document, layer->index, "console", name);
    return 0;
}

/* One port on the runner's loopback for every sshd of the stack. */
static int reserve_ports(struct nl_stack *stack, struct nl_error **err)
{
    cleanup_free int *ports = calloc(stack->n_layers + 1, sizeof(*ports));

    stack->port_holders = calloc(stack->n_layers + 1, sizeof(*stack->port_holders));
    if (!ports || !stack->port_holders)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (nl_ports_reserve(ports, stack->n_layers, stack->port_holders, err) < 0) {
        free(stack->port_holders);
        stack->port_holders = NULL;
        return -1;
    }
    for (size_t i = nl_stack_outermost(stack); i < stack->n_layers; i++)
        if (stack->layers[i].hypervisor)
            stack->layers[i].ssh_port = ports[i];
    return 0;
}

static void release_ports(struct nl_stack *stack)
{
    for (size_t i = 0; stack->port_holders && i < stack->n_layers; i++)
        if (stack->port_holders[i] >= 0)
            close(stack->port_holders[i]);
    free(stack->port_holders);
    stack->port_holders = NULL;
}

static int write_known_hosts(struct nl_stack *stack, struct nl_error **err)
{
    cleanup_fclose FILE *file = NULL;

    stack->known_hosts = nl_rundir_file(stack->rundir, "known_hosts");
    file = fopen(stack->known_hosts, "we");
    if (!file)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write %s", stack->known_hosts);
    for (size_t i = 0; i < stack->n_layers; i++)
        if (stack->layers[i].ssh_port)
            fprintf(file, "[127.0.0.1]:%d %s\n", stack->layers[i].ssh_port,
                    nl_store_host_key(stack->store));
    return 0;
}

static int start_libvirt(struct nl_stack *stack, struct nl_error **err)
{
    cleanup_free char *root = nl_rundir_file(stack->rundir, NL_RUNDIR_LIBVIRT);
    cleanup_free char *log = nl_rundir_file(stack->rundir, "libvirt.log");

    if (nl_virt_start(log, err) < 0 || nl_warm_stage_host(stack, root, err) < 0)
        return -1;
    nl_document_host(stack->document, "libvirt", nl_virt_library_version());
    if (nl_virt_open_embed(root, &stack->base, err) < 0)
        return -1;
    nl_document_host(stack->document, "qemu", nl_virt_qemu_version(stack->base));
    return 0;
}

static int prepare_meter(struct nl_stack *stack, struct nl_error **err)
{
    cleanup_free char *file = nl_rundir_file(stack->rundir, "meter");
    cleanup_free char *profile = nl_rundir_file(stack->rundir, "profile");
    cleanup_free char *plugin = NULL;

    if (!stack->scenario->meter.benchmarks)
        return 0;
    if (nl_store_find_program("nestlab-meter.so", &plugin, err) < 0)
        return -1;
    return nl_meter_new(plugin, file, stack->scenario->meter.profile ? profile : NULL,
                        &stack->meter, err);
}

static int prepare(struct nl_stack *stack, struct nl_error **err)
{
    nl_progress_begin("preparing disks and ports");
    if (nl_disks_check_room(stack, err) < 0 || nl_disks_make(stack, err) < 0 ||
        start_libvirt(stack, err) < 0)
        return -1;
    for (size_t i = nl_stack_outermost(stack); i < stack->n_layers; i++)
        if (prepare_console(&stack->layers[i], err) < 0)
            return -1;
    if (reserve_ports(stack, err) < 0 || write_known_hosts(stack, err) < 0 ||
        prepare_meter(stack, err) < 0)
        return -1;
    nl_progress_end("done");
    return 0;
}

int nl_stack_up(struct nl_stack *stack, struct nl_error **err)
{
    static const struct {
        const char *phase;
        int (*run)(struct nl_stack *stack, struct nl_error **err);
    } preparations[] = {{"images", ensure_images}, {"prepare", prepare}};

    for (size_t i = 0; i < 2; i++) {
        int phase = nl_document_phase_begin(stack->document, NULL, preparations[i].phase);
        int rc = preparations[i].run(stack, err);

        nl_document_phase_end(stack->document, phase);
        if (rc < 0) {
            bool late = nl_stack_explain_late(stack, err);

            return nl_stack_fail(stack, NULL, preparations[i].phase, late ? "timeout" : "error",
                                 NULL, err);
        }
    }
    for (size_t i = 0; i < stack->n_layers; i++) {
        stack->layers[i].state = NL_LAYER_STARTING;
        if (nl_stack_save_state(stack, "starting", stack->layers[i].spec->name, err) < 0 ||
            nl_layer_up(&stack->layers[i], err) < 0 ||
            nl_fault_inject(stack, NL_FAULT_UP, &stack->layers[i], err) < 0)
            return -1;
    }
    return 0;
}

static json_t *layer_state(const struct nl_layer *layer)
{
    return json_pack("{s:s, s:s, s:i, s:s?, s:s, s:b, s:b}", "name", layer->spec->name, "state",
                     layer->state, "ssh_port", layer->ssh_port, "console_file", layer->console_file,
                     "image", layer->spec->image, "hypervisor", layer->hypervisor, "local",
                     layer->local);
}

int nl_stack_save_state(struct nl_stack *stack, const char *status, const char *phase,
                        struct nl_error **err)
{
    const json_t *run = json_object_get(nl_document_json(stack->document), "run");
    json_t *layers = json_array();

    for (size_t i = 0; i < stack->n_layers; i++)
        json_array_append_new(layers, layer_state(&stack->layers[i]));
    return nl_rundir_save_state(
        stack->rundir,
        json_pack("{s:s, s:s, s:s?, s:i, s:O?, s:s, s:s, s:b, s:s, s:o, s:s, s:s}", "scenario",
                  stack->scenario->name, "status", status, "phase", phase, "pid", (int)getpid(),
                  "started", json_object_get(run, "started"), "out", stack->out, "store",
                  nl_store_path(stack->store), "kept", !strcmp(status, "kept"), "l0",
                  stack->local ? "local" : "emulated", "layers", layers, "key",
                  nl_store_client_key(stack->store), "host_key", nl_store_host_key(stack->store)),
        err);
}

/* With its QEMU gone every connection and stream into the stack breaks, so that closing them takes
   no time; as long as it lives each may take seconds. */
static void end_outermost(struct nl_stack *stack)
{
    cleanup_error struct nl_error *err = NULL;
    size_t outermost = nl_stack_outermost(stack);

    if (outermost >= stack->n_layers || nl_layer_end_domain(&stack->layers[outermost], &err) == 0)
        return;
    nl_error_free(&err);
    if (nl_rundir_guests(nl_rundir_path(stack->rundir), true, &err) < 0)
        nl_progress_note("%s", nl_error_message(err));
}

void nl_stack_down(struct nl_stack *stack)
{
    nl_interrupt_shield(true);
    end_outermost(stack);
    for (size_t i = stack->n_layers; i-- > 0;)
        nl_layer_close(&stack->layers[i]);
    nl_virt_close(&stack->base);
    nl_interrupt_shield(false);
}

static void free_layer(struct nl_layer *layer)
{
    nl_image_free(&layer->image);
    free(layer->overlay);
    free(layer->console_file);
    free(layer->trouble);
    free(layer->busy);
    json_decref(layer->disks);
    json_decref(layer->facts);
    pthread_mutex_destroy(&layer->lock);
}

void nl_stack_free(struct nl_stack **stack)
{
    if (!*stack)
        return;
    for (size_t i = 0; i < (*stack)->n_layers; i++)
        free_layer(&(*stack)->layers[i]);
    release_ports(*stack);
    nl_meter_free(&(*stack)->meter);
    free((*stack)->layers);
    free((*stack)->out);
    free((*stack)->known_hosts);
    free((*stack)->boot_disk);
    free(*stack);
    *stack = NULL;
}
