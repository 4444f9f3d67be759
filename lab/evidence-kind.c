/*
 * evidence-kind.c - names of the kinds of evidence: see evidence-kind.h.
 */
#include "evidence-kind.h"

#include <stddef.h>
#include <string.h>

/* In the order of the bits. */
const char *const nl_kind_words[] = {"kernel-log", "cpuinfo",     "lsmod",    "module-parameter",
                                     "domain-xml", "libvirt-log", "qemu-log", "host-validate",
                                     "text",       "any",         NULL};

const char *nl_kind_name(unsigned kind)
{
    for (size_t i = 0; i < NL_KINDS; i++)
        if (kind & (1U << i))
            return nl_kind_words[i];
    return "nothing";
}

unsigned nl_kind_of(const char *name)
{
    for (size_t i = 0; i < NL_KINDS; i++)
        if (strcmp(name, nl_kind_words[i]) == 0)
            return 1U << i;
    return strcmp(name, "any") == 0 ? NL_KIND_ANY : 0;
}
