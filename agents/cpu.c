/*
 * cpu.c - see cpu.h. Bits: AMD64 Architecture Programmer's Manual volume 3, appendix E; Intel
 * SDM volume 2, CPUID; the kernel's Documentation/virt/kvm/x86/cpuid.rst for 0x40000000.
 */
#include "cpu.h"

#include <cpuid.h>
#include <stdlib.h>
#include <string.h>

#define HYPERVISOR_BASE 0x40000000u
/* Where KVM puts its own leaf when it also poses as Hyper-V. */
#define HYPERVISOR_KVM_BEHIND_HYPERV 0x40000100u
#define EXTENDED_BASE 0x80000000u

struct range {
    uint32_t first, last; /* leaves */
    uint32_t subleaves;   /* how many to read of each */
};

/* Topology, cache and trace leaves say nothing about virtualization and cost an exit each. */
static const struct range basic_leaves[] = {{0x1, 0x1, 1},   {0x5, 0x6, 1},   {0x7, 0x7, 3},
                                            {0xa, 0xa, 1},   {0xd, 0xd, 2},   {0x14, 0x14, 1},
                                            {0x15, 0x16, 1}, {0x1f, 0x1f, 1}, {}};
static const struct range extended_leaves[] = {{0x80000001, 0x80000004, 1},
                                               {0x80000007, 0x80000008, 1},
                                               {0x8000000a, 0x8000000a, 1},
                                               {0x8000001b, 0x8000001b, 1},
                                               {0x8000001f, 0x8000001f, 1},
                                               {0x80000021, 0x80000022, 1},
                                               {}};
static const struct range hypervisor_leaves[] = {
    {0x40000001, 0x4000000a, 1}, {0x40000101, 0x40000101, 1}, {}};

static const struct {
    int bit;
    const char *name;
} svm_names[] = {
    {0, "npt"},
    {1, "lbrv"},
    {2, "svml"},
    {3, "nrips"},
    {4, "tsc_scale"},
    {5, "vmcb_clean"},
    {6, "flush_by_asid"},
    {7, "decode_assists"},
    {10, "pause_filter"},
    {12, "pause_filter_threshold"},
    {13, "avic"},
    {15, "vmsave_vmload"},
    {16, "vgif"},
    {17, "gmet"},
    {18, "x2avic"},
    {19, "sss_check"},
    {20, "v_spec_ctrl"},
    {21, "rogpt"},
    {23, "host_mce_override"},
    {24, "tlbi_ctl"},
    {25, "vnmi"},
    {26, "ibs_virt"},
    {28, "svme_addr_check"},
    {29, "bus_lock_threshold"},
    {30, "idle_hlt"},
};

void agent_cpuid_native(uint32_t leaf, uint32_t subleaf, struct agent_cpuid *out)
{
    __cpuid_count(leaf, subleaf, out->eax, out->ebx, out->ecx, out->edx);
}

static bool has_bit(uint32_t word, int bit)
{
    return word >> bit & 1;
}

/* The twelve characters of a vendor or hypervisor leaf. SIZE of TEXT is at least 13. */
static void signature(uint32_t a, uint32_t b, uint32_t c, char *text)
{
    memcpy(text, &a, 4);
    memcpy(text + 4, &b, 4);
    memcpy(text + 8, &c, 4);
    text[12] = '\0';
}

void agent_cpuid_vendor(char *vendor)
{
    struct agent_cpuid leaf;

    agent_cpuid_native(0, 0, &leaf);
    signature(leaf.ebx, leaf.edx, leaf.ecx, vendor);
}

json_t *agent_cpuid_svm_features(const struct agent_cpuid *leaf)
{
    json_t *features = json_pack("{s:i, s:I}", "revision", (int)(leaf->eax & 0xff), "asids",
                                 (json_int_t)leaf->ebx);

    for (size_t i = 0; i < sizeof(svm_names) / sizeof(svm_names[0]); i++)
        json_object_set_new(features, svm_names[i].name,
                            json_boolean(has_bit(leaf->edx, svm_names[i].bit)));
    return features;
}

static void add_leaf(json_t *leaves, uint32_t leaf, uint32_t subleaf, const struct agent_cpuid *r)
{
    json_array_append_new(
        leaves,
        json_pack("{s:o, s:i, s:o, s:o, s:o, s:o}", "leaf", agent_json_hex(leaf, 8), "subleaf",
                  (int)subleaf, "eax", agent_json_hex(r->eax, 8), "ebx", agent_json_hex(r->ebx, 8),
                  "ecx", agent_json_hex(r->ecx, 8), "edx", agent_json_hex(r->edx, 8)));
}

/* The leaves that are named below, kept while the tables are walked. */
struct seen {
    struct agent_cpuid features, extended, svm;
    char brand[49];
    json_t *leaves;
};

static void keep(struct seen *seen, uint32_t leaf, const struct agent_cpuid *r)
{
    if (leaf == 0x1)
        seen->features = *r;
    else if (leaf == 0x80000001)
        seen->extended = *r;
    else if (leaf == 0x8000000a)
        seen->svm = *r;
    else if (leaf >= 0x80000002 && leaf <= 0x80000004)
        memcpy(seen->brand + (leaf - 0x80000002) * 16, r, 16);
}

/* Read what RANGES names, up to leaf MAX, which the base leaf gave. */
static void walk(agent_cpuid_read *read, const struct range *ranges, uint32_t max,
                 struct seen *seen)
{
    for (; ranges->first; ranges++) {
        for (uint32_t leaf = ranges->first; leaf <= ranges->last && leaf <= max; leaf++) {
            uint32_t subleaves = ranges->subleaves;
            for (uint32_t sub = 0; sub < subleaves; sub++) {
                struct agent_cpuid r;
                read(leaf, sub, &r);
                if (leaf == 0x7 && sub == 0 && subleaves > r.eax + 1)
                    subleaves = r.eax + 1; /* leaf 7 counts its own subleaves */
                add_leaf(seen->leaves, leaf, sub, &r);
                keep(seen, leaf, &r);
            }
        }
    }
}

static json_t *hypervisor_facts(agent_cpuid_read *read, struct seen *seen)
{
    struct agent_cpuid base;
    char text[13];

    if (!has_bit(seen->features.ecx, 31))
        return json_pack("{s:b, s:n, s:n}", "present", 0, "signature", "max_leaf");
    read(HYPERVISOR_BASE, 0, &base);
    add_leaf(seen->leaves, HYPERVISOR_BASE, 0, &base);
    signature(base.ebx, base.ecx, base.edx, text);
    /* Old KVM leaves its maximum at 0 and means 0x40000001. */
    uint32_t max = base.eax ? base.eax : HYPERVISOR_BASE + 1;
    json_t *facts = json_pack("{s:b, s:o, s:o}", "present", 1, "signature", agent_json_string(text),
                              "max_leaf", agent_json_hex(base.eax, 8));
    if (strcmp(text, "Microsoft Hv") == 0) {
        struct agent_cpuid behind;
        read(HYPERVISOR_KVM_BEHIND_HYPERV, 0, &behind);
        add_leaf(seen->leaves, HYPERVISOR_KVM_BEHIND_HYPERV, 0, &behind);
        signature(behind.ebx, behind.ecx, behind.edx, text);
        if (strcmp(text, "KVMKVMKVM") == 0) {
            json_object_set_new(facts, "second_signature", json_string(text));
            max = behind.eax > max ? behind.eax : max;
        }
    }
    walk(read, hypervisor_leaves, max, seen);
    return facts;
}

static const char *trimmed(char *text)
{
    size_t end = strlen(text);

    while (end > 0 && text[end - 1] == ' ')
        text[--end] = '\0';
    return text + strspn(text, " ");
}

json_t *agent_cpuid_facts(agent_cpuid_read *read)
{
    struct seen seen = {.leaves = json_array()};
    struct agent_cpuid base, extended;
    char vendor[13];

    read(0, 0, &base);
    signature(base.ebx, base.edx, base.ecx, vendor);
    add_leaf(seen.leaves, 0, 0, &base);
    walk(read, basic_leaves, base.eax, &seen);
    read(EXTENDED_BASE, 0, &extended);
    if (extended.eax >= EXTENDED_BASE) {
        add_leaf(seen.leaves, EXTENDED_BASE, 0, &extended);
        walk(read, extended_leaves, extended.eax, &seen);
    }
    json_t *hypervisor = hypervisor_facts(read, &seen);

    /* The extended fields count only where the manuals say so: APM volume 3, CPUID Fn0000_0001. */
    uint32_t eax = seen.features.eax, family = eax >> 8 & 0xf, model = eax >> 4 & 0xf;
    if (family == 0xf || family == 6)
        model |= eax >> 12 & 0xf0;
    if (family == 0xf)
        family += eax >> 20 & 0xff;
    bool svm = has_bit(seen.extended.ecx, 2);
    return json_pack("{s:o, s:o, s:i, s:i, s:i, s:o, s:b, s:b, s:o, s:o}", "vendor",
                     agent_json_string(vendor), "brand", agent_json_string(trimmed(seen.brand)),
                     "family", (int)family, "model", (int)model, "stepping", (int)(eax & 0xf),
                     "hypervisor", hypervisor, "svm", svm, "vmx", has_bit(seen.features.ecx, 5),
                     "svm_features", svm ? agent_cpuid_svm_features(&seen.svm) : json_null(),
                     "leaves", seen.leaves);
}
