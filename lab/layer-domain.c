/*
 * layer-domain.c - a layer's domain: see layer-domain.h.
 *
 * Where things are depends on which side of the outermost guest a layer is: the outermost guest is
 * started from the store and the run folder; every inner one from the boot disk and the block
 * devices that the layer below was given.
 */
#include "layer-domain.h"
#include "disks.h"
#include "fault-inject.h"

#include <string.h>
#include <sys/random.h>

#define QBOOT "/usr/share/qemu/qboot.rom"
/* The layer below's own address in the user-mode network: QEMU's default. */
#define GUEST_ADDRESS "10.0.2.15"

/* Everything a domain points to, freed together. */
struct parts {
    struct nl_domain domain;
    struct nl_boot_files files;
    char *command_line;
};

static void free_parts(struct parts *parts)
{
    for (size_t i = 0; i < parts->domain.n_disks; i++)
        free(parts->domain.disks[i].path);
    free(parts->domain.disks);
    free(parts->domain.forwards);
    nl_boot_files_clear(&parts->files);
    free(parts->command_line);
}

static bool is_outermost(const struct nl_layer *layer)
{
    return layer->index == nl_stack_outermost(layer->stack);
}

/* A disk by serial, as LAYER is to get it: a file of ours for the outermost guest, a block device
   of the layer below for the others. */
static int add_disk(struct parts *parts, const struct nl_layer *layer, const char *serial,
                    const char *file, const char *format, bool read_only, struct nl_error **err)
{
    struct nl_domain_disk *disk = &parts->domain.disks[parts->domain.n_disks];
    const char *path = file;

    if (!is_outermost(layer)) {
        path = json_string_value(json_object_get(layer[-1].disks, serial));
        if (!path)
            return nl_fail(err, NL_EXIT_LAB, "%s has no disk with the serial %s",
                           layer[-1].spec->name, serial);
        format = "raw";
    }
    disk->path = strdup(path);
    disk->format = format;
    disk->block = !is_outermost(layer);
    disk->read_only = read_only;
    snprintf(disk->serial, sizeof(disk->serial), "%s", serial);
    parts->domain.n_disks++;
    return disk->path ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
}

/* What belongs to OWNER: its root or scratch disk, and the disks that its scenario gives it. */
static int add_disks_of(struct parts *parts, const struct nl_layer *layer,
                        const struct nl_layer *owner, struct nl_error **err)
{
    char serial[21];

    snprintf(serial, sizeof(serial), "nl-%s", owner->spec->name);
    if (owner->overlay && add_disk(parts, layer, serial, owner->overlay, "qcow2", false, err) < 0)
        return -1;
    for (size_t i = 0; owner->spec->disks && owner->spec->disks[i]; i++) {
        snprintf(serial, sizeof(serial), "nl-%s-%zu", owner->spec->name, i);
        if (add_disk(parts, layer, serial, owner->spec->disks[i], "raw", true, err) < 0)
            return -1;
    }
    return 0;
}

/* Its own disks, the boot disk, and the disks of the layers further in. A leaf needs no boot disk.
 */
static int add_disks(struct parts *parts, const struct nl_layer *layer, struct nl_error **err)
{
    const struct nl_stack *stack = layer->stack;
    size_t most = 1 + stack->n_layers * (1 + NL_LAYER_DISKS_MAX);

    parts->domain.disks = calloc(most, sizeof(*parts->domain.disks));
    if (!parts->domain.disks)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    for (size_t i = layer->index; i < stack->n_layers; i++) {
        if (add_disks_of(parts, layer, &stack->layers[i], err) < 0)
            return -1;
        if (i == layer->index && layer->hypervisor &&
            add_disk(parts, layer, NL_BOOT_SERIAL, stack->boot_disk, "raw", true, err) < 0)
            return -1;
    }
    if (parts->domain.n_disks > NL_DOMAIN_DISKS_MAX)
        return nl_fail(err, NL_EXIT_REQUEST, "%s would need %zu disks; at most %d are possible",
                       layer->spec->name, parts->domain.n_disks, NL_DOMAIN_DISKS_MAX);
    return 0;
}

/* Its own sshd, and those of the layers further in: see "Port ladder" in docs/architecture.md. */
static int add_forwards(struct parts *parts, const struct nl_layer *layer, struct nl_error **err)
{
    const struct nl_stack *stack = layer->stack;

    parts->domain.forwards = calloc(stack->n_layers, sizeof(*parts->domain.forwards));
    if (!parts->domain.forwards)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    for (size_t i = layer->index; i < stack->n_layers; i++) {
        if (stack->layers[i].ssh_port == 0)
            continue;
        parts->domain.forwards[parts->domain.n_forwards++] = (struct nl_domain_forward){
            .address = is_outermost(layer) ? "127.0.0.1" : GUEST_ADDRESS,
            .port = is_outermost(layer) ? stack->layers[i].ssh_port : NL_GUEST_PORT(i),
            .guest_port = i == layer->index ? 22 : NL_GUEST_PORT(i),
        };
    }
    return 0;
}

static void write_module_options(FILE *out, const struct nl_layer_spec *spec)
{
    const char *module, *parameter;
    json_t *parameters, *value;

    fprintf(out, " kvm_amd.nested=%d kvm_intel.nested=%d", spec->nested, spec->nested);
    json_object_foreach(spec->modules, module, parameters)
    {
        json_object_foreach(parameters, parameter, value)
        {
            fprintf(out, " %s.%s=%s", module, parameter, json_string_value(value));
        }
    }
}

/* Entropy for the guest, which otherwise waits for the kernel to gather its own before sshd and
   libvirtd can start. Fresh each time; it shows in the guest's command line, so it is worth no
   secret. */
static void write_seed(FILE *out)
{
    unsigned char seed[32];

    if (getrandom(seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
        return;
    fputs(" nestlab.seed=", out);
    for (size_t i = 0; i < sizeof(seed); i++)
        fprintf(out, "%02x", seed[i]);
}

/* `quiet`: each character on an emulated serial port is an exit; the whole log comes from
   /dev/kmsg. `panic=-1`: a panic ends the domain at once, and libvirt tells. `unknown_nmi_panic`: a
   guest that hangs can be made to print where (hang.c); the NMI watchdog would be a source of NMIs
   that nobody sent. */
static char *command_line(const struct nl_layer *layer)
{
    cleanup_free char *faults = nl_fault_boot_names(layer);
    const struct nl_layer_spec *spec = layer->spec;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fprintf(out,
            "console=ttyS0 quiet panic=-1 unknown_nmi_panic nmi_watchdog=0 log_buf_len=1M "
            "8250.nr_uarts=1 nestlab.layer=%s",
            spec->name);
    /* Linux waits for a few of the timer's ticks and panics if there are none. Under TCG, on a
       machine that has other work, there may be none. As KVM's guest it leaves that out by itself.
       It also compares TCG's TSC, which is the host's clock, with a slower timer, and after a pause
       of QEMU's takes the TSC for the one that is wrong: then every reading of a clock is an exit
       in all layers. */
    if (is_outermost(layer) && !layer->stack->kvm)
        fputs(" no_timer_check tsc=nowatchdog", out);
    /* The kernel's allocator hands out objects of a slab in an order that is random for each boot.
       Whether the one that KVM copies an instruction into lies in the first page of its slab or in
       a later one is an instruction less or more in every exit. Slabs of one page have no later
       one. An argument of the user's comes after this one, and is what counts. */
    if (layer->stack->meter)
        fputs(" slub_max_order=0", out);
    write_seed(out);
    if (layer->hypervisor) {
        fprintf(out, " nestlab.root=nl-%s nestlab.kvm=1", spec->name);
        write_module_options(out, spec);
    } else if (layer->overlay) {
        fprintf(out, " nestlab.scratch=nl-%s", spec->name);
    }
    if (faults)
        fprintf(out, " nestlab.fault=%s", faults);
    for (char *const *argument = spec->kernel_args; argument && *argument; argument++)
        fprintf(out, " %s", *argument);
    fclose(out);
    return text;
}

/* A kernel with a PVH entry is entered directly through qboot: no SeaBIOS, no decompression. */
static bool boots_by_pvh(const struct nl_layer *layer, bool from_guest)
{
    const char *machine = layer->spec->machine;

    if (!layer->image->vmlinux)
        return false;
    if (machine && strncmp(machine, "pc", 2) != 0 && strncmp(machine, "q35", 3) != 0)
        return false;
    return from_guest || access(QBOOT, R_OK) == 0;
}

void nl_boot_files_clear(struct nl_boot_files *files)
{
    free(files->kernel);
    free(files->initrd);
    *files = (struct nl_boot_files){0};
}

int nl_layer_boot_files(const struct nl_layer *layer, bool from_guest, struct nl_boot_files *files,
                        struct nl_error **err)
{
    bool pvh = boots_by_pvh(layer, from_guest);

    files->firmware = pvh ? QBOOT : NULL;
    if (!from_guest) {
        files->kernel = strdup(pvh ? layer->image->vmlinux : layer->image->kernel);
        files->initrd = strdup(layer->image->initrd);
    } else {
        if (asprintf(&files->kernel, NL_BOOT_MOUNT "/%s/%s", layer->spec->name,
                     pvh ? "vmlinux" : "kernel") < 0)
            files->kernel = NULL;
        if (asprintf(&files->initrd, NL_BOOT_MOUNT "/%s/initrd", layer->spec->name) < 0)
            files->initrd = NULL;
    }
    return files->kernel && files->initrd ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
}

static int set_boot(struct parts *parts, const struct nl_layer *layer, struct nl_error **err)
{
    if (nl_layer_boot_files(layer, !is_outermost(layer), &parts->files, err) < 0)
        return -1;
    parts->command_line = command_line(layer);
    if (!parts->command_line)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    parts->domain.kernel = parts->files.kernel;
    parts->domain.initrd = parts->files.initrd;
    parts->domain.firmware = parts->files.firmware;
    parts->domain.command_line = parts->command_line;
    return 0;
}

/* The virtualization that the layer below can hand on: TCG has SVM only; KVM what its CPU has. */
static const char *vendor_flag(const struct nl_layer *layer, bool kvm)
{
    const char *vendor;

    if (!kvm)
        return "svm";
    vendor =
        json_string_value(json_object_get(json_object_get(layer[-1].facts, "cpuid"), "vendor"));
    if (!vendor)
        return NULL;
    return strcmp(vendor, "GenuineIntel") == 0 ? "vmx" : "svm";
}

static json_t *about_domain(const struct nl_domain *domain)
{
    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:s?, s:b, s:s, s:s}", "type",
                     domain->kvm ? "kvm" : "qemu", "machine",
                     domain->machine ? domain->machine : "pc", "cpu",
                     domain->cpu   ? domain->cpu
                     : domain->kvm ? "host-passthrough"
                                   : "EPYC",
                     "vcpus", domain->vcpus, "memory_mib", domain->memory_mib, "emulator",
                     domain->emulator, "virtualization", domain->virtualization, "firmware",
                     domain->firmware ? "qboot" : "default", "command_line", domain->command_line);
}

int nl_layer_domain(const struct nl_layer *layer, char **xml, json_t **about, struct nl_error **err)
{
    NL_CLEANUP(free_parts) struct parts parts = {0};
    const struct nl_layer_spec *spec = layer->spec;
    cleanup_free char *name = NULL;
    bool kvm = !is_outermost(layer) || layer->stack->kvm;
    char *meter[] = {(char *)"-plugin", NULL, NULL};

    if (asprintf(&name, "nl-%s", spec->name) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    parts.domain = (struct nl_domain){
        .name = name,
        .kvm = kvm,
        .emulator = spec->emulator,
        .machine = spec->machine,
        .vcpus = spec->vcpus,
        .memory_mib = spec->memory_mib,
        .cpu = spec->cpu,
        .cpu_features = spec->cpu_features,
        .vendor_flag = vendor_flag(layer, kvm),
        .virtualization = spec->virtualization,
    };
    if (!kvm && layer->stack->meter) {
        meter[1] = (char *)nl_meter_argument(layer->stack->meter);
        parts.domain.qemu_arguments = meter;
    }
    if (set_boot(&parts, layer, err) < 0 || add_disks(&parts, layer, err) < 0 ||
        add_forwards(&parts, layer, err) < 0)
        return -1;
    *about = about_domain(&parts.domain);
    return nl_domain_xml(&parts.domain, xml, err);
}
