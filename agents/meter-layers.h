/*
 * meter-layers.h - whose instructions are these? Follows the emulated machine from layer to layer
 * by its VMRUNs, and charges each instruction to the layer that executed it. Knows nothing of QEMU.
 *
 * Only L0 really enters a guest; the VMRUN of an inner layer is an exit to L0, which acts it out.
 * So between L0's VMRUN and the instruction after it exactly one inner layer runs: a slice. Which
 * one is guessed when the slice begins, and known for certain as soon as a layer executes its own
 * VMRUN, or the instruction after that; then the whole slice is its. VMRUNs are told apart by where
 * in the host's memory they are (a site), for L0 and L1 may run the same kernel at the same virtual
 * addresses. The layer of a site is learned when it is executed for the first time.
 *
 * The guess is the layer that ran last. A guest that an operation at layer N has for itself, such
 * as those of the kvm- benchmarks, executes no VMRUN that would put a wrong guess right; so within
 * an operation the guess for what layer N enters is N + 1, until a deeper layer shows itself.
 */
#ifndef METER_LAYERS_H
#define METER_LAYERS_H

#include "meter-file.h"

#include <stdbool.h>

struct meter_site {
    bool known;
    unsigned layer;
};

struct meter_layers {
    struct meter_counts counts;
    unsigned current; /* the layer that runs, as far as is known */
    bool in_guest;    /* within a slice */
    uint64_t charged; /* instructions that have an owner */
    uint64_t returns; /* IRETs that have none yet */
    /* For layer k, as its own KVM sees it: */
    unsigned last_inner[METER_LAYERS]; /* which deeper layer ran last; 0: none yet */
    bool left_by_vmrun[METER_LAYERS];  /* its last instruction was its VMRUN */
    bool too_deep; /* there was a layer beyond METER_LAYERS: counts are wrong from then on */
    /* What is set aside within an operation at LAYER. */
    struct meter_aside {
        bool valid;
        unsigned layer;
        unsigned last_inner; /* of LAYER */
        bool left_by_vmrun;  /* of LAYER + 1 */
    } aside;
};

/* The machine is about to execute the VMRUN at SITE; COUNT instructions were executed before it. */
void meter_layers_vmrun(struct meter_layers *layers, struct meter_site *site, uint64_t count);

/* ... the instruction that follows the VMRUN at SITE. */
void meter_layers_after(struct meter_layers *layers, const struct meter_site *site, uint64_t count);

/* ... an IRET. */
void meter_layers_return(struct meter_layers *layers);

/* An operation of the layer that runs begins or ends. One that begins ends the one before it. */
void meter_layers_begin(struct meter_layers *layers);
void meter_layers_end(struct meter_layers *layers);

/* Charge all COUNT instructions so far: counts are then up to date. */
void meter_layers_settle(struct meter_layers *layers, uint64_t count);

/* What was counted from FROM to TO. */
struct meter_counts meter_counts_between(const struct meter_counts *from,
                                         const struct meter_counts *to);

#endif
