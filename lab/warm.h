/*
 * warm.h - what libvirt found out about QEMU in a layer, kept in the store for the next run.
 *
 * libvirt's first probe of QEMU's capabilities costs about 20 s in an emulated layer. It caches the
 * answer and checks by itself whether the cache still holds (times of the binaries, kernel, CPU),
 * so handing an old one back is safe; it is kept by everything that makes a layer what it is.
 *
 * STORE/warm/KEY/NAME.xml
 */
#ifndef NL_WARM_H
#define NL_WARM_H

#include "stack.h"

/* Put what is kept for LAYER into FOLDER/root/..., which the layer copies over its root file system
   at boot. Nothing kept: nothing done. */
int nl_warm_stage(const struct nl_layer *layer, const char *folder, struct nl_error **err);

/* The same for the embedded driver with its root at ROOT, before it is opened and after it was
 * used. */
int nl_warm_stage_host(const struct nl_stack *stack, const char *root, struct nl_error **err);
void nl_warm_keep_host(const struct nl_stack *stack, const char *root);

/* Fetch LAYER's cache through its agent and keep it, unless one is kept already. Best effort. */
void nl_warm_keep(struct nl_layer *layer);

#endif
