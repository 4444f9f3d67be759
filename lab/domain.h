/*
 * domain.h - libvirt's XML for one guest of the stack (libxml2's writer); knows nothing of how it
 * is run.
 */
#ifndef NL_DOMAIN_H
#define NL_DOMAIN_H

#include "error.h"

#include <stdbool.h>

/* Disks are vda to vdz, and a PCI bus has no more slots than that either. */
#define NL_DOMAIN_DISKS_MAX 20

struct nl_domain_disk {
    char *path;         /* a file or block device of the layer below */
    char serial[21];    /* virtio-blk serials end at 20 bytes */
    const char *format; /* "qcow2" or "raw" */
    bool block;         /* a block device, not a file */
    bool read_only;
};

/* A hostfwd of QEMU's user-mode network: ADDRESS:PORT in the layer below -> GUEST_PORT. */
struct nl_domain_forward {
    const char *address; /* "127.0.0.1", or "10.0.2.15" inside a guest */
    int port;
    int guest_port;
};

struct nl_domain {
    const char *name;
    bool kvm;             /* false: TCG */
    const char *emulator; /* NULL: libvirt's choice */
    const char *machine;  /* NULL: "pc" */
    int vcpus;
    int memory_mib;
    const char *cpu;           /* NULL: host-passthrough under KVM, EPYC under TCG */
    char *const *cpu_features; /* "+name" or "-name"; may be NULL */
    const char *vendor_flag;   /* "svm" or "vmx": what the layer below can expose; NULL: nothing */
    bool virtualization;       /* expose it, else mask it */
    const char *firmware;      /* NULL: the machine's own (SeaBIOS), or a path (qboot.rom) */
    const char *kernel;
    const char *initrd;
    const char *command_line;
    struct nl_domain_disk *disks;
    size_t n_disks;
    struct nl_domain_forward *forwards;
    size_t n_forwards;
    char *const *qemu_arguments; /* more words for QEMU's command line; may be NULL */
};

/* The XML text is the caller's. */
int nl_domain_xml(const struct nl_domain *domain, char **xml, struct nl_error **err);

#endif
