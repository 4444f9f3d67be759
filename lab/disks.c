/*
 * disks.c - overlays and the boot disk: see disks.h.
 */
#include "disks.h"
#include "fault-inject.h"
#include "folders.h"
#include "process.h"
#include "warm.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define MIB (1024ULL * 1024)
/* What a run may write into its overlays before it is stopped for lack of room. */
#define ROOM_PER_OVERLAY_MIB 512
/* What the runner's machine keeps for itself. */
#define HOST_RESERVE_MIB 256
/* Only headers are read. */
#define EXAMINE_S 10

static unsigned long long meminfo_kib(const char *key)
{
    cleanup_fclose FILE *file = fopen("/proc/meminfo", "re");
    unsigned long long value;
    char line[256];
    size_t length = strlen(key);

    while (file && fgets(line, sizeof(line), file))
        if (!strncmp(line, key, length) && line[length] == ':' &&
            sscanf(line + length + 1, "%llu", &value) == 1)
            return value;
    return 0;
}

static int check_memory(const struct nl_layer_spec *outermost, struct nl_error **err)
{
    unsigned long long available = meminfo_kib("MemAvailable") / 1024;
    unsigned long long needed = (unsigned long long)outermost->memory_mib + HOST_RESERVE_MIB;

    if (available == 0 || available >= needed)
        return 0;
    nl_fail(err, NL_EXIT_LAB, "%s needs %d MiB of memory and this machine has %llu MiB available",
            outermost->name, outermost->memory_mib, available);
    return nl_hint(err, "make the layers smaller (memory_mib in the scenario, --memory %s=MIB)",
                   outermost->name);
}

static int check_disk(const struct nl_stack *stack, struct nl_error **err)
{
    const char *path = nl_rundir_path(stack->rundir);
    unsigned long long needed = ROOM_PER_OVERLAY_MIB * stack->n_layers;
    unsigned long long available;
    struct statvfs fs;

    if (statvfs(path, &fs) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot see the file system of %s", path);
    available = (unsigned long long)fs.f_bavail * fs.f_frsize / MIB;
    if (available >= needed)
        return 0;
    nl_fail(err, NL_EXIT_LAB, "a run needs %llu MiB of disk under %s and there are %llu MiB",
            needed, path, available);
    return nl_hint(err,
                   "free some space, run `nestlab gc`, or set NESTLAB_RUNS to a roomier folder");
}

int nl_disks_check_room(const struct nl_stack *stack, struct nl_error **err)
{
    size_t outermost = nl_stack_outermost(stack);

    if (outermost < stack->n_layers && check_memory(stack->layers[outermost].spec, err) < 0)
        return -1;
    return check_disk(stack, err);
}

/* What the layer's disk is an overlay of: its root disk or, for a layer without one, the scratch
   disk that only benchmarks use (an unused disk would still be probed, which costs a nested guest
   time). */
static const char *base_disk(const struct nl_layer *layer)
{
    bool measured = layer->stack->scenario->benchmarks.names != NULL;

    if (layer->image->disk)
        return layer->image->disk;
    return measured ? layer->image->scratch : NULL;
}

static int make_overlay(struct nl_layer *layer, const char *base, struct nl_error **err)
{
    char *overlay = nl_rundir_file(layer->stack->rundir, "%s.qcow2", layer->spec->name);
    const char *argv[] = {"qemu-img", "create", "-q",    "-f",    "qcow2", "-b",
                          base,       "-F",     "qcow2", overlay, NULL};
    struct nl_process process = {.argv = argv};

    layer->overlay = overlay;
    if (nl_process_run(&process, NULL, err) < 0)
        return nl_wrap(err, "making the disk of %s", layer->spec->name);
    return 0;
}

static int place_file(const char *source, const char *folder, const char *name,
                      struct nl_error **err)
{
    cleanup_free char *target = NULL;

    if (!source)
        return 0;
    if (asprintf(&target, "%s/%s", folder, name) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    return nl_place_file(source, target, err);
}

/* LN/: what the layer below needs to start this one, and what this one copies over its root. */
static int stage_layer(const struct nl_layer *layer, const char *stage, struct nl_error **err)
{
    cleanup_free char *folder = NULL;

    if (asprintf(&folder, "%s/%s", stage, layer->spec->name) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (mkdir(folder, 0755) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make %s", folder);
    if (nl_warm_stage(layer, folder, err) < 0)
        return -1;
    if (layer->index == nl_stack_outermost(layer->stack))
        return 0; /* started from the store itself */
    if (place_file(layer->image->vmlinux, folder, "vmlinux", err) < 0 ||
        place_file(layer->image->kernel, folder, "kernel", err) < 0)
        return -1;
    return place_file(layer->image->initrd, folder, "initrd", err);
}

static unsigned long long file_mib(const char *path)
{
    struct stat st;

    return path && stat(path, &st) == 0 ? (unsigned long long)st.st_size / MIB + 1 : 0;
}

static int fill_boot_disk(const char *stage, const char *disk, unsigned long long mib,
                          struct nl_error **err)
{
    cleanup_free char *size = NULL;

    if (asprintf(&size, "%lluM", mib) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    /* Few big files: large blocks, few inodes, nothing reserved, no journal. */
    const char *argv[] = {"mke2fs", "-q", "-F", "-t",      "ext2", "-b",  "4096", "-N", "1024",
                          "-m",     "0",  "-L", "nl-boot", "-d",   stage, disk,   size, NULL};
    const char *path[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                          NULL};
    struct nl_process process = {.argv = argv, .environment = path, .timeout = 120};

    if (nl_process_run(&process, NULL, err) < 0)
        return nl_wrap(err, "making the boot disk");
    return 0;
}

static int make_boot_disk(struct nl_stack *stack, struct nl_error **err)
{
    cleanup_free char *stage = nl_rundir_file(stack->rundir, "boot");
    unsigned long long mib = 8;

    if (mkdir(stage, 0700) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make %s", stage);
    for (size_t i = nl_stack_outermost(stack); i < stack->n_layers; i++) {
        const struct nl_layer *layer = &stack->layers[i];

        if (stage_layer(layer, stage, err) < 0)
            return -1;
        mib += file_mib(layer->image->vmlinux) + file_mib(layer->image->kernel) +
               file_mib(layer->image->initrd);
    }
    stack->boot_disk = nl_rundir_file(stack->rundir, "boot.img");
    return fill_boot_disk(stage, stack->boot_disk, mib + mib / 8, err);
}

int nl_disks_make(struct nl_stack *stack, struct nl_error **err)
{
    for (size_t i = nl_stack_outermost(stack); i < stack->n_layers; i++) {
        const char *base = base_disk(&stack->layers[i]);

        if (base && make_overlay(&stack->layers[i], base, err) < 0)
            return -1;
    }
    if (nl_fault_inject(stack, NL_FAULT_PREPARE, NULL, err) < 0)
        return -1;
    return make_boot_disk(stack, err);
}

void nl_disks_examine(const struct nl_stack *stack, struct nl_error **err)
{
    for (size_t i = nl_stack_outermost(stack); i < stack->n_layers; i++) {
        const struct nl_layer *layer = &stack->layers[i];
        cleanup_error struct nl_error *damage = NULL;
        const char *argv[] = {"qemu-img", "info", "-f", "qcow2", "-U", layer->overlay, NULL};
        struct nl_process process = {.argv = argv, .timeout = EXAMINE_S};

        if (!layer->overlay || nl_process_run(&process, NULL, &damage) == 0)
            continue;
        if (nl_error_status(damage) == NL_EXIT_INTERRUPTED)
            return;
        nl_wrap(err, "the disk image of %s cannot be read: %s", layer->spec->name,
                nl_error_message(damage));
        return;
    }
}
