/*
 * services.h - what a hypervisor layer runs: the kernel modules of KVM, then sshd and libvirtd.
 * Started once, watched, never restarted: a service that ends is something the run has to report.
 */
#ifndef AGENT_SERVICES_H
#define AGENT_SERVICES_H

#include "util.h"

/* Load virtio_net and, if KVM, this processor's KVM module: as early as can be, it runs beside the
   rest. */
void agent_services_load_modules(bool kvm);

/* From now on start each service as soon as what it needs is there. */
void agent_services_start(void);

/* A child has ended; false if it is none of these. */
bool agent_services_ended(pid_t pid, int status);

/* See what has become ready, start what can be started. True if something has changed. Needs to be
   called again in AGENT_SERVICES_TICK_MS until agent_services_settled(). */
bool agent_services_poll(void);
#define AGENT_SERVICES_TICK_MS 40

/* Each is ready, or has failed. */
bool agent_services_settled(void);

/* {NAME: ready}, empty where no services are started; a new reference. */
json_t *agent_services_state(void);

#endif
