/*
 * find-disk.c - see find-disk.h; and the scratch folder of the benchmarks, which may be such a
 * disk.
 */
#include "find-disk.h"

#include "bench.h"
#include "cmdline.h"
#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define POLL_MS 10
#define SCRATCH "/var/tmp"
#define SCRATCH_DEADLINE_S 2.0

static char *look(const char *serial)
{
    DIR *dir = opendir("/sys/block");
    char *device = NULL;

    for (struct dirent *entry; dir && !device && (entry = readdir(dir));) {
        char path[512];
        snprintf(path, sizeof(path), "/sys/block/%s/serial", entry->d_name);
        cleanup_free char *found = agent_read_line(path);
        if (!found || strcmp(found, serial) != 0)
            continue;
        snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
        if (access(path, F_OK) == 0)
            device = strdup(path);
    }
    if (dir)
        closedir(dir);
    return device;
}

char *agent_disk_find(const char *serial, double deadline_s)
{
    int64_t until = agent_now_ms() + (int64_t)(deadline_s * 1000);

    for (;;) {
        char *device = look(serial);
        if (device || agent_now_ms() >= until)
            return device;
        usleep(POLL_MS * 1000);
    }
}

json_t *agent_disks(void)
{
    DIR *dir = opendir("/sys/block");
    json_t *disks = json_object();

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[512];
        snprintf(path, sizeof(path), "/sys/block/%s/serial", entry->d_name);
        cleanup_free char *serial = agent_read_line(path);
        if (serial && serial[0]) {
            snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
            json_object_set_new(disks, serial, json_string(path));
        }
    }
    if (dir)
        closedir(dir);
    return disks;
}

const char *agent_scratch_dir(char **why_not)
{
    cleanup_free char *serial = agent_cmdline_own("nestlab.scratch");

    mkdir("/var", 0755);
    mkdir(SCRATCH, 01777);
    if (serial) {
        cleanup_free char *device = agent_disk_find(serial, SCRATCH_DEADLINE_S);
        /* EBUSY: it is mounted there already. */
        if (!device || (mount(device, SCRATCH, "ext4", MS_NOATIME, "") < 0 && errno != EBUSY)) {
            if (asprintf(why_not, "scratch disk %s: %s", serial,
                         device ? strerror(errno) : "no disk with this serial number") < 0)
                *why_not = NULL;
            return NULL;
        }
    }
    if (access(SCRATCH, W_OK) == 0)
        return SCRATCH;
    if (asprintf(why_not, "%s: %s", SCRATCH, strerror(errno)) < 0)
        *why_not = NULL;
    return NULL;
}
