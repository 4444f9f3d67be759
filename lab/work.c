/*
 * work.c - benchmarks, commands, evidence: see work.h.
 */
#include "work.h"
#include "dig.h"
#include "exits.h"
#include "layer-domain.h"
#include "layer.h"
#include "progress.h"
#include "save.h"
#include "warm.h"
#include "watch.h"
#include "work-clocks.h"
#include "work-failed.h"
#include "work-reasons.h"
#include "work-tally.h"
#include "work-wait.h"

#include <string.h>
#include <sys/stat.h>

/* On top of what a command or a benchmark may take, for the agent to answer. */
#define REPLY_S 15.0
/* Debian's; libvirt in a layer takes the same unless the scenario names another. */
#define EMULATOR "/usr/bin/qemu-system-x86_64"
/* After a failure, for an agent that may be gone. */
#define LAST_PING_S 5.0
#define COMMAND_FOLDER "/tmp/nestlab-command"
#define COMMAND_OUTPUT_MAX (1 << 20)
#define QEMU_LOG_TAIL "262144"

static bool is_in_state(const struct nl_layer *layer, const char *state)
{
    return strcmp(layer->state, state) == 0;
}

static bool is_at(char *const *layers, const struct nl_layer *layer)
{
    if (!layers)
        return true;
    for (; *layers; layers++)
        if (!strcmp(*layers, layer->spec->name))
            return true;
    return false;
}

/* Was it the agent's own word that something does not go, and not silence? */
static bool has_answered(struct nl_layer *layer, nl_deadline deadline)
{
    return nl_link_alive(layer->link) && !layer->given_up && nl_deadline_left_ms(deadline) > 0 &&
           !nl_interrupted();
}

static int names_of(struct nl_stack *stack, char *const *listed, json_t **names,
                    struct nl_error **err)
{
    cleanup_json json_t *reply = NULL;
    json_t *item;
    size_t i;

    *names = json_array();
    if (strcmp(listed[0], "all") != 0) {
        for (; *listed; listed++)
            json_array_append_new(*names, json_string(*listed));
        return 0;
    }
    if (nl_layer_ask(&stack->layers[0], "benches", NULL, &reply, err) < 0)
        return -1;
    json_array_foreach(json_object_get(reply, "benchmarks"), i, item)
    {
        json_t *name = json_object_get(item, "name");

        if (json_is_string(name))
            json_array_append(*names, name);
    }
    if (json_array_size(*names) == 0)
        return nl_fail(err, NL_EXIT_LAB, "the agent of %s knows no benchmarks",
                       stack->layers[0].spec->name);
    return 0;
}

int nl_work_rows(struct nl_stack *stack, char *const *listed, char *const *layers, nl_work_row *row,
                 void *data, struct nl_error **err)
{
    cleanup_json json_t *names = NULL;
    size_t rows = 0, number = 0, i;
    json_t *name;

    if (names_of(stack, listed, &names, err) < 0)
        return -1;
    for (size_t l = 0; l < stack->n_layers; l++)
        rows += is_at(layers, &stack->layers[l]) ? json_array_size(names) : 0;
    json_array_foreach(names, i, name)
    {
        for (size_t l = 0; l < stack->n_layers; l++) {
            if (!is_at(layers, &stack->layers[l]))
                continue;
            nl_progress_item(++number, rows);
            if (row(&stack->layers[l], json_string_value(name), data, err) < 0)
                return -1;
        }
    }
    return 0;
}

/* What a benchmark that boots a guest needs to know of LAYER: the innermost layer's files, so that
   at every layer the same kernel boots. Null where it boots none. New reference. */
static int guest_to_boot(const struct nl_layer *layer, json_t **guest, struct nl_error **err)
{
    cleanup_boot_files struct nl_boot_files files = {0};
    const struct nl_stack *stack = layer->stack;
    const char *emulator;

    *guest = json_null();
    if (layer->index + 1 >= stack->n_layers)
        return 0;
    if (nl_layer_boot_files(&stack->layers[stack->n_layers - 1], !layer->local, &files, err) < 0)
        return -1;
    emulator = layer[1].spec->emulator;
    *guest = json_pack("{s:s, s:s?, s:s, s:s}", "emulator", emulator ? emulator : EMULATOR,
                       "firmware", files.firmware, "kernel", files.kernel, "initrd", files.initrd);
    return *guest ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
}

/* An agent that does not know the key would measure something else than was asked for. */
static int check_extra_exits(const struct nl_layer *layer, json_int_t asked, json_t **result,
                             struct nl_error **err)
{
    json_int_t done = nl_dig_integer(*result, "extra_exits", 0);

    if (done == asked)
        return 0;
    json_decref(*result);
    *result = NULL;
    return nl_fail(err, NL_EXIT_LAB, "the agent of %s says that it adds %lld exits, not %lld",
                   layer->spec->name, (long long)done, (long long)asked);
}

int nl_work_bench(struct nl_layer *layer, const char *phase, const char *name, json_t *arguments,
                  json_t **result, bool *refused, struct nl_error **err)
{
    double seconds = layer->stack->scenario->timeouts.benchmark_s;
    nl_deadline deadline = nl_stack_deadline(layer->stack, seconds + REPLY_S);
    json_int_t extra = nl_dig_integer(arguments, "extra_exits", 0);
    bool marked = nl_dig_true(arguments, "metered");
    struct nl_work_wait wait = {.layer = layer, .limit_s = seconds};
    cleanup_free char *what = NULL;
    json_t *guest;

    if (asprintf(&what, "%s at %s%s", name, layer->spec->name,
                 marked && strcmp(phase, "meter") != 0 ? ", exits by reason" : "") < 0)
        what = NULL;
    if (marked && layer->stack->meter)
        wait.operations = nl_dig_integer(arguments, "samples", 0);
    if (guest_to_boot(layer, &guest, err) < 0) {
        json_decref(arguments);
        return -1;
    }
    json_object_set_new(arguments, "name", json_string(name));
    json_object_set_new(arguments, "deadline_s", json_real(seconds));
    json_object_set_new(arguments, "guest", guest);
    wait.what = what ? what : name;
    if (nl_work_ask(&wait, "bench", arguments, deadline, result, err) == 0)
        return check_extra_exits(layer, extra, result, err);
    nl_wrap(err, "benchmark %s", name);
    if (!has_answered(layer, deadline))
        return nl_watch_blame(layer, phase, "timeout", err);
    if (!refused)
        return nl_stack_fail(layer->stack, layer->spec->name, phase, "refused", NULL, err);
    *refused = true;
    return -1;
}

/* The counters of the domains around and of LAYER, by index; null where there are none. */
static json_t *count_exits(struct nl_layer *layer)
{
    struct nl_layer *layers = layer->stack->layers;
    json_t *counted = json_array();

    for (size_t i = 0; i <= layer->index; i++) {
        json_t *counters = nl_layer_counters(&layers[i]);

        json_array_append_new(counted, counters ? counters : json_null());
    }
    return counted;
}

/* What becomes of all of them. */
struct benchmarks {
    struct nl_work_tally tally;
    struct nl_failed_benchmarks failed;
};

/* The layer's agent refused, at BEGUN, what RESULT lacks; as of nl_failed_benchmark(). */
static int go_on(struct nl_layer *layer, const char *name, int64_t begun, json_t *result,
                 struct benchmarks *all, struct nl_error **err)
{
    nl_failed_benchmark(&all->failed, layer, name, (double)(nl_now_ms() - begun) / 1000, result,
                        err);
    nl_work_tally_failed(&all->tally);
    return 0;
}

static int run_benchmark(struct nl_layer *layer, const char *name, void *data,
                         struct nl_error **err)
{
    const struct nl_benchmark_spec *spec = &layer->stack->scenario->benchmarks;
    cleanup_json json_t *before = count_exits(layer);
    cleanup_json json_t *after = NULL;
    int64_t begun = nl_now_ms();
    json_t *result = NULL;
    struct benchmarks *all = data;
    bool refused = false;

    if (nl_work_bench(layer, "benchmarks", name,
                      json_pack("{s:i, s:f, s:f, s:i}", "samples", spec->samples, "precision",
                                spec->precision, "budget_s", spec->budget_s, "extra_exits",
                                spec->extra_exits),
                      &result, &refused, err) < 0)
        return refused ? go_on(layer, name, begun, NULL, all, err) : -1;
    after = count_exits(layer);
    json_object_set_new(result, "exits", nl_exits_between(before, after));
    begun = nl_now_ms();
    if (spec->exit_reasons && nl_work_reasons(layer, name, result, &refused, err) < 0) {
        if (refused)
            return go_on(layer, name, begun, result, all, err);
        json_decref(result);
        return -1;
    }
    nl_work_tally_add(&all->tally, result);
    nl_document_layer_benchmark(layer->stack->document, layer->index, result);
    return 0;
}

static void free_benchmarks(struct benchmarks *all)
{
    nl_failed_benchmarks_clear(&all->failed);
}

int nl_work_benchmarks(struct nl_stack *stack, struct nl_error **err)
{
    const struct nl_benchmark_spec *spec = &stack->scenario->benchmarks;
    NL_CLEANUP(free_benchmarks) struct benchmarks all = {0};
    cleanup_free struct nl_clock_look *clocks = NULL;
    cleanup_free char *text = NULL;

    if (!spec->names)
        return 0;
    nl_progress_begin("benchmarks");
    clocks = nl_work_clocks_new(stack);
    if (!clocks)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    nl_work_clocks_look(stack, clocks);
    if (nl_work_rows(stack, spec->names, spec->layers, run_benchmark, &all, err) < 0)
        return -1;
    nl_work_clocks_end(stack, clocks);
    nl_failed_benchmarks_tell(stack, &all.failed);
    text = nl_work_tally_text(&all.tally);
    nl_progress_end("%s", text);
    return 0;
}

static json_t *argv_json(char *const *argv)
{
    json_t *array = json_array();

    for (; *argv; argv++)
        json_array_append_new(array, nl_document_text(*argv));
    return array;
}

/* Each command gets a folder of its own, with its files in it. */
static int place_files(struct nl_layer *layer, const struct nl_command_spec *command,
                       const char *folder, nl_deadline deadline, struct nl_error **err)
{
    if (nl_link_ask(layer->link, "exec", json_pack("{s:[s,s,s]}", "argv", "mkdir", "-p", folder),
                    deadline, NULL, err) < 0)
        return -1;
    for (char **file = command->files; file && *file; file++) {
        const char *slash = strrchr(*file, '/');
        cleanup_free char *remote = NULL;
        struct stat st;

        if (stat(*file, &st) < 0 ||
            asprintf(&remote, "%s/%s", folder, slash ? slash + 1 : *file) < 0)
            return nl_fail(err, NL_EXIT_REQUEST, "cannot read %s", *file);
        if (nl_link_put_file(layer->link, *file, remote, (int)(st.st_mode & 0777), deadline, err) <
            0)
            return -1;
    }
    return 0;
}

static int run_command(struct nl_stack *stack, size_t index, struct nl_error **err)
{
    const struct nl_command_spec *command = &stack->scenario->commands[index];
    struct nl_layer *layer = nl_stack_layer(stack, command->layer);
    nl_deadline deadline = nl_stack_deadline(stack, command->timeout_s + REPLY_S);
    cleanup_free char *folder = NULL, *what = NULL;
    cleanup_json json_t *reply = NULL;
    int rc;

    if (!layer || asprintf(&folder, COMMAND_FOLDER "-%zu", index) < 0)
        return nl_fail(err, NL_EXIT_REQUEST, "command %s: no layer %s", command->name,
                       command->layer);
    if (asprintf(&what, "%s at %s", command->name, command->layer) < 0)
        what = NULL;
    struct nl_work_wait wait = {
        .layer = layer, .what = what ? what : command->name, .limit_s = command->timeout_s};
    rc = place_files(layer, command, folder, deadline, err);
    if (rc == 0)
        rc = nl_work_ask(&wait, "exec",
                         json_pack("{s:o, s:s, s:f, s:i}", "argv", argv_json(command->argv),
                                   "directory", folder, "timeout_s", command->timeout_s,
                                   "output_limit", COMMAND_OUTPUT_MAX),
                         deadline, &reply, err);
    nl_document_command(stack->document, command->name, command->layer, command->argv,
                        command->skip_codes, command->n_skip_codes, reply, *err);
    if (rc == 0)
        return 0;
    nl_wrap(err, "command %s", command->name);
    /* The agent said no (no such program): a result. Silence: the layer is lost. */
    if (has_answered(layer, deadline)) {
        nl_error_free(err);
        return 0;
    }
    return nl_watch_blame(layer, "commands", "timeout", err);
}

int nl_work_commands(struct nl_stack *stack, struct nl_error **err)
{
    if (stack->scenario->n_commands == 0)
        return 0;
    nl_progress_begin("commands");
    for (size_t i = 0; i < stack->scenario->n_commands; i++) {
        nl_progress_item(i + 1, stack->scenario->n_commands);
        if (run_command(stack, i, err) < 0)
            return -1;
    }
    nl_progress_end("%zu run", stack->scenario->n_commands);
    return 0;
}

static bool has_failed(const struct nl_stack *stack)
{
    return json_is_object(json_object_get(nl_document_json(stack->document), "failure"));
}

/* Is it of use to ask LAYER for anything? One that is lost only now, at the end, is blamed; what
   failed before has been blamed already. */
static bool still_answers(struct nl_layer *layer, struct nl_error **err)
{
    if (!layer->greeted || has_failed(layer->stack))
        return nl_watch_answers(layer, LAST_PING_S);
    return nl_watch_check(layer, "collect", err) == 0;
}

/* It was there a moment ago. */
static void blame_lost(struct nl_layer *layer, struct nl_error **err)
{
    if (!nl_link_alive(layer->link) && !has_failed(layer->stack))
        nl_watch_blame(layer, "collect", "error", err);
    else
        nl_wrap(err, "%s", layer->spec->name);
}

/* What has changed since LAYER came up may be why something failed, such as a disk that has become
   full. Best effort: it says nothing more about the failure if it cannot be had. */
static void take_facts_again(struct nl_layer *layer)
{
    cleanup_error struct nl_error *ignored = NULL;
    json_t *facts = NULL;

    if (has_failed(layer->stack) &&
        nl_layer_ask(layer, "facts", json_pack("{s:b}", "kvm_guest", 0), &facts, &ignored) == 0)
        nl_document_layer_set(layer->stack->document, layer->index, "facts_after", facts);
}

/* What LAYER's QEMU said of the layer inside: its last words, where KVM could not run that. Best
   effort, too; the outermost guest's is on this machine (nl_run_keep_logs()). */
static void take_qemu_log(struct nl_layer *layer)
{
    const struct nl_layer *inner = &layer[1];
    cleanup_error struct nl_error *ignored = NULL;
    cleanup_json json_t *reply = NULL;
    cleanup_free char *remote = NULL, *name = NULL, *path = NULL;
    const json_t *text;

    if (layer->local || layer->index + 1 >= layer->stack->n_layers ||
        is_in_state(inner, NL_LAYER_NOT_REACHED) || !has_failed(layer->stack) ||
        asprintf(&remote, "/var/log/libvirt/qemu/nl-%s.log", inner->spec->name) < 0 ||
        asprintf(&name, "%s-qemu.log", inner->spec->name) < 0 ||
        asprintf(&path, "%s/%s", layer->stack->out, name) < 0 ||
        nl_layer_ask(layer, "exec",
                     json_pack("{s:[s, s, s, s], s:f, s:i}", "argv", "tail", "-c", QEMU_LOG_TAIL,
                               remote, "timeout_s", REPLY_S, "output_limit", COMMAND_OUTPUT_MAX),
                     &reply, &ignored) < 0)
        return;
    text = json_object_get(reply, "stdout");
    if (json_string_length(text) > 0 &&
        nl_save(path, json_string_value(text), json_string_length(text), &ignored) == 0)
        nl_document_layer_file(layer->stack->document, inner->index, "qemu", name);
}

int nl_work_collect(struct nl_stack *stack, struct nl_error **err)
{
    cleanup_free char *root = nl_rundir_file(stack->rundir, NL_RUNDIR_LIBVIRT);
    struct nl_error *first = NULL;

    nl_progress_begin("collecting logs and counters");
    nl_warm_keep_host(stack, root);
    for (size_t i = stack->n_layers; i-- > 0;) {
        cleanup_error struct nl_error *one = NULL;
        struct nl_layer *layer = &stack->layers[i];

        if (!layer->link || is_in_state(layer, NL_LAYER_NOT_REACHED))
            continue;
        nl_progress_update("%s", layer->spec->name);
        nl_layer_count_exits(layer, "end");
        if (!still_answers(layer, &one) || nl_layer_read_log(layer, &one) < 0) {
            if (!one)
                continue;
            blame_lost(layer, &one);
            if (!first)
                first = nl_steal(&one);
        } else {
            take_facts_again(layer);
            take_qemu_log(layer);
        }
        if (i + 1 < stack->n_layers && is_in_state(&stack->layers[i + 1], NL_LAYER_UP))
            nl_warm_keep(layer);
    }
    nl_progress_end("done");
    if (first && err)
        *err = first;
    return first ? -1 : 0;
}
