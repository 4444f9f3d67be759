/*
 * tiny-guest.c - page tables and registers of a guest of a few instructions: see tiny-guest.h.
 */
#include "tiny-guest.h"

#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>

#define PML4 0x1000u
#define PDPT 0x2000u
#define PD 0x3000u

#define PRESENT_WRITABLE 3u
#define LARGE 0x80u

static void put64(void *memory, uint32_t at, uint64_t value)
{
    memcpy((char *)memory + at, &value, sizeof(value));
}

void agent_tiny_map(void *memory)
{
    put64(memory, PML4, PDPT | PRESENT_WRITABLE);
    put64(memory, PDPT, PD | PRESENT_WRITABLE);
    put64(memory, PD, LARGE | PRESENT_WRITABLE);
}

void agent_tiny_map_page(void *memory, uint32_t table, uint32_t to)
{
    put64(memory, PD + sizeof(uint64_t), table | PRESENT_WRITABLE);
    put64(memory, table, to | PRESENT_WRITABLE);
}

int agent_tiny_enter(int vcpu, uint64_t rip, uint64_t rsp)
{
    struct kvm_regs regs = {.rip = rip, .rflags = 2, .rsp = rsp};
    struct kvm_segment segment = {.limit = 0xffffffff, .present = 1, .s = 1, .g = 1};
    struct kvm_sregs sregs;

    if (ioctl(vcpu, KVM_GET_SREGS, &sregs) < 0)
        return -1;
    segment.type = 3;
    segment.db = 1;
    segment.selector = 0x10;
    sregs.ds = sregs.es = sregs.ss = sregs.fs = sregs.gs = segment;
    segment.type = 11;
    segment.db = 0;
    segment.l = 1;
    segment.selector = 0x8;
    sregs.cs = segment;
    sregs.cr3 = PML4;
    sregs.cr4 = 0x20;       /* PAE */
    sregs.cr0 = 0x80000031; /* PG, NE, ET, PE */
    sregs.efer = 0x500;     /* LMA, LME */
    return ioctl(vcpu, KVM_SET_SREGS, &sregs) < 0 ? -1 : ioctl(vcpu, KVM_SET_REGS, &regs);
}
