/*
 * fuzz-agent-machine.c - libFuzzer target: any bytes as what a machine's files and its QEMU say to
 * the agent: /proc/cpuinfo, /proc/modules, the table of symbols, os-release, groups, control
 * groups.
 *
 * Bytes 0xff separate the files' contents, in the order of the table below.
 */
#include "facts.h"
#include "machine.h"
#include "symbols.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/fuzz-machine-XXXXXX";

static const char *const folders[] = {
    "/proc",      "/proc/self",     "/etc",
    "/sys",       "/sys/kernel",    "/sys/kernel/security",
    "/sys/class", "/sys/class/dmi", "/sys/class/dmi/id",
    "/run",       "/run/systemd",
};

static const char *const files[] = {
    "/proc/kallsyms",
    "/proc/modules",
    "/proc/self/cgroup",
    "/etc/os-release",
    "/etc/group",
    "/sys/kernel/security/lockdown",
    "/sys/class/dmi/id/sys_vendor",
    "/run/systemd/container",
};

#define FILES (sizeof(files) / sizeof(files[0]))

static void path_of(size_t file, char path[256])
{
    snprintf(path, 256, "%s%s", root, files[file]);
}

static void remove_all(void)
{
    char path[256];

    for (size_t i = 0; i < FILES; i++) {
        path_of(i, path);
        unlink(path);
    }
    for (size_t i = sizeof(folders) / sizeof(folders[0]); i > 0; i--) {
        snprintf(path, sizeof(path), "%s%s", root, folders[i - 1]);
        rmdir(path);
    }
    rmdir(root);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    if (!mkdtemp(root))
        abort();
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s%s", root, folders[i]);
        if (mkdir(path, 0700) < 0)
            abort();
    }
    atexit(remove_all);
    return 0;
}

static void write_file(size_t file, const uint8_t *bytes, size_t length)
{
    char path[256];

    path_of(file, path);
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || (length && write(fd, bytes, length) != (ssize_t)length))
        abort();
}

/* The agent says it in a line of JSON, or it is lost. Consumes SAID. */
static void check_said(json_t *said)
{
    cleanup_free char *text = said ? json_dumps(said, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

    if (!text)
        abort();
    json_decref(said);
}

/* As many answers as questions, whatever the table says. */
static void check_names(void)
{
    cleanup_agent_error struct agent_error error = {0};
    cleanup_json json_t *addresses =
        json_pack("[s, s, s]", "ffffffff81000010", "ffffffffc0000000", "0");
    cleanup_json json_t *symbols = NULL;
    char path[256];

    path_of(0, path);
    if (agent_symbols(path, addresses, &symbols, &error) == 0 &&
        json_array_size(json_object_get(symbols, "symbols")) != 3)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *whole = strndup((const char *)data, size);

    if (!whole)
        abort();
    for (size_t i = 0; i < FILES; i++) {
        const uint8_t *mark = size ? memchr(data, 0xff, size) : NULL;
        size_t length = mark ? (size_t)(mark - data) : size;
        write_file(i, data, length);
        size -= length + (mark != NULL);
        data += length + (mark != NULL);
    }
    check_said(agent_machine_os(root));
    check_said(agent_machine_lockdown(root));
    check_said(agent_machine_firmware(root));
    check_said(agent_machine_cgroup(root));
    check_said(agent_machine_modules(root, "6.1"));
    check_said(agent_machine_container(root));
    check_said(agent_machine_device(root, "/etc/group"));
    check_said(agent_facts_flags(whole));
    check_said(agent_qemu_answers(whole));
    check_names();
    return 0;
}
