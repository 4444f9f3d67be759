/*
 * look.h - what can be seen of a guest from outside at one moment, and what several looks at one
 * that says nothing tell: does it hang, and how, or is it only slow?
 */
#ifndef NL_LOOK_H
#define NL_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one look at a guest finds. */
struct nl_look {
    int64_t at_ms; /* nl_now_ms() */
    unsigned long long console_bytes;
    char *registers; /* of all vCPUs, as QEMU's monitor prints them; NULL: not to be had */
    unsigned long long exits;
    bool has_exits;
    unsigned long long disk_bytes; /* read and written so far */
    bool has_disk;
};

/* A vCPU at one look. */
struct nl_vcpu {
    unsigned long long rip, rsp, cr3;
    bool interrupts; /* RFLAGS.IF: it takes interrupts */
    bool halted;     /* in HLT */
    int cpl;         /* 0: in the kernel; 3: in a program */
};

#define NL_VCPUS_MAX 64

/* The vCPUs in REGISTERS ("info registers -a"), at most NL_VCPUS_MAX; how many. */
size_t nl_look_vcpus(const char *registers, struct nl_vcpu *vcpus);

/* What LOOKS at a guest, N of them and at least two, say of it: "hung" or "slow" (document.h's
   kinds), and *WHAT a sentence for people. ANSWERED_BEFORE: its agent did once, and does not now.
   *IDLE: every vCPU only waits for an interrupt, and would take one. */
const char *nl_look_compare(const struct nl_look *looks, size_t n, bool answered_before, bool *idle,
                            char **what);

void nl_look_clear(struct nl_look *look);

#endif
