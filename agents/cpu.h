/*
 * cpu.h - what CPUID says, as the document's facts.cpuid: raw leaves and names for what matters
 * to virtualization.
 */
#ifndef AGENT_CPU_H
#define AGENT_CPU_H

#include "util.h"

struct agent_cpuid {
    uint32_t eax, ebx, ecx, edx;
};

/* Reads a leaf; the processor itself, or a table in a test. */
typedef void agent_cpuid_read(uint32_t leaf, uint32_t subleaf, struct agent_cpuid *out);
void agent_cpuid_native(uint32_t leaf, uint32_t subleaf, struct agent_cpuid *out);

/* New reference. Reads no leaf twice: in a guest each is a VM exit. */
json_t *agent_cpuid_facts(agent_cpuid_read *read);

/* Leaf 0x8000000a as {"revision", "asids", NAME: bool...}. */
json_t *agent_cpuid_svm_features(const struct agent_cpuid *leaf);

/* "AuthenticAMD" and the like, of this processor; SIZE is at least 13. */
void agent_cpuid_vendor(char *vendor);

#endif
