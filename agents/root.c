/*
 * root.c - see root.h.
 */
#include "root.h"

#include "find-disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEW_ROOT "/newroot"
#define BOOT_SERIAL "nl-boot"
#define ROOT_DEADLINE_S 20.0
#define BOOT_DEADLINE_S 2.0

static int copy_self(const char *to)
{
    cleanup_close int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    cleanup_close int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    ssize_t n;

    if (in < 0 || out < 0)
        return -1;
    while ((n = sendfile(out, in, NULL, 1 << 20)) > 0)
        ;
    return (int)n;
}

static void mount_boot_disk(void (*trouble)(const char *name, const char *message))
{
    cleanup_free char *device = agent_disk_find(BOOT_SERIAL, BOOT_DEADLINE_S);

    if (!device)
        trouble("boot disk", "no disk with serial number " BOOT_SERIAL);
    else if (mount(device, NEW_ROOT AGENT_BOOT_DISK, "ext4", MS_RDONLY, "") < 0)
        trouble("boot disk", strerror(errno));
}

int agent_root_mount(const char *serial, void (*trouble)(const char *name, const char *message),
                     struct agent_error *error)
{
    cleanup_free char *device = agent_disk_find(serial, ROOT_DEADLINE_S);

    if (!device)
        return agent_fail(error, NULL, "no disk with serial number %s after %g s", serial,
                          ROOT_DEADLINE_S);
    mkdir(NEW_ROOT, 0755);
    if (mount(device, NEW_ROOT, "ext4", MS_NOATIME, "") < 0)
        return agent_fail(error, NULL, "cannot mount %s: %s", device, strerror(errno));
    mkdir(NEW_ROOT "/run", 0755);
    if (mount("tmpfs", NEW_ROOT "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") < 0)
        return agent_fail(error, NULL, "cannot mount /run: %s", strerror(errno));
    agent_make_folders(NEW_ROOT AGENT_BOOT_DISK);
    mount_boot_disk(trouble);
    if (copy_self(NEW_ROOT AGENT_COPY) < 0)
        return agent_fail(error, NULL, "cannot copy the agent to %s: %s", AGENT_COPY,
                          strerror(errno));
    return 0;
}

/* Remove everything on DEVICE below FD, which is closed: an initramfs is memory. */
static void remove_all(int fd, dev_t device)
{
    DIR *dir = fdopendir(fd);

    if (!dir) {
        close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct stat about;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) < 0 || about.st_dev != device)
            continue;
        if (!S_ISDIR(about.st_mode)) {
            unlinkat(fd, entry->d_name, 0);
            continue;
        }
        int below = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0)
            remove_all(below, device);
        unlinkat(fd, entry->d_name, AT_REMOVEDIR);
    }
    closedir(dir);
}

int agent_root_switch(const char *argument, struct agent_error *error)
{
    static const char *const moved[] = {"/dev", "/proc", "/sys"};
    int old_root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat about;
    char to[64];

    for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++) {
        snprintf(to, sizeof(to), NEW_ROOT "%s", moved[i]);
        mkdir(to, 0755);
        if (mount(moved[i], to, NULL, MS_MOVE, NULL) < 0)
            return agent_fail(error, NULL, "cannot move %s: %s", moved[i], strerror(errno));
    }
    if (chdir(NEW_ROOT) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
        chdir("/") < 0)
        return agent_fail(error, NULL, "cannot switch root: %s", strerror(errno));
    if (old_root >= 0 && fstat(old_root, &about) == 0)
        remove_all(old_root, about.st_dev);
    execl(AGENT_COPY, AGENT_COPY, argument, (char *)NULL);
    return agent_fail(error, NULL, "cannot execute %s: %s", AGENT_COPY, strerror(errno));
}
