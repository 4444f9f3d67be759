/*
 * fault.c - see fault.h.
 */
#include "fault.h"

#include "cmdline.h"
#include "news.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Long enough for the reply to get out, even of a layer deep in an emulated stack. */
#define AFTER_REPLY_US 500000

const struct agent_fault agent_faults[] = {
    {"kvm-module-missing", AGENT_FAULT_ROOT, agent_fault_no_kvm_module, false},
    {"kvm-device-unreadable", AGENT_FAULT_MODULES, agent_fault_kvm_unreadable, false},
    {"emulator-missing", AGENT_FAULT_ROOT, agent_fault_no_emulator, false},
    {"sshd-broken", AGENT_FAULT_ROOT, agent_fault_sshd_broken, false},
    {"disk-full", AGENT_FAULT_ASKED, agent_fault_disk_full, false},
    {"sshd-killed", AGENT_FAULT_ASKED, agent_fault_kill_sshd, false},
    {"libvirtd-killed", AGENT_FAULT_ASKED, agent_fault_kill_libvirtd, false},
    {"emulator-throttled", AGENT_FAULT_ASKED, agent_fault_throttle_emulator, true},
    {"emulator-killed", AGENT_FAULT_ASKED, agent_fault_kill_emulator, false},
    {"agent-killed", AGENT_FAULT_ASKED, agent_fault_kill_agent, true},
    {"memory-eaten", AGENT_FAULT_ASKED, agent_fault_eat_memory, true},
    {"vcpu-kept", AGENT_FAULT_ASKED, agent_fault_keep_vcpu, true},
    {"kernel-panic", AGENT_FAULT_ASKED, agent_fault_panic, true},
    {"hang", AGENT_FAULT_ASKED, agent_fault_hang, true},
    {"loop", AGENT_FAULT_ASKED, agent_fault_loop, true},
    {},
};

static const struct agent_fault *find(const char *name)
{
    for (const struct agent_fault *fault = agent_faults; fault->name; fault++)
        if (strcmp(fault->name, name) == 0)
            return fault;
    return NULL;
}

static void boot_one(const char *name, enum agent_fault_moment moment)
{
    cleanup_agent_error struct agent_error error = {0};
    const struct agent_fault *fault = find(name);

    if (!fault && moment == AGENT_FAULT_ROOT)
        agent_fail(&error, NULL, "this agent has no fault \"%s\"", name);
    if (fault && fault->moment == moment) {
        agent_klog(6, "fault %s", name);
        fault->inject(&error);
    }
    if (error.message)
        agent_news_trouble("fault", error.message);
}

void agent_fault_boot(enum agent_fault_moment moment)
{
    cleanup_free char *names = agent_cmdline_own("nestlab.fault");
    char *rest = names;

    for (char *name; names && (name = strsep(&rest, ","));)
        if (*name)
            boot_one(name, moment);
}

/* Nothing of what served the request may stay open in here: the reply's pipe, and the port, whose
   end tells the host that the agent is gone. */
static void __attribute__((noreturn)) inject_apart(const struct agent_fault *fault)
{
    cleanup_agent_error struct agent_error error = {0};

    setsid();
    close_range(3, ~0U, 0);
    usleep(AFTER_REPLY_US);
    agent_klog(6, "fault %s", fault->name);
    if (fault->inject(&error) < 0)
        agent_klog(3, "fault %s: %s", fault->name, error.message ? error.message : "no memory");
    _exit(0);
}

int agent_fault_asked(const char *name, struct agent_error *error)
{
    const struct agent_fault *fault = find(name);

    if (!fault || fault->moment != AGENT_FAULT_ASKED)
        return agent_fail(error, NULL, "this agent injects no fault \"%s\" on request", name);
    if (!fault->apart) {
        agent_klog(6, "fault %s", name);
        return fault->inject(error);
    }
    pid_t pid = fork();
    if (pid == 0)
        inject_apart(fault);
    return pid < 0 ? agent_fail(error, NULL, "no process to do it in") : 0;
}
