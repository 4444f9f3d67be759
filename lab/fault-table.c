/*
 * fault-table.c - see fault-table.h.
 */
#include "fault-table.h"
#include "suggest.h"

#include <stdio.h>
#include <string.h>

const struct nl_fault nl_faults[] = {
    {.name = "image-corrupt",
     .moment = NL_FAULT_PREPARE,
     .by = NL_FAULT_BY_RUNNER,
     .disk = true,
     .what = "its disk image has no header"},
    {.name = "root-corrupt",
     .moment = NL_FAULT_PREPARE,
     .by = NL_FAULT_BY_RUNNER,
     .disk = true,
     .what = "its root file system has no superblock"},
    {.name = "kernel-truncated",
     .moment = NL_FAULT_PREPARE,
     .by = NL_FAULT_BY_RUNNER,
     .what = "its kernel ends in the middle"},
    {.name = "kvm-module-missing",
     .moment = NL_FAULT_INIT,
     .by = NL_FAULT_BY_LAYER,
     .disk = true,
     .what = "its KVM modules are removed"},
    {.name = "kvm-device-unreadable",
     .moment = NL_FAULT_INIT,
     .by = NL_FAULT_BY_LAYER,
     .disk = true,
     .what = "its /dev/kvm cannot be opened"},
    {.name = "emulator-missing",
     .moment = NL_FAULT_INIT,
     .by = NL_FAULT_BY_LAYER,
     .disk = true,
     .what = "its QEMU is removed"},
    {.name = "sshd-broken",
     .moment = NL_FAULT_INIT,
     .by = NL_FAULT_BY_LAYER,
     .disk = true,
     .what = "its sshd is configured wrongly"},
    {.name = "disk-full",
     .moment = NL_FAULT_UP,
     .by = NL_FAULT_BY_LAYER,
     .disk = true,
     .what = "its disk is full"},
    {.name = "sshd-killed",
     .moment = NL_FAULT_UP,
     .by = NL_FAULT_BY_LAYER,
     .disk = true,
     .what = "its sshd is killed"},
    {.name = "libvirtd-killed",
     .moment = NL_FAULT_UP,
     .by = NL_FAULT_BY_LAYER,
     .disk = true,
     .what = "its libvirtd is killed"},
    {.name = "emulator-throttled",
     .moment = NL_FAULT_UP,
     .by = NL_FAULT_BY_LAYER,
     .disk = true,
     .inside = true,
     .what = "the vCPU of the layer inside gets 5 % of its processor"},
    {.name = "memory-eaten",
     .moment = NL_FAULT_RUNNING,
     .by = NL_FAULT_BY_LAYER,
     .disk = true,
     .inside = true,
     .what = "a process takes more memory than it has left"},
    {.name = "vcpu-kept",
     .moment = NL_FAULT_RUNNING,
     .by = NL_FAULT_BY_LAYER,
     .what = "real-time processes keep its vCPUs"},
    {.name = "kernel-panic",
     .moment = NL_FAULT_RUNNING,
     .by = NL_FAULT_BY_LAYER,
     .what = "its kernel panics"},
    {.name = "hang",
     .moment = NL_FAULT_RUNNING,
     .by = NL_FAULT_BY_LAYER,
     .what = "it hangs with interrupts off"},
    {.name = "loop",
     .moment = NL_FAULT_RUNNING,
     .by = NL_FAULT_BY_LAYER,
     .what = "it loops at full speed"},
    {.name = "agent-killed",
     .moment = NL_FAULT_RUNNING,
     .by = NL_FAULT_BY_LAYER,
     .what = "its agent is killed"},
    {.name = "emulator-killed",
     .moment = NL_FAULT_RUNNING,
     .by = NL_FAULT_BY_BELOW,
     .what = "the QEMU that runs it is killed"},
    {.name = NULL},
};

const struct nl_fault *nl_fault_find(const char *name)
{
    for (const struct nl_fault *fault = nl_faults; fault->name; fault++)
        if (strcmp(fault->name, name) == 0)
            return fault;
    return NULL;
}

const char *nl_fault_near(const char *name)
{
    const char *names[sizeof(nl_faults) / sizeof(nl_faults[0])];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        names[i] = nl_faults[i].name;
    return nl_suggest(name, names);
}

char *nl_fault_names(void)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fputs("allowed: ", out);
    for (const struct nl_fault *fault = nl_faults; fault->name; fault++)
        fprintf(out, "%s%s", fault == nl_faults ? "" : ", ", fault->name);
    fclose(out);
    return text;
}
