/*
 * kvm.h - what /dev/kvm can do, tried and not believed: the document's facts.kvm.
 *
 * A device node proves nothing: there are KVMs that open, make a VM and a vCPU, and then interpret
 * the guest instruction by instruction. So guest code is run, in a process of its own that is
 * killed when the deadline passes.
 */
#ifndef AGENT_KVM_H
#define AGENT_KVM_H

#include "util.h"

#define AGENT_KVM_DEADLINE_S 5.0

/* New reference. GUEST false leaves the tiny guest out ("guest" is then null). */
json_t *agent_kvm_facts(bool guest, double deadline_s);

/* Run the tiny guest in the VM and vCPU behind these file descriptors, with RUN the vCPU's mapped
   kvm_run. Returns {"ran": bool, "error", "first_exit_us", "exits_per_s", "loop_ns",
   "loop_ns_outside"}. Does not return if the guest never exits. */
struct kvm_run;
json_t *agent_kvm_guest(int vm, int vcpu, struct kvm_run *run);

#endif
