/*
 * bench-boot.c - booting a guest: QEMU's start, the kernel's way to init, and all exits on it. Both
 * sides are here: the benchmark, and what the guest's init does instead of becoming a layer.
 */
#include "bench-boot.h"
#include "benchmark.h"
#include "cmdline.h"
#include "util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/wait.h>
#include <unistd.h>

/* QEMU's isa-debug-exit: writing V to its port ends QEMU with status (V << 1) | 1. No other end of
   a guest gives this one: a panic ends QEMU with 0. */
#define LEAVE_KEY "nestlab.leave"
#define LEAVE_PORT 0x501
#define LEAVE_DEVICE "isa-debug-exit,iobase=0x501,iosize=0x01"
#define LEAVE_VALUE 0x2a
#define LEAVE_STATUS ((LEAVE_VALUE << 1) | 1)
/* As the leaf of a stack has. The console stays silent: each character would be an exit. */
#define MEMORY_MIB "256"
#define COMMAND_LINE ("quiet panic=-1 8250.nr_uarts=0 " LEAVE_KEY "=1")

static int find_files(struct bench *bench)
{
    const struct bench_guest *guest = &bench->guest;
    const char *const files[] = {guest->emulator, guest->kernel, guest->initrd, guest->firmware};

    if (!guest->kernel || !guest->initrd || !guest->emulator)
        return agent_bench_skip(bench, "this layer boots no guest");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] && access(files[i], R_OK))
            return agent_bench_fail(bench, files[i]);
    return access("/dev/kvm", R_OK | W_OK) ? agent_bench_fail(bench, "/dev/kvm") : 0;
}

static _Noreturn void be_emulator(const struct bench_guest *guest)
{
    const char *const argv[] = {
        guest->emulator,
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
        "-display",
        "none",
        "-machine",
        "pc,accel=kvm",
        "-cpu",
        "host",
        "-smp",
        "1",
        "-m",
        MEMORY_MIB,
        "-device",
        LEAVE_DEVICE,
        "-kernel",
        guest->kernel,
        "-initrd",
        guest->initrd,
        "-append",
        COMMAND_LINE,
        guest->firmware ? "-bios" : NULL,
        guest->firmware,
        NULL,
    };

    execv(guest->emulator, (char *const *)argv);
    _exit(127);
}

static int boot(struct bench *bench, unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        int status;
        pid_t pid = agent_bench_fork(bench);

        if (pid < 0)
            return agent_bench_fail(bench, "fork");
        if (pid == 0)
            be_emulator(&bench->guest);
        if (waitpid(pid, &status, 0) != pid)
            return agent_bench_fail(bench, "waitpid");
        if (!WIFEXITED(status) || WEXITSTATUS(status) != LEAVE_STATUS) {
            agent_bench_skip(bench,
                             "the guest did not come to its init: %.150s ended with wait "
                             "status 0x%x",
                             bench->guest.emulator, status);
            return -1;
        }
    }
    return 0;
}

void agent_bench_boot_leave(void)
{
    cleanup_free char *asked = agent_cmdline_own(LEAVE_KEY);

    if (asked && ioperm(LEAVE_PORT, 1, 1) == 0)
        outb(LEAVE_VALUE, LEAVE_PORT);
}

const struct benchmark agent_bench_boot[] = {
    {
        .name = "guest-boot",
        .unit = "ms",
        .about = "start QEMU under this layer's KVM and boot the innermost layer's kernel to its "
                 "init: at L0 an L1 guest boots, at L1 an L2 guest",
        .version = 1,
        .prepare = find_files,
        .operation = boot,
    },
    {.name = NULL},
};
