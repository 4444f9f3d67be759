/*
 * disks.h - the disks of a stack on the runner's machine: an overlay for every layer, and the boot
 * disk that carries every inner layer's kernel.
 */
#ifndef NL_DISKS_H
#define NL_DISKS_H

#include "stack.h"

/* Where a guest finds the boot disk. */
#define NL_BOOT_MOUNT "/run/nestlab/boot"
#define NL_BOOT_SERIAL "nl-boot"

/* Enough memory and disk for STACK? An error says how much is missing where. */
int nl_disks_check_room(const struct nl_stack *stack, struct nl_error **err);

/* Make the overlays and the boot disk in the run folder; sets overlay and boot_disk. */
int nl_disks_make(struct nl_stack *stack, struct nl_error **err);

/* The outermost guest, which has all disks, could not be started: is one of them damaged? Then that
   is added to *ERR; QEMU itself does not say which. */
void nl_disks_examine(const struct nl_stack *stack, struct nl_error **err);

#endif
