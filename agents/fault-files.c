/*
 * fault-files.c - faults in a guest's files and device nodes: see fault.h. All of it happens to the
 * guest's overlay, or in its memory.
 */
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#define EMULATOR "/usr/bin/qemu-system-x86_64"
#define SSHD_CONFIG "/etc/ssh/sshd_config"
#define FILLER "/var/filler"
#define KVM "/dev/kvm"
/* A node on /tmp, which is mounted with nodev. */
#define KVM_ELSEWHERE "/tmp/nestlab-kvm"

int agent_fault_no_kvm_module(struct agent_error *error)
{
    static const char *const names[] = {"kvm-amd.ko", "kvm-intel.ko"};
    struct utsname kernel;
    int removed = 0;

    uname(&kernel);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "/lib/modules/%s/kernel/arch/x86/kvm/%s", kernel.release,
                 names[i]);
        removed += unlink(path) == 0;
    }
    return removed ? 0
                   : agent_fail(error, NULL, "%s has no KVM module to remove: %s", kernel.release,
                                strerror(errno));
}

/* Root, and a QEMU of root's with all its capabilities, is not stopped by a node's mode; a node on
   a file system without devices nobody can open. Both give EACCES. */
int agent_fault_kvm_unreadable(struct agent_error *error)
{
    struct stat about;

    if (stat(KVM, &about) < 0)
        return agent_fail(error, NULL, "there is no " KVM " to take the rights from");
    if (mknod(KVM_ELSEWHERE, S_IFCHR, about.st_rdev) < 0 ||
        mount(KVM_ELSEWHERE, KVM, NULL, MS_BIND, NULL) < 0)
        return agent_fail(error, NULL, "cannot lay a node without rights over " KVM ": %s",
                          strerror(errno));
    cleanup_close int fd = open(KVM, O_RDWR | O_CLOEXEC);
    return fd < 0 ? 0 : agent_fail(error, NULL, KVM " can still be opened");
}

int agent_fault_no_emulator(struct agent_error *error)
{
    return unlink(EMULATOR) < 0
               ? agent_fail(error, NULL, "cannot remove " EMULATOR ": %s", strerror(errno))
               : 0;
}

int agent_fault_sshd_broken(struct agent_error *error)
{
    static const char line[] = "\nNoSuchOption yes\n";
    cleanup_close int fd = open(SSHD_CONFIG, O_WRONLY | O_APPEND | O_CLOEXEC);

    return fd < 0 || agent_write_all(fd, line, sizeof(line) - 1) < 0
               ? agent_fail(error, NULL, "cannot spoil " SSHD_CONFIG ": %s", strerror(errno))
               : 0;
}

/* Space is taken in ever smaller pieces: what is free need not be in one. Root may use the blocks
   that ext4 holds back from others; when not one block can be had, nobody gets any. */
int agent_fault_disk_full(struct agent_error *error)
{
    cleanup_close int fd = open(FILLER, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    struct statvfs about;
    off_t end = 0;

    if (fd < 0 || fstatvfs(fd, &about) < 0)
        return agent_fail(error, NULL, "cannot make " FILLER ": %s", strerror(errno));
    for (off_t piece = (off_t)1 << 30; piece >= (off_t)about.f_bsize;) {
        if (fallocate(fd, 0, end, piece) == 0)
            end += piece;
        else if (errno == ENOSPC)
            piece /= 2;
        else if (errno != EINTR)
            return agent_fail(error, NULL, "cannot fill the disk: %s", strerror(errno));
    }
    return 0;
}
