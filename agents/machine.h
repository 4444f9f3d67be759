/*
 * machine.h - what a machine has that nested virtualization needs, besides what its facts tell: the
 * operation "machine", for `nestlab doctor`. It gathers and does not judge.
 */
#ifndef AGENT_MACHINE_H
#define AGENT_MACHINE_H

#include "util.h"

/* New reference; docs/doctor.md describes it. What could not be looked at is null, or an object
   with an "error". PATHS (an array of strings, or NULL): further file systems to look at. Starts
   QEMU, so it takes seconds, and belongs into a process of its own as agent_exec() does. */
json_t *agent_machine(const json_t *paths);

/* The parts, with ROOT before every path: "" but in tests. */
json_t *agent_machine_device(const char *root, const char *path);
json_t *agent_machine_os(const char *root);
json_t *agent_machine_lockdown(const char *root);
json_t *agent_machine_firmware(const char *root);
json_t *agent_machine_cgroup(const char *root);
json_t *agent_machine_modules(const char *root, const char *release);
json_t *agent_machine_libvirt(const char *root);
json_t *agent_machine_kernels(const char *root);
json_t *agent_machine_container(const char *root);

/* Records of the kernel's log that speak of virtualization, or {"error"}. */
json_t *agent_machine_log(const char *path);

/* Every QEMU for x86-64 that is found, asked by QMP what it can do: an array. */
json_t *agent_machine_qemu(void);

/* What QEMU said to the questions of agent_machine_qemu(), one JSON object a line. */
json_t *agent_qemu_answers(const char *output);

#endif
