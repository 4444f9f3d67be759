/*
 * vmx.c - see vmx.h. Numbers and bits: Intel SDM volume 3, appendix A.
 */
#include "vmx.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* The high half of a control's MSR says which bits may be 1; EPT_VPID_CAP has flags all over. */
#define MAY_BE_ONE(bit) (32 + (bit))

static const struct {
    const char *name;
    const char *msr;
    int bit;
} names[] = {
    {"external_interrupt_exiting", "0x481", MAY_BE_ONE(0)},
    {"virtual_nmis", "0x481", MAY_BE_ONE(5)},
    {"preemption_timer", "0x481", MAY_BE_ONE(6)},
    {"posted_interrupts", "0x481", MAY_BE_ONE(7)},
    {"tpr_shadow", "0x482", MAY_BE_ONE(21)},
    {"io_bitmaps", "0x482", MAY_BE_ONE(25)},
    {"msr_bitmaps", "0x482", MAY_BE_ONE(28)},
    {"secondary_controls", "0x482", MAY_BE_ONE(31)},
    {"virtualize_apic_accesses", "0x48b", MAY_BE_ONE(0)},
    {"ept", "0x48b", MAY_BE_ONE(1)},
    {"rdtscp", "0x48b", MAY_BE_ONE(3)},
    {"virtualize_x2apic", "0x48b", MAY_BE_ONE(4)},
    {"vpid", "0x48b", MAY_BE_ONE(5)},
    {"unrestricted_guest", "0x48b", MAY_BE_ONE(7)},
    {"apic_register_virtualization", "0x48b", MAY_BE_ONE(8)},
    {"virtual_interrupt_delivery", "0x48b", MAY_BE_ONE(9)},
    {"pause_loop_exiting", "0x48b", MAY_BE_ONE(10)},
    {"invpcid", "0x48b", MAY_BE_ONE(12)},
    {"vmfunc", "0x48b", MAY_BE_ONE(13)},
    {"vmcs_shadowing", "0x48b", MAY_BE_ONE(14)},
    {"pml", "0x48b", MAY_BE_ONE(17)},
    {"xsaves", "0x48b", MAY_BE_ONE(20)},
    {"tsc_scaling", "0x48b", MAY_BE_ONE(25)},
    {"ept_2m_pages", "0x48c", 16},
    {"ept_1g_pages", "0x48c", 17},
    {"ept_accessed_dirty", "0x48c", 21},
};

json_t *agent_vmx_capabilities(const char *msr_device)
{
    cleanup_close int fd = open(msr_device, O_RDONLY | O_CLOEXEC);
    json_t *all = NULL;

    for (unsigned msr = AGENT_VMX_FIRST; fd >= 0 && msr < AGENT_VMX_FIRST + AGENT_VMX_COUNT;
         msr++) {
        uint64_t value;
        char key[16];
        if (pread(fd, &value, sizeof(value), msr) != sizeof(value))
            continue;
        if (!all)
            all = json_object();
        snprintf(key, sizeof(key), "0x%x", msr);
        json_object_set_new(all, key, agent_json_hex(value, 16));
    }
    return all ? all : json_null();
}

json_t *agent_vmx_features(const json_t *capabilities)
{
    if (!json_is_object(capabilities))
        return json_null();
    json_t *features = json_object();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = json_string_value(json_object_get(capabilities, names[i].msr));
        if (!text)
            continue;
        json_object_set_new(features, names[i].name,
                            json_boolean(strtoull(text, NULL, 16) >> names[i].bit & 1));
    }
    return features;
}
