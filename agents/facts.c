/*
 * facts.c - see facts.h.
 */
#include "facts.h"

#include "cpu.h"
#include "kvm.h"
#include "vmx.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#define TEXT_MAX (1024 * 1024)

static json_t *line_of(const char *path)
{
    cleanup_free char *line = agent_read_line(path);

    return agent_json_string(line);
}

/* The words of TEXT up to the end of the line. */
static json_t *words(const char *text)
{
    json_t *all = json_array();

    for (;;) {
        text += strspn(text, " \t");
        size_t length = strcspn(text, " \t\n");
        if (length == 0)
            return all;
        json_array_append_new(all, agent_json_text(text, length));
        text += length;
    }
}

json_t *agent_facts_flags(const char *cpuinfo)
{
    for (const char *line = cpuinfo; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "flags", 5) != 0)
            continue;
        const char *value = line + 5 + strspn(line + 5, " \t");
        if (*value == ':')
            return words(value + 1);
    }
    return json_array();
}

static json_t *kernel_facts(void)
{
    struct utsname names;

    if (uname(&names) < 0)
        return json_null();
    return json_pack("{s:o, s:o, s:o}", "release", agent_json_string(names.release), "version",
                     agent_json_string(names.version), "machine", agent_json_string(names.machine));
}

static json_t *module_facts(const char *name)
{
    char path[PATH_MAX];
    json_t *parameters = json_object();

    snprintf(path, sizeof(path), "/sys/module/%s", name);
    bool loaded = access(path, F_OK) == 0;
    snprintf(path, sizeof(path), "/sys/module/%s/parameters", name);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char file[PATH_MAX + 256];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        json_object_set_new(parameters, entry->d_name, line_of(file));
    }
    if (dir)
        closedir(dir);
    return json_pack("{s:b, s:o}", "loaded", loaded, "parameters", parameters);
}

static json_t *modules_facts(void)
{
    json_t *all = json_object();
    DIR *dir = opendir("/sys/module");

    json_object_set_new(all, "kvm", module_facts("kvm"));
    json_object_set_new(all, "kvm_amd", module_facts("kvm_amd"));
    json_object_set_new(all, "kvm_intel", module_facts("kvm_intel"));
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (strncmp(entry->d_name, "kvm", 3) == 0 && !json_object_get(all, entry->d_name))
            json_object_set_new(all, entry->d_name, module_facts(entry->d_name));
    if (dir)
        closedir(dir);
    return all;
}

static json_t *clock_facts(void)
{
    static const char folder[] = "/sys/devices/system/clocksource/clocksource0";
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/available_clocksource", folder);
    cleanup_free char *available = agent_read_line(path);
    snprintf(path, sizeof(path), "%s/current_clocksource", folder);
    return json_pack("{s:o, s:o}", "current", line_of(path), "available",
                     words(available ? available : ""));
}

/* "always [madvise] never" -> "madvise" */
static json_t *chosen(const char *path)
{
    cleanup_free char *line = agent_read_line(path);
    const char *open = line ? strchr(line, '[') : NULL;
    const char *close = open ? strchr(open, ']') : NULL;

    return close ? agent_json_text(open + 1, (size_t)(close - open - 1)) : json_null();
}

static json_t *number_of(const char *format, const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), format, name);
    cleanup_free char *line = agent_read_line(path);
    return line && *line ? json_integer(atoll(line)) : json_null();
}

static json_t *huge_page_facts(void)
{
    static const char folder[] = "/sys/kernel/mm/hugepages";
    json_t *pools = json_array();
    DIR *dir = opendir(folder);

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        long long size;
        if (sscanf(entry->d_name, "hugepages-%lldkB", &size) != 1)
            continue;
        json_array_append_new(
            pools,
            json_pack("{s:I, s:o, s:o}", "size_kib", (json_int_t)size, "total",
                      number_of("/sys/kernel/mm/hugepages/%s/nr_hugepages", entry->d_name), "free",
                      number_of("/sys/kernel/mm/hugepages/%s/free_hugepages", entry->d_name)));
    }
    if (dir)
        closedir(dir);
    return json_pack("{s:o, s:o}", "transparent",
                     chosen("/sys/kernel/mm/transparent_hugepage/enabled"), "pools", pools);
}

static json_t *meminfo_field(const char *meminfo, const char *name)
{
    const char *at = meminfo ? strstr(meminfo, name) : NULL;

    return at ? json_integer(atoll(at + strlen(name))) : json_null();
}

static json_t *memory_facts(void)
{
    cleanup_free char *meminfo = agent_read_file("/proc/meminfo", TEXT_MAX, NULL);

    return json_pack("{s:o, s:o, s:o}", "total_kib", meminfo_field(meminfo, "MemTotal:"),
                     "available_kib", meminfo_field(meminfo, "MemAvailable:"), "free_kib",
                     meminfo_field(meminfo, "MemFree:"));
}

/* Of the root file system: what is available is less than what is free, some is held back for
   root. */
static json_t *disk_facts(void)
{
    struct statvfs about;

    if (statvfs("/", &about) < 0)
        return json_null();
    return json_pack("{s:I, s:I}", "total_kib",
                     (json_int_t)(about.f_blocks * about.f_frsize / 1024), "available_kib",
                     (json_int_t)(about.f_bavail * about.f_frsize / 1024));
}

/* The kernel's opinion of every CPU weakness: mitigations make up much of what an exit costs. */
static json_t *vulnerability_facts(void)
{
    static const char folder[] = "/sys/devices/system/cpu/vulnerabilities";
    json_t *all = json_object();
    DIR *dir = opendir(folder);

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[PATH_MAX];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        json_object_set_new(all, entry->d_name, line_of(path));
    }
    if (dir)
        closedir(dir);
    return all;
}

json_t *agent_facts(const char *layer, double uptime_at_ready_s, bool kvm_guest)
{
    cleanup_free char *cpuinfo = agent_read_file("/proc/cpuinfo", TEXT_MAX, NULL);
    json_t *facts = json_object();
    json_t *msrs = agent_vmx_capabilities("/dev/cpu/0/msr");

    json_object_set_new(facts, "agent", json_string(NL_VERSION));
    json_object_set_new(facts, "layer", agent_json_string(layer));
    json_object_set_new(facts, "uptime_at_ready_s",
                        uptime_at_ready_s < 0 ? json_null() : json_real(uptime_at_ready_s));
    json_object_set_new(facts, "uptime_s", json_real(agent_uptime_s()));
    json_object_set_new(facts, "kernel", kernel_facts());
    json_object_set_new(facts, "command_line", line_of("/proc/cmdline"));
    json_object_set_new(facts, "cpuid", agent_cpuid_facts(agent_cpuid_native));
    json_object_set_new(facts, "flags", agent_facts_flags(cpuinfo ? cpuinfo : ""));
    json_object_set_new(facts, "vmx_features", agent_vmx_features(msrs));
    json_object_set_new(facts, "vmx_capabilities", msrs);
    json_object_set_new(facts, "vcpus", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    json_object_set_new(facts, "modules", modules_facts());
    json_object_set_new(facts, "kvm", agent_kvm_facts(kvm_guest, AGENT_KVM_DEADLINE_S));
    json_object_set_new(facts, "clock_source", clock_facts());
    json_object_set_new(facts, "huge_pages", huge_page_facts());
    json_object_set_new(facts, "memory", memory_facts());
    json_object_set_new(facts, "disk", disk_facts());
    json_object_set_new(facts, "vulnerabilities", vulnerability_facts());
    return facts;
}
