/*
 * evidence-kind.h - the kinds of evidence, a bit each: a line may be of several.
 */
#ifndef NL_EVIDENCE_KIND_H
#define NL_EVIDENCE_KIND_H

enum nl_evidence_kind {
    NL_KIND_KERNEL_LOG = 1 << 0, /* dmesg, journal, serial console, /dev/kmsg */
    NL_KIND_CPUINFO = 1 << 1,
    NL_KIND_LSMOD = 1 << 2,
    NL_KIND_MODULE_PARAMETER = 1 << 3,
    NL_KIND_DOMAIN_XML = 1 << 4,
    NL_KIND_LIBVIRT_LOG = 1 << 5,
    NL_KIND_QEMU_LOG = 1 << 6,
    NL_KIND_HOST_VALIDATE = 1 << 7,
    NL_KIND_TEXT = 1 << 8, /* nothing of the above */
};

#define NL_KINDS 9
#define NL_KIND_ANY ((1U << NL_KINDS) - 1)

/* libvirt quotes QEMU in its log, and writes into QEMU's. */
#define NL_KIND_VIRT_LOGS (NL_KIND_LIBVIRT_LOG | NL_KIND_QEMU_LOG)

/* What somebody pasted may be a line of any log. */
#define NL_KIND_ANY_LOG                                                                            \
    (NL_KIND_KERNEL_LOG | NL_KIND_VIRT_LOGS | NL_KIND_HOST_VALIDATE | NL_KIND_TEXT)

/* The name of one kind, "kernel-log", as rules have it. */
const char *nl_kind_name(unsigned kind);

/* The kinds that a rule's word stands for: a name, or "any"; 0: there is none of that name. */
unsigned nl_kind_of(const char *name);

/* All words that nl_kind_of() knows, NULL-terminated. */
extern const char *const nl_kind_words[];

#endif
