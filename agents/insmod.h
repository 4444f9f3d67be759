/*
 * insmod.h - load the kernel modules an initramfs brings along.
 */
#ifndef AGENT_INSMOD_H
#define AGENT_INSMOD_H

#include "util.h"

/* Load what LIST names: one file a line, in this order; '#' starts a comment. Parameters come from
   CMDLINE. A module that fails is reported through TROUBLE and skipped. Returns how many are in. */
int agent_modules_load(const char *list, const char *cmdline,
                       void (*trouble)(const char *name, const char *message));

/* "/lib/modules/x/virtio-ring.ko.xz" -> "virtio_ring"; malloc'd. */
char *agent_module_name(const char *path);

#endif
