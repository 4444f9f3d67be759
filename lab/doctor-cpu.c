/*
 * doctor-cpu.c - rows on the machine itself: processor, hypervisor below, firmware, kernel
 * lockdown.
 */
#include "dig.h"
#include "doctor-row.h"

#include <stdlib.h>
#include <string.h>

static bool has_flag(const json_t *flags, const char *name)
{
    json_t *flag;
    size_t i;

    json_array_foreach(flags, i, flag)
    {
        if (json_is_string(flag) && !strcmp(json_string_value(flag), name))
            return true;
    }
    return false;
}

static void judge_system(const struct nl_look *look, struct nl_row *row)
{
    const char *machine = nl_dig_string(look->facts, "kernel.machine", NULL);
    const char *os = nl_dig_string(look->machine, "os.name", NULL);
    const char *container = nl_dig_string(look->machine, "container", NULL);
    json_int_t uid = nl_dig_integer(look->machine, "user.uid", -1);

    if (!machine) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "the kernel does not say what it runs on");
        return;
    }
    nl_row_says(row, strcmp(machine, "x86_64") ? NL_DOCTOR_MISSING : NL_DOCTOR_OK,
                "%s, kernel %s, CPUs: %d%s%s%s%s%s", machine,
                nl_dig_string(look->facts, "kernel.release", "?"),
                (int)nl_dig_integer(look->facts, "vcpus", 0), os ? ", " : "", os ? os : "",
                container ? ", in a container of " : "", container ? container : "",
                uid == 0  ? ", as root"
                : uid > 0 ? ", as an ordinary user"
                          : "");
    if (row->verdict == NL_DOCTOR_MISSING)
        nl_row_fix(row, "use an x86-64 machine: nestlab has nothing for others");
}

static void judge_system_uri(const struct nl_look *look, struct nl_row *row)
{
    const char *arch = nl_dig_string(look->libvirt, "host.arch", NULL);
    const char *driver = nl_dig_string(look->libvirt, "driver", "?");

    if (!arch) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN,
                    "driver %s; its capabilities do not name the host's CPU", driver);
        return;
    }
    nl_row_says(row, strcmp(arch, "x86_64") ? NL_DOCTOR_MISSING : NL_DOCTOR_OK,
                "%s, %d CPUs, libvirt's driver %s", arch,
                (int)nl_dig_integer(look->libvirt, "node.cpus", 0), driver);
    if (row->verdict == NL_DOCTOR_MISSING)
        nl_row_fix(row, "use an x86-64 host: nestlab has nothing for others");
}

/* How nesting is turned on in the hypervisor below, by its signature in CPUID. */
static const struct {
    const char *signature;
    const char *name;
    const char *fix;
} hypervisors[] = {
    {"KVMKVMKVM", "KVM",
     "on the machine below: modprobe -r kvm_amd; modprobe kvm_amd nested=1 (kvm_intel likewise), "
     "and "
     "give this guest the CPU model host-passthrough (QEMU: -cpu host)"},
    {"Linux KVM Hv", "KVM",
     "on the machine below: modprobe -r kvm_amd; modprobe kvm_amd nested=1 (kvm_intel likewise), "
     "and "
     "give this guest the CPU model host-passthrough (QEMU: -cpu host)"},
    {"TCGTCGTCGTCG", "QEMU's TCG", "give this guest SVM: -cpu EPYC,+svm,+npt"},
    {"Microsoft Hv", "Hyper-V",
     "on the machine below, with this guest off: Set-VMProcessor -VMName NAME "
     "-ExposeVirtualizationExtensions $true"},
    {"VMwareVMware", "VMware", "in this guest's .vmx file: vhv.enable = \"TRUE\""},
    {"XenVMMXenVMM", "Xen", "in this guest's configuration: nestedhvm = 1"},
    {"VBoxVBoxVBox", "VirtualBox",
     "on the machine below, with this guest off: VBoxManage modifyvm NAME --nested-hw-virt on"},
    {"bhyve bhyve ", "bhyve", NULL},
    {"prl hyperv  ", "Parallels", "in this guest's settings: enable nested virtualization"},
    {" lrpepyh  vr", "Parallels", "in this guest's settings: enable nested virtualization"},
    {"ACRNACRNACRN", "ACRN", NULL},
    {"QNXQVMBSQG", "QNX", NULL},
    {"Jailhouse", "Jailhouse", NULL},
};

/* Index into hypervisors, or -1. */
static int find_hypervisor(const struct nl_look *look)
{
    for (size_t i = 0; i < sizeof(hypervisors) / sizeof(hypervisors[0]); i++)
        if (nl_dig_is(look->facts, "cpuid.hypervisor.signature", hypervisors[i].signature))
            return (int)i;
    return -1;
}

static void fix_no_virtualization(const struct nl_look *look, struct nl_row *row)
{
    int which = find_hypervisor(look);

    if (look->of == NL_OF_LAYER)
        nl_row_fix(row, "give this layer virtualization: \"virtualization\": true in the scenario, "
                        "\"nested\": true in the layer below");
    else if (!nl_look_in_guest(look))
        nl_row_fix(row, "turn on SVM (AMD-V) or VT-x in the firmware's setup, if this CPU has it");
    else if (which >= 0 && hypervisors[which].fix)
        nl_row_fix(row, "%s", hypervisors[which].fix);
    else
        nl_row_fix(row, "ask whoever runs the hypervisor below for a guest with nested "
                        "virtualization, or use another machine");
}

static void judge_cpu(const struct nl_look *look, struct nl_row *row)
{
    const char *vendor = nl_dig_string(look->facts, "cpuid.vendor", NULL);
    const char *brand = nl_dig_string(look->facts, "cpuid.brand", "");
    const json_t *flags = nl_dig(look->facts, "flags");
    bool svm = nl_dig_true(look->facts, "cpuid.svm");
    bool vmx = nl_dig_true(look->facts, "cpuid.vmx");
    const char *flag = svm ? "svm" : "vmx";

    if (!vendor) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "CPUID could not be read");
        return;
    }
    if (!svm && !vmx) {
        nl_row_says(row, NL_DOCTOR_MISSING, "%s, %s: neither svm nor vmx", vendor, brand);
        fix_no_virtualization(look, row);
    } else if (json_array_size(flags) > 0 && !has_flag(flags, flag)) {
        nl_row_says(row, NL_DOCTOR_MISSING, "%s, %s: CPUID has %s, and the kernel does not use it",
                    vendor, brand, flag);
        nl_row_fix(row, "turn on SVM (AMD-V) or VT-x in the firmware's setup; look for clearcpuid= "
                        "on the kernel's command line");
    } else {
        nl_row_says(row, NL_DOCTOR_OK, "%s, %s: %s%s", vendor, brand, flag,
                    nl_dig_true(look->facts, "cpuid.svm_features.npt") ||
                            nl_dig_true(look->facts, "vmx_features.ept")
                        ? (svm ? ", npt" : ", ept")
                        : "");
    }
}

/* libvirt names a CPU by a model, which may include svm or vmx, and the features beyond it. */
static void judge_cpu_uri(const struct nl_look *look, struct nl_row *row)
{
    const char *vendor = nl_dig_string(look->libvirt, "host.cpu.vendor", NULL);
    const char *model = nl_dig_string(look->libvirt, "host.cpu.model", NULL);
    const json_t *features = nl_dig(look->libvirt, "host.cpu.features");
    bool svm = has_flag(features, "svm") || nl_dig_true(look->libvirt, "domains.kvm.svm");
    bool vmx = has_flag(features, "vmx") || nl_dig_true(look->libvirt, "domains.kvm.vmx");

    if (svm || vmx)
        nl_row_says(row, NL_DOCTOR_OK, "%s, like %s: %s", vendor ? vendor : "?",
                    model ? model : "?", svm ? "svm" : "vmx");
    else if (nl_dig_true(look->libvirt, "domains.kvm.supported"))
        nl_row_says(row, NL_DOCTOR_OK, "%s, like %s: libvirt offers KVM domains",
                    vendor ? vendor : "?", model ? model : "?");
    else
        nl_row_says(row, NL_DOCTOR_UNKNOWN,
                    "%s, like %s: libvirt lists neither svm nor vmx, which "
                    "the model may include",
                    vendor ? vendor : "?", model ? model : "?");
}

static void judge_hypervisor(const struct nl_look *look, struct nl_row *row)
{
    static const char *const detected[] = {"Hypervisor detected: ", NULL};
    const char *signature = nl_dig_string(look->facts, "cpuid.hypervisor.signature", "");
    const char *vendor = nl_dig_string(look->machine, "firmware.vendor", NULL);
    const char *log = nl_look_log(look, detected);
    int which = find_hypervisor(look);

    if (log && which >= 0 && strstr(log, hypervisors[which].name))
        log = NULL;
    if (!nl_dig(look->facts, "cpuid.hypervisor.present"))
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "CPUID could not be read");
    else if (!nl_look_in_guest(look))
        nl_row_says(row, NL_DOCTOR_OK, "none: this is no guest%s%s",
                    vendor ? ", but hardware of " : "", vendor ? vendor : "");
    else
        nl_row_says(row, NL_DOCTOR_OK, "a guest of %s (%s)%s%s%s",
                    which >= 0 ? hypervisors[which].name
                               : "a hypervisor that nestlab does not know",
                    signature, log ? "; the kernel says \"" : "", log ? log : "", log ? "\"" : "");
}

/* What kernels print when the firmware has turned it off, as they have worded it over the years:
   arch/x86/kernel/cpu/feat_ctl.c and amd.c, arch/x86/kvm/x86.c, vmx.c and svm.c. */
static const char *const disabled_by_firmware[] = {
    "VMX (outside TXT) disabled by BIOS",
    "VMX (inside TXT) disabled by BIOS",
    "VMX not enabled (by BIOS)",
    "SVM disabled (by BIOS)",
    "kvm: disabled by bios",
    NULL,
};

/* IA32_FEATURE_CONTROL: bit 0 locks it, bit 2 allows VMX. VM_CR: bit 4 forbids SVM. */
static bool msr_forbids(const struct nl_look *look)
{
    const char *control = nl_dig_string(look->machine, "firmware.feature_control", NULL);
    const char *vm_cr = nl_dig_string(look->machine, "firmware.vm_cr", NULL);

    if (control && nl_dig_true(look->facts, "cpuid.vmx") && (strtoull(control, NULL, 16) & 5) == 1)
        return true;
    return vm_cr && nl_dig_true(look->facts, "cpuid.svm") && strtoull(vm_cr, NULL, 16) & 0x10;
}

static void judge_firmware(const struct nl_look *look, struct nl_row *row)
{
    const char *line = nl_look_log(look, disabled_by_firmware);
    const char *why = nl_dig_string(look->machine, "log.error", NULL);

    if (nl_look_kvm_works(look)) {
        nl_row_says(row, NL_DOCTOR_OK, "allows it: KVM runs a guest");
    } else if (line || msr_forbids(look)) {
        nl_row_says(row, NL_DOCTOR_MISSING, "has turned virtualization off%s%s%s",
                    line ? ": the kernel says \"" : ", by the CPU's control register",
                    line ? line : "", line ? "\"" : "");
        nl_row_fix(row,
                   "turn on SVM (AMD-V) or VT-x in the firmware's setup, and switch the machine "
                   "off and on");
    } else if (nl_look_in_guest(look)) {
        nl_row_says(row, NL_DOCTOR_OK, "no message; in a guest the hypervisor below decides");
    } else if (nl_dig(look->machine, "firmware.feature_control") ||
               nl_dig(look->machine, "firmware.vm_cr")) {
        nl_row_says(row, NL_DOCTOR_OK, "allows it, by the CPU's control register");
    } else if (!nl_dig(look->machine, "log.lines") ||
               nl_dig_true(look->machine, "log.overwritten")) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN,
                    "the kernel's log does not reach back to the start%s%s%s", why ? " (" : "",
                    why ? why : "", why ? ")" : "");
        nl_row_fix(row, "look as root: journalctl -k -b | grep -i -e vmx -e svm");
    } else {
        nl_row_says(row, NL_DOCTOR_OK, "no message that it has turned virtualization off");
    }
}

/* Neither keeps the distribution's own signed KVM modules from being loaded. */
static void judge_lockdown(const struct nl_look *look, struct nl_row *row)
{
    static const char *const refused[] = {"unsigned module loading is restricted",
                                          "Loading of unsigned module is rejected", NULL};
    static const char *const locked[] = {"Kernel is locked down from", NULL};
    const char *mode = nl_dig_string(look->machine, "lockdown.mode", NULL);
    const char *line = nl_look_log(look, refused);
    const char *down = nl_look_log(look, locked);
    const char *boot = nl_dig_true(look->machine, "firmware.secure_boot") ? "Secure Boot, " : "";

    if (line) {
        nl_row_says(row, NL_DOCTOR_WARN, "%sthe kernel says \"%s\"", boot, line);
        nl_row_fix(row, "sign the module that was refused, or turn Secure Boot off in the "
                        "firmware's setup");
    } else if (mode && !strcmp(mode, "none")) {
        nl_row_says(row, NL_DOCTOR_OK, "%sno lockdown", boot);
    } else if (mode || down) {
        nl_row_says(row, NL_DOCTOR_OK,
                    "%slockdown%s%s: modules of your own must be signed, MSRs cannot be read; the "
                    "distribution's KVM works",
                    boot, mode ? " mode " : "", mode ? mode : "");
    } else if (nl_dig(look->machine, "firmware.secure_boot") && !*boot &&
               nl_dig(look->machine, "log.lines")) {
        nl_row_says(row, NL_DOCTOR_OK,
                    "no Secure Boot, and the kernel's log has no word of lockdown");
    } else {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "%s%s", boot,
                    nl_dig_string(look->machine, "lockdown.error", "cannot be seen"));
    }
}

const struct nl_row_kind nl_rows_cpu[] = {
    {"system", "an x86-64 machine", NL_OF_ALL, NL_FOR_BOTH, "facts", "uname, os-release",
     judge_system, judge_system_uri},
    {"cpu", "a processor with SVM or VMX, for KVM", NL_OF_ALL, NL_FOR_LOCAL, "facts",
     "CPUID, flags in /proc/cpuinfo", judge_cpu, judge_cpu_uri},
    {"hypervisor", "to know whether this is itself a guest", NL_OF_ALL, 0, "facts",
     "CPUID leaf 0x40000000, kernel log", judge_hypervisor, NULL},
    {"firmware", "virtualization turned on in the firmware, for KVM", NL_OF_ALL, 0, "machine",
     "kernel log, MSRs", judge_firmware, NULL},
    {"lockdown", "a kernel that takes its KVM modules", NL_OF_ALL, 0, "machine",
     "/sys/kernel/security/lockdown, SecureBoot, kernel log", judge_lockdown, NULL},
    {0},
};
