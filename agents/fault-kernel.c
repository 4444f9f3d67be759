/*
 * fault-kernel.c - faults of a guest's kernel: see fault.h.
 */
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Physical memory that every guest has, and that the kernel does not mind giving up. */
#define CODE_AT 0x1000000
#define CODE_ROOM 4096

int agent_fault_panic(struct agent_error *error)
{
    cleanup_close int fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);

    if (fd < 0 || agent_write_all(fd, "c", 1) < 0)
        return agent_fail(error, NULL, "cannot trigger a crash: %s", strerror(errno));
    return agent_fail(error, NULL, "the kernel lives on");
}

/* No user program can switch interrupts off, and no module for that is shipped; but a kernel can be
   replaced by a few bytes, which are entered in long mode with interrupts off. */
static int become(const unsigned char *code, size_t length, struct agent_error *error)
{
    struct kexec_segment segment = {
        .buf = code, .bufsz = length, .mem = (void *)CODE_AT, .memsz = CODE_ROOM};

    if (syscall(SYS_kexec_load, CODE_AT, 1, &segment, KEXEC_ARCH_X86_64) < 0)
        return agent_fail(error, "the guest's kernel needs CONFIG_KEXEC", "kexec_load: %s",
                          strerror(errno));
    syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
    return agent_fail(error, NULL, "kexec: %s", strerror(errno));
}

int agent_fault_hang(struct agent_error *error)
{
    static const unsigned char code[] = {
        0xfa,       /*    cli */
        0xeb, 0xfe, /* 1: jmp 1b */
    };

    return become(code, sizeof(code), error);
}

/* Busy without end, and with VM exits: what a look at exit counters alone would take for life. */
int agent_fault_loop(struct agent_error *error)
{
    static const unsigned char code[] = {
        0x31, 0xf6,                   /*    xor esi, esi */
        0xbf, 0x00, 0x00, 0x01, 0x00, /* 1: mov edi, 65536 */
        0x48, 0xff, 0xc6,             /* 2: inc rsi */
        0xff, 0xcf,                   /*    dec edi */
        0x75, 0xf9,                   /*    jnz 2b */
        0x31, 0xc0,                   /*    xor eax, eax */
        0x0f, 0xa2,                   /*    cpuid */
        0xeb, 0xee,                   /*    jmp 1b */
    };

    return become(code, sizeof(code), error);
}
