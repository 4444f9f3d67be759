/*
 * meter-layers.c - whose instructions are these: see meter-layers.h.
 */
#include "meter-layers.h"

void meter_layers_settle(struct meter_layers *layers, uint64_t count)
{
    layers->counts.instructions[layers->current] += count - layers->charged;
    layers->counts.returns[layers->current] += layers->returns;
    layers->charged = count;
    layers->returns = 0;
}

void meter_layers_return(struct meter_layers *layers)
{
    layers->returns++;
}

/* The layer that the VMRUN of layer K will make run: where that one left off by a VMRUN of its own,
   K acts it out, and enters what that VMRUN enters. The loop goes inward, so it ends. */
static unsigned entered_by(struct meter_layers *layers, unsigned k)
{
    for (;;) {
        unsigned next = layers->last_inner[k] ? layers->last_inner[k] : k + 1;

        if (next >= METER_LAYERS) {
            layers->too_deep = true;
            return METER_LAYERS - 1;
        }
        if (!layers->left_by_vmrun[next])
            return next;
        k = next;
    }
}

void meter_layers_begin(struct meter_layers *layers)
{
    unsigned layer = layers->current;

    meter_layers_end(layers);
    if (layer + 1 >= METER_LAYERS)
        return;
    layers->aside = (struct meter_aside){true, layer, layers->last_inner[layer],
                                         layers->left_by_vmrun[layer + 1]};
    layers->last_inner[layer] = layer + 1;
    layers->left_by_vmrun[layer + 1] = false;
}

void meter_layers_end(struct meter_layers *layers)
{
    const struct meter_aside *aside = &layers->aside;

    if (aside->valid) {
        layers->last_inner[aside->layer] = aside->last_inner;
        layers->left_by_vmrun[aside->layer + 1] = aside->left_by_vmrun;
    }
    layers->aside.valid = false;
}

/* LAYER shows itself: what was set aside for it is out of date. */
static void seen(struct meter_layers *layers, unsigned layer)
{
    if (layer > layers->aside.layer)
        layers->aside.valid = false;
}

void meter_layers_vmrun(struct meter_layers *layers, struct meter_site *site, uint64_t count)
{
    if (!site->known) {
        site->layer = layers->in_guest ? layers->current : 0;
        site->known = true;
    }
    layers->counts.vmruns[site->layer]++;
    seen(layers, site->layer);
    if (site->layer > 0) {
        layers->current = site->layer;
        layers->left_by_vmrun[site->layer] = true;
        return;
    }
    /* The VMRUN itself is L0's. */
    meter_layers_settle(layers, count + 1);
    layers->current = entered_by(layers, 0);
    layers->in_guest = true;
}

static void end_slice(struct meter_layers *layers, uint64_t count)
{
    unsigned from = layers->current;

    meter_layers_settle(layers, count);
    layers->counts.reached[from][0]++;
    for (unsigned k = 0; k < from; k++)
        layers->last_inner[k] = from;
    layers->current = 0;
    layers->in_guest = false;
}

void meter_layers_after(struct meter_layers *layers, const struct meter_site *site, uint64_t count)
{
    unsigned k = site->layer;

    if (!site->known || (k == 0 && !layers->in_guest))
        return;
    if (k == 0) {
        end_slice(layers, count);
        return;
    }
    seen(layers, k);
    layers->counts.reached[layers->last_inner[k]][k]++;
    layers->current = k;
    layers->left_by_vmrun[k] = false;
}

struct meter_counts meter_counts_between(const struct meter_counts *from,
                                         const struct meter_counts *to)
{
    struct meter_counts difference;

    for (unsigned i = 0; i < METER_LAYERS; i++) {
        difference.instructions[i] = to->instructions[i] - from->instructions[i];
        difference.vmruns[i] = to->vmruns[i] - from->vmruns[i];
        difference.returns[i] = to->returns[i] - from->returns[i];
        for (unsigned k = 0; k < METER_LAYERS; k++)
            difference.reached[i][k] = to->reached[i][k] - from->reached[i][k];
    }
    return difference;
}
