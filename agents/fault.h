/*
 * fault.h - faults that an agent injects into its own guest, so that it can be tested whether the
 * lab recognises them. Only a guest's init, and what serves its link, ever does that.
 */
#ifndef AGENT_FAULT_H
#define AGENT_FAULT_H

#include "util.h"

/* When the agent as init is that far. */
enum agent_fault_moment {
    AGENT_FAULT_ASKED,   /* by the operation "fault" */
    AGENT_FAULT_ROOT,    /* the file system is there, nothing has been started from it */
    AGENT_FAULT_MODULES, /* kernel modules are loaded, what needs them has not been started */
};

struct agent_fault {
    const char *name;
    enum agent_fault_moment moment;
    int (*inject)(struct agent_error *error);
    /* Goes on, or takes whoever answers down with it: done a moment after the reply, by a process
       of its own. What goes wrong there is told by the kernel's log. */
    bool apart;
};

/* Ended by an entry without a name. */
extern const struct agent_fault agent_faults[];

/* Those of the kernel command line's nestlab.fault=NAME,... that belong to MOMENT; what cannot be
   done is trouble with the name "fault". */
void agent_fault_boot(enum agent_fault_moment moment);

/* The operation "fault" of protocol.h. */
int agent_fault_asked(const char *name, struct agent_error *error);

/* Files and devices: fault-files.c. */
int agent_fault_no_kvm_module(struct agent_error *error);
int agent_fault_kvm_unreadable(struct agent_error *error);
int agent_fault_no_emulator(struct agent_error *error);
int agent_fault_sshd_broken(struct agent_error *error);
int agent_fault_disk_full(struct agent_error *error);

/* Processes and memory: fault-processes.c. */
int agent_fault_kill_agent(struct agent_error *error);
int agent_fault_kill_sshd(struct agent_error *error);
int agent_fault_kill_libvirtd(struct agent_error *error);
int agent_fault_kill_emulator(struct agent_error *error);
int agent_fault_throttle_emulator(struct agent_error *error);
int agent_fault_eat_memory(struct agent_error *error);
int agent_fault_keep_vcpu(struct agent_error *error);

/* The kernel: fault-kernel.c. */
int agent_fault_panic(struct agent_error *error);
int agent_fault_hang(struct agent_error *error);
int agent_fault_loop(struct agent_error *error);

#endif
