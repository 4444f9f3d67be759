/*
 * machine-system.c - see machine.h: what kernel and distribution show in files.
 */
#include "machine.h"
#include "machine-parts.h"
#include "kmsg.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX (4 * 1024 * 1024)
#define LOG_LINES_MAX 80
#define KERNELS_MAX 32

/* NAME=VALUE or NAME="VALUE" in /etc/os-release. */
static json_t *os_field(const char *text, const char *name)
{
    size_t length = strlen(name);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) != 0 || line[length] != '=')
            continue;
        const char *value = line + length + 1;
        size_t n = strcspn(value, "\n");
        if (n >= 2 && (*value == '"' || *value == '\'') && value[n - 1] == *value) {
            value++;
            n -= 2;
        }
        return agent_json_text(value, n);
    }
    return json_null();
}

json_t *agent_machine_os(const char *root)
{
    static const char *const files[] = {"/etc/os-release", "/usr/lib/os-release", NULL};
    const char *file = agent_first_below(root, files);
    cleanup_free char *path = file ? agent_below(root, "%s", file) : NULL;
    cleanup_free char *text = path ? agent_read_file(path, 65536, NULL) : NULL;

    if (!text)
        return json_null();
    return json_pack("{s:o, s:o, s:o}", "name", os_field(text, "PRETTY_NAME"), "id",
                     os_field(text, "ID"), "like", os_field(text, "ID_LIKE"));
}

json_t *agent_machine_container(const char *root)
{
    static const struct {
        const char *file;
        const char *kind;
    } marks[] = {{"/.dockerenv", "docker"}, {"/run/.containerenv", "podman"}};
    cleanup_free char *said = agent_line_below(root, "/run/systemd/container");

    if (said && *said)
        return agent_json_string(said);
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        cleanup_free char *path = agent_below(root, "%s", marks[i].file);
        if (access(path, F_OK) == 0)
            return json_string(marks[i].kind);
    }
    return json_null();
}

/* "none [integrity] confidentiality" -> "integrity". The file is in securityfs, which containers
   and small kernels lack. */
json_t *agent_machine_lockdown(const char *root)
{
    static const char file[] = "/sys/kernel/security/lockdown";
    cleanup_free char *line = agent_line_below(root, file);
    const char *open = line ? strchr(line, '[') : NULL;
    const char *close = open ? strchr(open, ']') : NULL;

    if (!line)
        return agent_unknown(file, errno);
    if (!close)
        return json_pack("{s:s}", "error", "no mode is marked in /sys/kernel/security/lockdown");
    return json_pack("{s:o}", "mode", agent_json_text(open + 1, (size_t)(close - open - 1)));
}

/* One MSR, or null where the driver msr, or the right to use it, is missing. */
static json_t *msr(const char *root, uint32_t number)
{
    cleanup_free char *path = agent_below(root, "/dev/cpu/0/msr");
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t value;

    if (fd < 0 || pread(fd, &value, sizeof(value), number) != sizeof(value))
        return json_null();
    return agent_json_hex(value, 16);
}

/* IA32_FEATURE_CONTROL of Intel, VM_CR of AMD: whether the firmware allows VMX and SVM. The other
   vendor's cannot be read. */
#define MSR_FEATURE_CONTROL 0x3a
#define MSR_VM_CR 0xc0010114

json_t *agent_machine_firmware(const char *root)
{
    static const char secure_boot[] =
        "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    cleanup_free char *efi = agent_below(root, "/sys/firmware/efi");
    cleanup_free char *variable = agent_below(root, "%s", secure_boot);
    bool is_efi = access(efi, F_OK) == 0;
    size_t length = 0;
    /* Four bytes of attributes, then the value. */
    cleanup_free char *bytes = agent_read_file(variable, 64, &length);
    cleanup_free char *vendor = agent_line_below(root, "/sys/class/dmi/id/sys_vendor");
    cleanup_free char *product = agent_line_below(root, "/sys/class/dmi/id/product_name");

    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o}", "kind", is_efi ? "efi" : "bios", "secure_boot",
        bytes && length >= 5 ? json_boolean(bytes[4] == 1)
        : is_efi             ? json_null()
                             : json_false(),
        "vendor", agent_json_string(vendor), "product", agent_json_string(product),
        "feature_control", msr(root, MSR_FEATURE_CONTROL), "vm_cr", msr(root, MSR_VM_CR));
}

/* A control group's limit: the number in FILE, or nothing ("max", or not there). */
static void note_limit(const char *root, const char *file, long long *limit)
{
    cleanup_free char *line = agent_line_below(root, file);
    char *end;
    long long value = line ? strtoll(line, &end, 10) : -1;

    /* Version 1 writes "no limit" as a number near 2^63. */
    if (value > 0 && value < LLONG_MAX / 2 && end != line && (*limit < 0 || value < *limit))
        *limit = value;
}

/* The strictest memory limit of this process's control group and those around it, by either
   version of control groups. */
json_t *agent_machine_cgroup(const char *root)
{
    cleanup_free char *path = agent_below(root, "/proc/self/cgroup");
    cleanup_free char *text = agent_read_file(path, 65536, NULL);
    long long limit = -1;
    char *rest = text;

    if (!text)
        return agent_unknown("/proc/self/cgroup", errno);
    for (char *line; (line = strsep(&rest, "\n"));) {
        bool v2 = strncmp(line, "0::", 3) == 0;
        char *group = v2 ? line + 3 : strstr(line, ":memory:");
        if (!group)
            continue;
        group += v2 ? 0 : strlen(":memory:");
        for (;;) {
            cleanup_free char *file =
                v2 ? agent_below("/sys/fs/cgroup", "%s/memory.max", group)
                   : agent_below("/sys/fs/cgroup/memory", "%s/memory.limit_in_bytes", group);
            char *slash = strrchr(group, '/');
            note_limit(root, file, &limit);
            if (!slash)
                break;
            *slash = '\0';
        }
    }
    return json_pack("{s:o}", "memory_max_kib",
                     limit < 0 ? json_null() : json_integer(limit >> 10));
}

/* Is NAME ("kvm-amd") in the folder of modules, as a file, or built into the kernel? */
static const char *module_kind(const char *root, const char *release, const char *name)
{
    static const char *const suffixes[] = {"", ".xz", ".zst", ".gz"};
    cleanup_free char *list = agent_below(root, "/lib/modules/%s/modules.builtin", release);
    cleanup_free char *builtin = agent_read_file(list, TEXT_MAX, NULL);
    cleanup_free char *line = agent_below("/", "%s.ko\n", name);

    if (builtin && strstr(builtin, line))
        return "built in";
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        cleanup_free char *file = agent_below(root, "/lib/modules/%s/kernel/arch/x86/kvm/%s.ko%s",
                                              release, name, suffixes[i]);
        if (access(file, F_OK) == 0)
            return "file";
    }
    return NULL;
}

static json_t *loaded_modules(const char *root)
{
    cleanup_free char *path = agent_below(root, "/proc/modules");
    cleanup_free char *text = agent_read_file(path, TEXT_MAX, NULL);
    json_t *all = json_array();
    char *rest = text;

    for (char *line; rest && (line = strsep(&rest, "\n"));)
        if (*line)
            json_array_append_new(all, agent_json_text(line, strcspn(line, " ")));
    /* Modules that are built in are not there, but have folders where they have parameters. */
    cleanup_free char *folder = agent_below(root, "/sys/module");
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            json_array_append_new(all, agent_json_string(entry->d_name));
    if (dir)
        closedir(dir);
    return all;
}

json_t *agent_machine_modules(const char *root, const char *release)
{
    cleanup_free char *folder = agent_below(root, "/lib/modules/%s", release);
    const char *amd = module_kind(root, release, "kvm-amd");
    const char *intel = module_kind(root, release, "kvm-intel");

    return json_pack("{s:o, s:b, s:s?, s:s?}", "loaded", loaded_modules(root), "folder",
                     access(folder, F_OK) == 0, "kvm_amd", amd, "kvm_intel", intel);
}

/* "libvirt.so.0.9000.0" -> "9.0.0": libvirt counts 1000 * major + minor. */
static json_t *library_version(const char *path)
{
    cleanup_free char *real = realpath(path, NULL);
    const char *number = real ? strstr(real, "libvirt.so.0.") : NULL;
    int whole, micro;

    if (!number || sscanf(number, "libvirt.so.0.%d.%d", &whole, &micro) != 2 || whole < 0)
        return json_null();
    return json_sprintf("%d.%d.%d", whole / 1000, whole % 1000, micro);
}

json_t *agent_machine_libvirt(const char *root)
{
    static const char *const folders[] = {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu",
                                          "/usr/lib64", "/usr/lib"};
    static const char *const daemons[] = {"/usr/sbin/libvirtd", "/usr/sbin/virtqemud",
                                          "/usr/local/sbin/libvirtd", NULL};
    static const char *const sockets[] = {"/run/libvirt/libvirt-sock",
                                          "/run/libvirt/virtqemud-sock", NULL};
    static const char *const helpers[] = {"/usr/bin/virt-ssh-helper",
                                          "/usr/local/bin/virt-ssh-helper", NULL};
    json_t *library = NULL, *driver = NULL;

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        cleanup_free char *so = agent_below(root, "%s/libvirt.so.0", folders[i]);
        cleanup_free char *qemu =
            agent_below(root, "%s/libvirt/connection-driver/libvirt_driver_qemu.so", folders[i]);
        if (!library && access(so, F_OK) == 0)
            library = json_pack("{s:o, s:o}", "path", agent_json_string(so + strlen(root)),
                                "version", library_version(so));
        if (!driver && access(qemu, F_OK) == 0)
            driver = agent_json_string(qemu + strlen(root));
    }
    return json_pack("{s:o, s:o, s:s?, s:s?, s:s?}", "library", library ? library : json_null(),
                     "qemu_driver", driver ? driver : json_null(), "daemon",
                     agent_first_below(root, daemons), "socket", agent_first_below(root, sockets),
                     "ssh_helper", agent_first_below(root, helpers));
}

json_t *agent_machine_kernels(const char *root)
{
    cleanup_free char *folder = agent_below(root, "/boot");
    json_t *all = json_array();
    DIR *dir = opendir(folder);

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (strncmp(entry->d_name, "vmlinuz-", 8) != 0 || json_array_size(all) == KERNELS_MAX)
            continue;
        cleanup_free char *kernel = agent_below(root, "/boot/%s", entry->d_name);
        cleanup_free char *modules = agent_below(root, "/lib/modules/%s", entry->d_name + 8);
        json_array_append_new(all, json_pack("{s:o, s:b, s:b}", "path",
                                             agent_json_string(kernel + strlen(root)), "readable",
                                             access(kernel, R_OK) == 0, "modules",
                                             access(modules, F_OK) == 0));
    }
    if (dir)
        closedir(dir);
    return all;
}

/* Does TEXT hold one of these words, whatever their case? They are the kernel's own. */
static bool speaks_of_virtualization(const char *text)
{
    static const char *const words[] = {"kvm",         "svm",     "vmx",         "lockdown",
                                        "locked down", "vboxdrv", "secure boot", "unsigned module",
                                        "hypervisor"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasestr(text, words[i]))
            return true;
    return false;
}

json_t *agent_machine_log(const char *path)
{
    cleanup_agent_error struct agent_error error = {0};
    cleanup_json json_t *lines = json_array();
    json_int_t next = 0;
    bool overwritten = false;

    for (;;) {
        cleanup_json json_t *part = NULL;
        json_t *record;
        size_t i;

        if (agent_kmsg_read(path, next, &part, &error) < 0)
            return json_pack("{s:o}", "error", agent_json_string(error.message));
        const json_t *records = json_object_get(part, "records");
        json_array_foreach(records, i, record)
        {
            json_t *text = json_object_get(record, "text");
            if (speaks_of_virtualization(json_string_value(text)) &&
                json_array_size(lines) < LOG_LINES_MAX)
                json_array_append(lines, text);
        }
        overwritten |= next == 0 && json_integer_value(json_object_get(part, "lost")) > 0;
        if (json_array_size(records) == 0)
            return json_pack("{s:O, s:b}", "lines", lines, "overwritten", overwritten);
        next = json_integer_value(json_object_get(part, "next"));
    }
}
