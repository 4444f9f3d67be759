/*
 * exit-reasons.c - see exit-reasons.h.
 */
#include "exit-reasons.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define INSTANCE "nestlab-"
#define FILE_MAX (4U << 20)
#define CMDLINE_MAX (1U << 20)

enum { ISA_VMX = 1, ISA_SVM = 2 }; /* KVM_ISA_VMX, KVM_ISA_SVM */

static const struct event {
    const char *name;
    const char *key; /* of the reply */
    bool optional;
} events[] = {
    {"kvm_exit", "exits", false},
    {"kvm_nested_vmexit", "inside", true},
};

#define N_EVENTS (sizeof(events) / sizeof(events[0]))

/* Older kernels call the field of kvm_nested_vmexit exit_code. */
static const char *const fields[] = {"exit_reason", "exit_code"};

static struct {
    char *instance;       /* NULL: not begun */
    char *keys[N_EVENTS]; /* what the trigger is; NULL: not counted */
} counting;

static char *file_of(const struct event *event, const char *file)
{
    char *path;

    return asprintf(&path, "%s/events/kvm/%s/%s", counting.instance, event->name, file) < 0 ? NULL
                                                                                            : path;
}

static int write_trigger(const struct event *event, const char *mark, const char *keys)
{
    cleanup_free char *path = file_of(event, "trigger");
    cleanup_free char *text = NULL;
    FILE *file = path ? fopen(path, "we") : NULL;
    int length;

    if (!file)
        return -1;
    length = asprintf(&text, "%s%s\n", mark, keys);
    if (length > 0)
        fputs(text, file);
    return fclose(file) == 0 && length > 0 ? 0 : -1;
}

void agent_exit_reasons_forget(void)
{
    if (!counting.instance)
        return;
    for (size_t i = 0; i < N_EVENTS; i++) {
        if (counting.keys[i])
            write_trigger(&events[i], "!", counting.keys[i]);
        free(counting.keys[i]);
        counting.keys[i] = NULL;
    }
    rmdir(counting.instance);
    free(counting.instance);
    counting.instance = NULL;
}

/* The first of FOLDERS that can be written into; NULL with errno, why not one that is there. */
static const char *writable(const char *const *folders)
{
    int why = ENOENT;

    for (; *folders; folders++) {
        if (access(*folders, W_OK) == 0)
            return *folders;
        if (errno != ENOENT)
            why = errno;
    }
    errno = why;
    return NULL;
}

/* Where tracing instances are made; NULL with errno. */
static const char *find_instances(bool may_mount)
{
    static const char *const folders[] = {"/sys/kernel/tracing/instances",
                                          "/sys/kernel/debug/tracing/instances", NULL};
    const char *found = writable(folders);

    if (found || !may_mount || mount("nodev", "/sys/kernel/tracing", "tracefs", 0, NULL) < 0)
        return found;
    return writable(folders);
}

void agent_exit_remove_stale(const char *instances)
{
    DIR *folder = opendir(instances);
    struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        char *end;
        long pid;

        if (strncmp(entry->d_name, INSTANCE, strlen(INSTANCE)) != 0)
            continue;
        pid = strtol(entry->d_name + strlen(INSTANCE), &end, 10);
        /* This process has none yet: one of its number is of a process before it. */
        if (*end || pid <= 0 || (pid != getpid() && (kill((pid_t)pid, 0) == 0 || errno != ESRCH)))
            continue;
        unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR);
    }
    if (folder)
        closedir(folder);
}

void agent_exit_reasons_clean(void)
{
    const char *instances = find_instances(false);

    if (instances)
        agent_exit_remove_stale(instances);
}

static int begin_event(size_t i, struct agent_error *error)
{
    cleanup_free char *path = file_of(&events[i], "format");
    cleanup_free char *format = path ? agent_read_file(path, FILE_MAX, NULL) : NULL;

    for (size_t f = 0; format && f < sizeof(fields) / sizeof(fields[0]); f++) {
        if (!strstr(format, fields[f]))
            continue;
        if (asprintf(&counting.keys[i], "hist:keys=common_pid,isa,%s", fields[f]) < 0)
            counting.keys[i] = NULL;
        if (counting.keys[i] && write_trigger(&events[i], "", counting.keys[i]) == 0)
            return 0;
        free(counting.keys[i]);
        counting.keys[i] = NULL;
        break;
    }
    if (events[i].optional)
        return 0;
    if (!format)
        return agent_fail(error, "is the module kvm loaded?",
                          "this kernel has no tracepoint kvm:%s", events[i].name);
    return agent_fail(error, "it needs CONFIG_HIST_TRIGGERS",
                      "this kernel cannot count its tracepoint kvm:%s", events[i].name);
}

int agent_exit_reasons_begin(bool may_mount, struct agent_error *error)
{
    const char *instances;

    agent_exit_reasons_forget();
    instances = find_instances(may_mount);
    if (!instances)
        return agent_fail(error, "it needs root, and tracefs on /sys/kernel/tracing",
                          "tracing is not to be had: %s", strerror(errno));
    agent_exit_remove_stale(instances);
    if (asprintf(&counting.instance, "%s/" INSTANCE "%d", instances, (int)getpid()) < 0) {
        counting.instance = NULL;
        return agent_fail(error, NULL, "no memory");
    }
    if (mkdir(counting.instance, 0700) < 0) {
        agent_fail(error, NULL, "cannot make %s: %s", counting.instance, strerror(errno));
        free(counting.instance);
        counting.instance = NULL;
        return -1;
    }
    for (size_t i = 0; i < N_EVENTS; i++) {
        if (begin_event(i, error) < 0) {
            agent_exit_reasons_forget();
            return -1;
        }
    }
    return 0;
}

/* Do the arguments in TEXT, each ended by a zero, have "-uuid" UUID? */
static bool has_uuid(const char *text, size_t length, const char *uuid)
{
    bool next = false;

    for (const char *argument = text; argument < text + length; argument += strlen(argument) + 1) {
        if (next && !strcmp(argument, uuid))
            return true;
        next = !strcmp(argument, "-uuid");
    }
    return false;
}

char *agent_exit_tasks(const char *proc, const char *uuid)
{
    DIR *folder = opendir(proc);
    char *tasks = NULL;
    struct dirent *entry;

    while (folder && !tasks && (entry = readdir(folder))) {
        cleanup_free char *path = NULL, *text = NULL;
        size_t length;

        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
            asprintf(&path, "%s/%s/cmdline", proc, entry->d_name) < 0)
            continue;
        text = agent_read_file(path, CMDLINE_MAX, &length);
        if (text && has_uuid(text, length, uuid) &&
            asprintf(&tasks, "%s/%s/task", proc, entry->d_name) < 0)
            tasks = NULL;
    }
    if (folder)
        closedir(folder);
    return tasks;
}

/* Does the entry TEXT of a table, { 0x072, "cpuid" } or { 0x040 + 6, "UD excp" }, name CODE? */
static bool is_named(const char *text, unsigned code, char name[64])
{
    long long value, more = 0;

    return (sscanf(text, "{ %lli , \"%63[^\"]\"", &value, name) == 2 ||
            sscanf(text, "{ %lli + %lli , \"%63[^\"]\"", &value, &more, name) == 3) &&
           (unsigned)(value + more) == code;
}

/* The kernel prints reasons by tables that its format shows, the first for VMX, the second for SVM:
   __print_symbolic(REC->exit_reason, { 0x072, "cpuid" }, ...) */
static json_t *name_of(const char *format, unsigned isa, unsigned code)
{
    static const char start[] = "__print_symbolic(";
    const char *list = format;
    unsigned shown = isa == ISA_VMX ? code & 0xffff : code; /* above are flags */

    for (unsigned i = 0; list && i < isa; i++) {
        list = strstr(list, start);
        list = list ? list + strlen(start) : NULL;
    }
    while (list && (list = strpbrk(list, "{)")) && *list == '{') {
        char name[64];

        if (is_named(list, shown, name))
            return agent_json_string(name);
        list = strchr(list, '}');
    }
    return json_sprintf("0x%x", shown);
}

static void add(json_t *reasons, const char *format, unsigned isa, unsigned code,
                unsigned long long times)
{
    const char *set = isa == ISA_VMX ? "vmx" : "svm";
    json_t *reason;
    size_t i;

    json_array_foreach(reasons, i, reason)
    {
        json_int_t before = json_integer_value(json_object_get(reason, "times"));

        if (json_integer_value(json_object_get(reason, "code")) != (json_int_t)code ||
            strcmp(json_string_value(json_object_get(reason, "isa")), set) != 0)
            continue;
        json_object_set_new(reason, "times", json_integer(before + (json_int_t)times));
        return;
    }
    json_array_append_new(reasons, json_pack("{s:s, s:I, s:o, s:I}", "isa", set, "code",
                                             (json_int_t)code, "reason", name_of(format, isa, code),
                                             "times", (json_int_t)times));
}

static bool is_in(const char *tasks, long pid)
{
    cleanup_free char *path = NULL;

    return asprintf(&path, "%s/%ld", tasks, pid) > 0 && access(path, F_OK) == 0;
}

int agent_exit_histogram(const char *histogram, const char *format, const char *tasks,
                         json_t **reasons, struct agent_error *error)
{
    cleanup_free char *copy = strdup(histogram);
    unsigned long long times, dropped = 0;
    char *rest = copy;

    *reasons = json_array();
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        unsigned isa, code;
        long pid;

        if (sscanf(line, " { common_pid: %ld, isa: %u, %*[a-z_]: %u } hitcount: %llu", &pid, &isa,
                   &code, &times) == 4) {
            if ((isa == ISA_VMX || isa == ISA_SVM) && is_in(tasks, pid))
                add(*reasons, format, isa, code, times);
        } else {
            sscanf(line, " Dropped: %llu", &dropped);
        }
    }
    if (dropped == 0)
        return 0;
    json_decref(*reasons);
    *reasons = NULL;
    return agent_fail(error, NULL, "the kernel had no room to count %llu exits", dropped);
}

static int read_event(size_t i, const char *tasks, json_t *result, struct agent_error *error)
{
    cleanup_free char *histogram_path = file_of(&events[i], "hist");
    cleanup_free char *format_path = file_of(&events[i], "format");
    cleanup_free char *histogram =
        histogram_path ? agent_read_file(histogram_path, FILE_MAX, NULL) : NULL;
    cleanup_free char *format = format_path ? agent_read_file(format_path, FILE_MAX, NULL) : NULL;
    json_t *reasons = NULL;

    if (!histogram || !format)
        return agent_fail(error, NULL, "cannot read what tracepoint kvm:%s has counted: %s",
                          events[i].name, strerror(errno));
    if (agent_exit_histogram(histogram, format, tasks, &reasons, error) < 0)
        return -1;
    json_object_set_new(result, events[i].key, reasons);
    return 0;
}

int agent_exit_reasons_end(const char *uuid, json_t **result, struct agent_error *error)
{
    cleanup_json json_t *counted = NULL;
    cleanup_free char *tasks = NULL;
    int rc = 0;

    if (!counting.instance)
        return agent_fail(error, "say \"count\": true before", "no exits are being counted");
    counted = json_pack("{s:n}", "inside");
    tasks = agent_exit_tasks("/proc", uuid);
    if (!tasks)
        rc = agent_fail(error, NULL, "no QEMU here was started with -uuid %s", uuid);
    for (size_t i = 0; rc == 0 && i < N_EVENTS; i++)
        if (counting.keys[i])
            rc = read_event(i, tasks, counted, error);
    agent_exit_reasons_forget();
    /* Asking alone makes the guest exit. */
    if (rc == 0 && json_array_size(json_object_get(counted, "exits")) == 0)
        rc = agent_fail(error, "in a container with process numbers of its own nobody finds them",
                        "no exit is of the threads of the QEMU with -uuid %s", uuid);
    if (rc == 0)
        *result = json_incref(counted);
    return rc;
}
