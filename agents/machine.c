/*
 * machine.c - see machine.h: the whole, and what belongs to the process that looks: its user, its
 * limits, the file systems it sees.
 */
#include "machine.h"
#include "machine-parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#define GROUPS_MAX 256

char *agent_below(const char *root, const char *format, ...)
{
    cleanup_free char *path = NULL;
    char *whole = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&path, format, args) < 0)
        path = NULL;
    va_end(args);
    if (!path || asprintf(&whole, "%s%s", root, path) < 0)
        abort();
    return whole;
}

char *agent_line_below(const char *root, const char *path)
{
    cleanup_free char *whole = agent_below(root, "%s", path);

    return agent_read_line(whole);
}

json_t *agent_unknown(const char *path, int why)
{
    return json_pack("{s:o}", "error", json_sprintf("%s: %s", path, strerror(why)));
}

const char *agent_first_below(const char *root, const char *const *candidates)
{
    for (; *candidates; candidates++) {
        cleanup_free char *path = agent_below(root, "%s", *candidates);
        if (access(path, F_OK) == 0)
            return *candidates;
    }
    return NULL;
}

char *agent_find_program(const char *name)
{
    const char *own = getenv("PATH");
    cleanup_free char *all = agent_below(own ? own : "", ":%s",
                                         "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:"
                                         "/bin:/usr/libexec");
    char *rest = all;

    for (char *folder; (folder = strsep(&rest, ":"));) {
        cleanup_free char *path = agent_below(folder, "/%s", name);
        struct stat st;
        if (*folder == '/' && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
            access(path, X_OK) == 0)
            return strdup(path);
    }
    return NULL;
}

static json_t *user_facts(void)
{
    gid_t ids[GROUPS_MAX];
    int n = getgroups(GROUPS_MAX, ids);
    json_t *groups = json_array();

    json_array_append_new(groups, json_integer(getegid()));
    for (int i = 0; i < n; i++)
        json_array_append_new(groups, json_integer(ids[i]));
    return json_pack("{s:i, s:o}", "uid", (int)geteuid(), "groups", groups);
}

/* The name of a group by /etc/group alone: a static program cannot ask the name services. */
static json_t *group_name(const char *root, gid_t gid)
{
    cleanup_free char *path = agent_below(root, "/etc/group");
    cleanup_free char *text = agent_read_file(path, 1024 * 1024, NULL);
    char *rest = text;

    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        const char *name = strsep(&line, ":");
        if (!line || !strsep(&line, ":") || !line)
            continue;
        const char *number = strsep(&line, ":");
        char *end;
        if (strtoul(number, &end, 10) == gid && end != number && !*end)
            return agent_json_string(name);
    }
    return json_null();
}

json_t *agent_machine_device(const char *root, const char *path)
{
    cleanup_free char *whole = agent_below(root, "%s", path);
    struct stat st;

    if (stat(whole, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR ? json_pack("{s:b}", "exists", 0)
                                                   : agent_unknown(path, errno);
    return json_pack("{s:b, s:b, s:o, s:i, s:i, s:o, s:b}", "exists", 1, "character_device",
                     S_ISCHR(st.st_mode), "mode", json_sprintf("%04o", st.st_mode & 07777), "uid",
                     (int)st.st_uid, "gid", (int)st.st_gid, "group", group_name(root, st.st_gid),
                     "accessible", access(whole, R_OK | W_OK) == 0);
}

/* A limit as a number; null is none. */
static json_t *limit_value(rlim_t value)
{
    return value == RLIM_INFINITY ? json_null() : json_integer((json_int_t)value);
}

static json_t *limit_facts(void)
{
    static const struct {
        const char *name;
        __rlimit_resource_t number;
    } limits[] = {
        {"open_files", RLIMIT_NOFILE},
        {"processes", RLIMIT_NPROC},
        {"locked_memory", RLIMIT_MEMLOCK},
        {"address_space", RLIMIT_AS},
        {"data", RLIMIT_DATA},
        {"file_size", RLIMIT_FSIZE},
        {"cpu_seconds", RLIMIT_CPU},
    };
    json_t *all = json_object();

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct rlimit limit;
        if (getrlimit(limits[i].number, &limit) == 0)
            json_object_set_new(all, limits[i].name,
                                json_pack("{s:o, s:o}", "soft", limit_value(limit.rlim_cur), "hard",
                                          limit_value(limit.rlim_max)));
    }
    return all;
}

/* The nearest folder of PATH that exists: what is to be made there comes to lie on its file system.
 */
static json_t *file_system(const char *path)
{
    cleanup_free char *folder = agent_below("", "%s", path);
    struct statvfs fs;

    while (statvfs(folder, &fs) < 0) {
        char *slash = strrchr(folder, '/');
        if (errno != ENOENT || !slash || slash == folder)
            return agent_unknown(path, errno);
        *slash = '\0';
    }
    return json_pack("{s:o, s:I, s:I, s:b, s:b}", "folder", agent_json_string(folder), "total_mib",
                     (json_int_t)((unsigned long long)fs.f_blocks * fs.f_frsize >> 20),
                     "available_mib",
                     (json_int_t)((unsigned long long)fs.f_bavail * fs.f_frsize >> 20), "read_only",
                     (fs.f_flag & ST_RDONLY) != 0, "writable", access(folder, W_OK) == 0);
}

static json_t *file_systems(const json_t *paths)
{
    static const char *const always[] = {"/tmp", "/var/tmp", "/dev/shm"};
    json_t *all = json_object();
    json_t *path;
    size_t i;

    for (i = 0; i < sizeof(always) / sizeof(always[0]); i++)
        json_object_set_new(all, always[i], file_system(always[i]));
    json_array_foreach(paths, i, path)
    {
        const char *text = json_string_value(path);
        if (text && *text == '/')
            json_object_set_new(all, text, file_system(text));
    }
    return all;
}

static json_t *program_facts(void)
{
    static const char *const names[] = {
        "qemu-img", "mmdebstrap", "supermin", "mke2fs",   "depmod", "modprobe",
        "unshare",  "newuidmap",  "apt-get",  "dpkg-deb", "xz",     "sshd",
    };
    json_t *all = json_object();

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cleanup_free char *path = agent_find_program(names[i]);
        json_object_set_new(all, names[i], agent_json_string(path));
    }
    return all;
}

json_t *agent_machine(const json_t *paths)
{
    json_t *machine = json_object();
    struct utsname names;

    if (uname(&names) < 0)
        memset(&names, 0, sizeof(names));
    json_object_set_new(machine, "user", user_facts());
    json_object_set_new(machine, "os", agent_machine_os(""));
    json_object_set_new(machine, "container", agent_machine_container(""));
    json_object_set_new(machine, "kvm_device", agent_machine_device("", "/dev/kvm"));
    json_object_set_new(machine, "qboot", agent_machine_device("", "/usr/share/qemu/qboot.rom"));
    json_object_set_new(machine, "modules", agent_machine_modules("", names.release));
    json_object_set_new(machine, "lockdown", agent_machine_lockdown(""));
    json_object_set_new(machine, "firmware", agent_machine_firmware(""));
    json_object_set_new(machine, "cgroup", agent_machine_cgroup(""));
    json_object_set_new(machine, "limits", limit_facts());
    json_object_set_new(machine, "file_systems", file_systems(paths));
    json_object_set_new(machine, "libvirt", agent_machine_libvirt(""));
    json_object_set_new(machine, "kernels", agent_machine_kernels(""));
    json_object_set_new(machine, "module_folder", json_boolean(access("/lib/modules", F_OK) == 0));
    json_object_set_new(machine, "programs", program_facts());
    json_object_set_new(machine, "log", agent_machine_log("/dev/kmsg"));
    json_object_set_new(machine, "qemu", agent_machine_qemu());
    return machine;
}
