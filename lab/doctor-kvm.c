/*
 * doctor-kvm.c - rows on KVM: modules, their parameters, the device, a guest that really runs, and
 * who else wants the processor.
 */
#include "dig.h"
#include "doctor-row.h"
#include "l0.h"

#include <string.h>

/* The vendor's module, by the processor; by what is loaded where the processor shows nothing. */
static const char *vendor_module(const struct nl_look *look)
{
    const char *module = nl_look_module(look);

    if (!module && nl_look_loaded(look, "kvm_amd"))
        module = "kvm_amd";
    if (!module && nl_look_loaded(look, "kvm_intel"))
        module = "kvm_intel";
    return module;
}

/* A parameter as sysfs shows it; NULL: not known. */
static const char *parameter(const struct nl_look *look, const char *module, const char *name)
{
    char path[96];

    snprintf(path, sizeof(path), "modules.%s.parameters.%s", module, name);
    return nl_dig_string(look->facts, path, NULL);
}

static bool is_off(const char *value)
{
    return value && (!strcmp(value, "0") || !strcmp(value, "N"));
}

/* Where its file would come from. */
static void fix_modules(const struct nl_look *look, struct nl_row *row)
{
    const char *module = nl_look_module(look);

    /* Without svm or vmx there is nothing to load it for: the row cpu says what to do. */
    if (!module)
        return;
    if (look->of == NL_OF_LAYER)
        nl_row_fix(row, "give this layer the image hypervisor: a leaf boots no other layer");
    else if (nl_dig(look->machine, "container"))
        nl_row_fix(row,
                   "on the machine around this container: modprobe %s; then start the container "
                   "with --device /dev/kvm",
                   module);
    else if (nl_dig_string(look->machine,
                           !strcmp(module, "kvm_amd") ? "modules.kvm_amd" : "modules.kvm_intel",
                           NULL))
        nl_row_fix(row, "modprobe %s nested=1", module);
    else
        nl_row_fix(row,
                   "boot a kernel that has %s (CONFIG_KVM); Debian: apt-get install "
                   "linux-image-amd64",
                   module);
}

static void judge_modules(const struct nl_look *look, struct nl_row *row)
{
    static const char *const refused[] = {"kvm-pvm: ", NULL};
    const char *module = vendor_module(look);
    const char *line = nl_look_log(look, refused);
    bool pvm = nl_look_loaded(look, "kvm_pvm");

    if (!nl_dig(look->facts, "modules")) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "/sys/module cannot be read");
    } else if (module && nl_look_loaded(look, module)) {
        nl_row_says(row, pvm ? NL_DOCTOR_WARN : NL_DOCTOR_OK, "%s is loaded%s", module,
                    pvm ? ", and so is kvm_pvm, a paravirtual KVM" : "");
        if (pvm)
            nl_row_fix(row, "modprobe -r kvm_pvm");
    } else if (pvm) {
        nl_row_says(row, NL_DOCTOR_MISSING,
                    "kvm_pvm only: a paravirtual KVM, which interprets unmodified kernels%s%s%s",
                    line ? "; it says \"" : "", line ? line : "", line ? "\"" : "");
        fix_modules(look, row);
    } else {
        nl_row_says(row, NL_DOCTOR_MISSING, "neither kvm_amd nor kvm_intel is loaded%s",
                    nl_look_loaded(look, "kvm") ? " (kvm is)" : "");
        fix_modules(look, row);
    }
}

static void judge_nested(const struct nl_look *look, struct nl_row *row)
{
    const char *module = vendor_module(look);
    const char *value = module ? parameter(look, module, "nested") : NULL;

    if (!module || !nl_look_loaded(look, module)) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "no vendor's KVM module is loaded that could say");
    } else if (!value) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "%s does not show its parameter nested", module);
    } else if (is_off(value)) {
        nl_row_says(row, NL_DOCTOR_MISSING, "%s has nested=%s", module, value);
        if (look->of == NL_OF_LAYER)
            nl_row_fix(row, "\"nested\": true for this layer in the scenario");
        else
            nl_row_fix(row,
                       "with no guest running: modprobe -r %s; modprobe %s nested=1 (or `nestlab "
                       "run --enable-nesting`); to keep it: echo options %s nested=1 > "
                       "/etc/modprobe.d/nested.conf",
                       module, module, module);
    } else {
        nl_row_says(row, NL_DOCTOR_OK, "%s has nested=%s", module, value);
    }
}

/* KVM tells libvirt to offer svm or vmx to guests only where nesting is on. */
static void judge_nested_uri(const struct nl_look *look, struct nl_row *row)
{
    bool svm = nl_dig_true(look->libvirt, "domains.kvm.svm");

    if (svm || nl_dig_true(look->libvirt, "domains.kvm.vmx")) {
        nl_row_says(row, NL_DOCTOR_OK, "its KVM domains can have %s", svm ? "svm" : "vmx");
    } else if (nl_dig(look->libvirt, "domains.kvm.svm") &&
               nl_dig(look->libvirt, "domains.kvm.vmx")) {
        nl_row_says(row, NL_DOCTOR_MISSING, "its KVM domains can have neither svm nor vmx");
        nl_row_fix(row,
                   "on that host, with no guest running: modprobe -r kvm_amd; modprobe kvm_amd "
                   "nested=1 (kvm_intel likewise); then remove "
                   "/var/cache/libvirt/qemu/capabilities");
    } else {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "it offers no KVM domains that could be asked");
    }
}

static void judge_nested_paging(const struct nl_look *look, struct nl_row *row)
{
    const char *module = vendor_module(look);
    const char *name = module && !strcmp(module, "kvm_amd") ? "npt" : "ept";
    const char *value = module ? parameter(look, module, name) : NULL;

    if (!module || !nl_look_loaded(look, module))
        return;
    if (!value) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "%s does not show its parameter %s", module, name);
    } else if (is_off(value)) {
        nl_row_says(row, NL_DOCTOR_WARN,
                    "%s has %s=%s: page faults of guests exit, which is slow "
                    "and much slower when nested",
                    module, name, value);
        nl_row_fix(row, "with no guest running: modprobe -r %s; modprobe %s %s=1", module, module,
                   name);
    } else {
        nl_row_says(row, NL_DOCTOR_OK, "%s has %s=%s", module, name, value);
    }
}

/* In which way it does not open. */
static void fix_device(const struct nl_look *look, struct nl_row *row)
{
    const char *why = nl_dig_string(look->facts, "kvm.device.error", "");
    bool container = nl_dig(look->machine, "container") != NULL;
    bool loaded = nl_look_loaded(look, "kvm_amd") || nl_look_loaded(look, "kvm_intel");
    const char *group = nl_dig_string(look->machine, "kvm_device.group", NULL);

    if (!strcmp(why, "Permission denied"))
        nl_row_fix(row,
                   "become a member of its group: sudo usermod -aG %s \"$USER\", then log in "
                   "again%s",
                   group && strspn(group, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(group)
                       ? group
                       : "kvm",
                   container ? " (a container: start it with --group-add keep-groups, or as root)"
                             : "");
    else if (container && loaded)
        nl_row_fix(row, "start this container with --device /dev/kvm");
    else
        fix_modules(look, row);
}

static void judge_device(const struct nl_look *look, struct nl_row *row)
{
    const char *why = nl_dig_string(look->facts, "kvm.device.error", NULL);
    const char *mode = nl_dig_string(look->machine, "kvm_device.mode", NULL);
    const char *group = nl_dig_string(look->machine, "kvm_device.group", "?");

    if (!nl_dig(look->facts, "kvm.device.exists")) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "nobody could try to open it");
    } else if (!nl_dig_true(look->facts, "kvm.device.exists")) {
        nl_row_says(row, NL_DOCTOR_MISSING, "there is none");
        if (nl_look_module(look))
            fix_device(look, row);
    } else if (!nl_dig_true(look->facts, "kvm.device.opens")) {
        nl_row_says(row, NL_DOCTOR_MISSING, "does not open: %s%s%s%s%s%s",
                    why ? why : "unknown reason", mode ? " (mode " : "", mode ? mode : "",
                    mode ? ", group " : "", mode ? group : "", mode ? ")" : "");
        fix_device(look, row);
    } else if (!nl_dig_true(look->facts, "kvm.vm_created")) {
        nl_row_says(row, NL_DOCTOR_MISSING, "opens, and makes no virtual machine");
        nl_row_fix(row,
                   "see kvm-modules and conflicts; the kernel's log says more: dmesg | grep kvm");
    } else {
        nl_row_says(row, NL_DOCTOR_OK, "opens and makes a virtual machine%s%s%s",
                    mode ? " (mode " : "", mode ? mode : "", mode ? ")" : "");
    }
}

static void judge_guest(const struct nl_look *look, struct nl_row *row)
{
    double inside = nl_dig_number(look->facts, "kvm.guest.loop_ns", 0);
    double outside = nl_dig_number(look->facts, "kvm.guest.loop_ns_outside", 0);

    if (!nl_dig_true(look->facts, "kvm.device.opens") || !nl_dig(look->facts, "kvm.guest")) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "not tried: /dev/kvm does not open");
        return;
    }
    if (!nl_dig_true(look->facts, "kvm.guest.ran")) {
        nl_row_says(row, NL_DOCTOR_MISSING, "a tiny guest did not run: %s",
                    nl_dig_string(look->facts, "kvm.guest.error", "unknown reason"));
        nl_row_fix(row, "do not use this KVM: --l0 emulated");
        return;
    }
    if (nl_l0_interprets(look->facts)) {
        nl_row_says(row, NL_DOCTOR_MISSING,
                    "unusable: it interprets guests; a loop takes %.1f ns a round in a guest, %.1f "
                    "ns outside",
                    inside, outside);
        nl_row_fix(row, "do not use this KVM: --l0 emulated");
        return;
    }
    nl_row_says(row, NL_DOCTOR_OK,
                "a tiny guest ran: first exit after %.0f us, %.0f exits/s; a loop takes %.2f ns a "
                "round in it, %.2f ns outside",
                nl_dig_number(look->facts, "kvm.guest.first_exit_us", 0),
                nl_dig_number(look->facts, "kvm.guest.exits_per_s", 0), inside, outside);
}

static void judge_guest_uri(const struct nl_look *look, struct nl_row *row)
{
    if (nl_dig(look->libvirt, "domains.kvm.supported") &&
        !nl_dig_true(look->libvirt, "domains.kvm.supported")) {
        nl_row_says(row, NL_DOCTOR_MISSING, "libvirt offers no KVM domains: %s",
                    nl_dig_string(look->libvirt, "domains.kvm.error", "unknown reason"));
        nl_row_fix(row, "run `nestlab doctor` on that host");
        return;
    }
    nl_row_says(row, NL_DOCTOR_UNKNOWN,
                "libvirt can only say that there are KVM domains, not that they execute");
    nl_row_fix(row, "run `nestlab doctor` on that host");
}

static const struct {
    const char *module;
    const char *whose;
    const char *remove;
} rivals[] = {
    {"vboxdrv", "VirtualBox", "modprobe -r vboxnetadp vboxnetflt vboxdrv"},
    {"vmmon", "VMware", "modprobe -r vmmon"},
    {"mshv_root", "the Hyper-V root partition", NULL},
    {"acrn", "ACRN", NULL},
    {"xen_privcmd", "Xen", NULL},
};

static void judge_conflicts(const struct nl_look *look, struct nl_row *row)
{
    bool works = nl_look_kvm_works(look);

    if (!nl_dig(look->machine, "modules.loaded")) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "the list of modules cannot be read");
        return;
    }
    for (size_t i = 0; i < sizeof(rivals) / sizeof(rivals[0]); i++) {
        if (!nl_look_loaded(look, rivals[i].module))
            continue;
        nl_row_says(row, NL_DOCTOR_WARN, "%s of %s is loaded%s", rivals[i].module, rivals[i].whose,
                    works ? "; KVM runs guests all the same, while its guests do not"
                          : ": it may hold the processor's virtualization");
        nl_row_fix(row, "%s", rivals[i].remove ? rivals[i].remove : "boot this machine without it");
        return;
    }
    nl_row_says(row, NL_DOCTOR_OK, "no module of another hypervisor is loaded");
}

const struct nl_row_kind nl_rows_kvm[] = {
    {"kvm-modules", "kvm_amd or kvm_intel in the kernel, for KVM", NL_OF_ALL, 0, "facts",
     "/sys/module, /lib/modules, kernel log", judge_modules, NULL},
    {"nested", "the module's parameter nested, for guests of guests", NL_OF_ALL, NL_FOR_LOCAL,
     "facts", "/sys/module/kvm_*/parameters/nested", judge_nested, judge_nested_uri},
    {"nested-paging", "the module's parameter npt or ept, for speed", NL_OF_INSIDE, 0, "facts",
     "/sys/module/kvm_*/parameters", judge_nested_paging, NULL},
    {"kvm-device", "/dev/kvm, and the right to open it", NL_OF_ALL, NL_FOR_LOCAL, "facts",
     "open, KVM_CREATE_VM", judge_device, NULL},
    {"kvm-guest", "KVM that executes guests, not only opens", NL_OF_ALL, NL_FOR_LOCAL, "facts",
     "a guest of a few instructions, within 5 s", judge_guest, judge_guest_uri},
    {"conflicts", "no other hypervisor's module in the way of KVM", NL_OF_ALL, 0, "machine",
     "/proc/modules, /sys/module", judge_conflicts, NULL},
    {0},
};
