/*
 * fault-inject.c - inject the faults of a scenario: see fault-inject.h.
 */
#include "fault-inject.h"
#include "layer.h"
#include "process.h"
#include "progress.h"
#include "rundir-guests.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

/* The first piece of a disk: of a qcow2 file its header, of an ext4 file system its superblock. */
#define FIRST_PIECE 65536

static int corrupt_image(struct nl_layer *layer, struct nl_error **err)
{
    static const char zeros[FIRST_PIECE];
    cleanup_close int fd = open(layer->overlay, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || pwrite(fd, zeros, sizeof(zeros), 0) != (ssize_t)sizeof(zeros))
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write %s", layer->overlay);
    return 0;
}

static int corrupt_root(struct nl_layer *layer, struct nl_error **err)
{
    const char *argv[] = {"qemu-io",      "-f", "qcow2", "-c", "write -q -P 0 0 64k",
                          layer->overlay, NULL};
    struct nl_process process = {.argv = argv};

    return nl_process_run(&process, NULL, err);
}

/* A copy of the first half of *KERNEL in the run folder takes its place. */
static int truncate_one(struct nl_layer *layer, const char *name, char **kernel,
                        struct nl_error **err)
{
    char *path = nl_rundir_file(layer->stack->rundir, "%s-%s", layer->spec->name, name);
    cleanup_close int from = open(*kernel, O_RDONLY | O_CLOEXEC);
    cleanup_close int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    cleanup_free char *whole = *kernel;
    struct stat st;

    *kernel = path;
    if (from < 0 || to < 0 || fstat(from, &st) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot copy %s to %s", whole, path);
    for (off_t left = st.st_size / 2; left > 0;) {
        ssize_t n = sendfile(to, from, NULL, (size_t)left);

        if (n <= 0)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot copy %s to %s", whole, path);
        left -= n;
    }
    return 0;
}

static int truncate_kernel(struct nl_layer *layer, struct nl_error **err)
{
    if (layer->image->vmlinux && truncate_one(layer, "vmlinux", &layer->image->vmlinux, err) < 0)
        return -1;
    return truncate_one(layer, "kernel", &layer->image->kernel, err);
}

/* The QEMU processes that name the run's folder: the outermost guest's, which is a process of ours.
 */
static int kill_outermost(struct nl_layer *layer, struct nl_error **err)
{
    int killed = nl_rundir_kill_guests(nl_rundir_path(layer->stack->rundir), err);

    return killed == 0  ? nl_fail(err, NL_EXIT_LAB, "there is no QEMU to kill")
           : killed < 0 ? -1
                        : 0;
}

/* What the runner does itself; for emulator-killed only where the QEMU is one of this machine. */
static const struct {
    const char *name;
    int (*inject)(struct nl_layer *layer, struct nl_error **err);
} own_faults[] = {
    {"image-corrupt", corrupt_image},
    {"root-corrupt", corrupt_root},
    {"kernel-truncated", truncate_kernel},
    {"emulator-killed", kill_outermost},
};

static int inject_own(const struct nl_fault *fault, struct nl_layer *layer, struct nl_error **err)
{
    for (size_t i = 0; i < sizeof(own_faults) / sizeof(own_faults[0]); i++)
        if (!strcmp(own_faults[i].name, fault->name))
            return own_faults[i].inject(layer, err);
    return nl_fail(err, NL_EXIT_LAB, "the runner does not know how to");
}

/* Whose agent injects it; NULL: the runner does. */
static struct nl_layer *injector(const struct nl_fault *fault, struct nl_layer *layer)
{
    if (fault->by == NL_FAULT_BY_RUNNER)
        return NULL;
    if (fault->by == NL_FAULT_BY_LAYER)
        return layer;
    return layer->index == nl_stack_outermost(layer->stack) ? NULL : layer - 1;
}

static int inject(const struct nl_fault *fault, struct nl_layer *layer, struct nl_error **err)
{
    struct nl_layer *by = injector(fault, layer);

    nl_progress_note("fault %s at %s: %s", fault->name, layer->spec->name, fault->what);
    if (!by)
        return inject_own(fault, layer, err);
    /* The scenario's rules have refused it already. Should they ever not: an agent that is a
       process of this machine refuses, too. */
    return nl_layer_ask(by, "fault", json_pack("{s:s}", "name", fault->name), NULL, err);
}

int nl_fault_inject(struct nl_stack *stack, enum nl_fault_moment moment,
                    const struct nl_layer *layer, struct nl_error **err)
{
    for (size_t i = 0; i < stack->scenario->n_faults; i++) {
        const struct nl_fault_spec *spec = &stack->scenario->faults[i];
        const struct nl_fault *fault = nl_fault_find(spec->fault);
        struct nl_layer *at = nl_stack_layer(stack, spec->layer);
        int phase, rc;

        if (!fault || !at || fault->moment != moment || (layer && layer != injector(fault, at)))
            continue;
        phase = nl_document_phase_begin(stack->document, spec->layer, "fault");
        rc = inject(fault, at, err);
        nl_document_phase_end(stack->document, phase);
        if (rc < 0) {
            nl_wrap(err, "injecting the fault %s at %s", fault->name, spec->layer);
            nl_document_fail(stack->document, spec->layer, "fault", "error", *err, NULL);
            return -1;
        }
    }
    return 0;
}

char *nl_fault_boot_names(const struct nl_layer *layer)
{
    const struct nl_scenario *scenario = layer->stack->scenario;
    char *names = NULL;

    for (size_t i = 0; i < scenario->n_faults; i++) {
        const struct nl_fault_spec *spec = &scenario->faults[i];
        const struct nl_fault *fault = nl_fault_find(spec->fault);
        cleanup_free char *before = names;

        if (!fault || fault->moment != NL_FAULT_INIT ||
            strcmp(spec->layer, layer->spec->name) != 0) {
            before = NULL;
            continue;
        }
        if (asprintf(&names, "%s%s%s", before ? before : "", before ? "," : "", fault->name) < 0)
            return NULL;
    }
    return names;
}
