/*
 * meter-places.h - in which places of which layer's code instructions are executed, during the
 * operations that are accepted. Knows nothing of QEMU.
 */
#ifndef METER_PLACES_H
#define METER_PLACES_H

#include "meter-file.h"

#include <stdbool.h>

struct meter_places {
    struct meter_profile *profile; /* shared with the runner */
    uint64_t *counts;              /* of each place, ever: METER_PLACES */
    uint64_t *before;              /* ... when the operation began */
    uint32_t *slots;               /* a hash table of twice as many: index + 1, or 0 */
};

/* Memory for it, around PROFILE; false: there is none. */
bool meter_places_init(struct meter_places *places, struct meter_profile *profile);

/* The counter of the place that ADDRESS of LAYER belongs to; NULL when there is room for no more.
   It stays where it is. */
uint64_t *meter_places_counter(struct meter_places *places, unsigned layer, uint64_t address);

/* An operation began, or it ended and took TOTAL instructions. */
void meter_places_begin(struct meter_places *places);
void meter_places_end(struct meter_places *places, uint64_t total);

#endif
