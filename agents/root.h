/*
 * root.h - from the initramfs to a hypervisor's root disk.
 */
#ifndef AGENT_ROOT_H
#define AGENT_ROOT_H

#include "util.h"

#define AGENT_RUN "/run/nestlab"
#define AGENT_BOOT_DISK AGENT_RUN "/boot"
#define AGENT_COPY AGENT_RUN "/agent"

/* Mount the disk with serial number SERIAL on /newroot, put /run with a copy of this program and
   the boot disk into it. A missing boot disk is only reported, through TROUBLE. */
int agent_root_mount(const char *serial, void (*trouble)(const char *name, const char *message),
                     struct agent_error *error);

/* Make /newroot the root, free the initramfs, and execute the copy as `AGENT_COPY ARGUMENT`.
   Returns only on failure. */
int agent_root_switch(const char *argument, struct agent_error *error);

#endif
