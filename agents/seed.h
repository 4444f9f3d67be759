/*
 * seed.h - randomness from outside.
 *
 * A guest without a hardware source of it makes the first process that asks (sshd, libvirtd) wait
 * while the kernel counts timer ticks, a second or more on an emulated CPU. Whoever boots the guest
 * can spare it that with `nestlab.seed=HEX` on the kernel command line.
 */
#ifndef AGENT_SEED_H
#define AGENT_SEED_H

#include "util.h"

#define AGENT_SEED_BYTES 32

/* Exactly AGENT_SEED_BYTES bytes in hex; false if TEXT is not that. */
bool agent_seed_parse(const char *text, unsigned char *bytes);

/* Hand the seed over to the kernel as full entropy; nothing happens without one. -1 if there is one
   and it is not usable. */
int agent_seed_credit(struct agent_error *error);

#endif
