/*
 * meter-places.c - where instructions are executed: see meter-places.h.
 */
#include "meter-places.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS (2 * METER_PLACES)
#define KERNEL_HALF 63 /* the bit that is set in all addresses of a kernel */

bool meter_places_init(struct meter_places *places, struct meter_profile *profile)
{
    *places = (struct meter_places){.profile = profile};
    places->counts = calloc(METER_PLACES, sizeof *places->counts);
    places->before = calloc(METER_PLACES, sizeof *places->before);
    places->slots = calloc(SLOTS, sizeof *places->slots);
    memcpy(profile->magic, METER_PROFILE_MAGIC, sizeof profile->magic);
    profile->version = METER_FILE_VERSION;
    profile->places = METER_PLACES;
    return places->counts && places->before && places->slots;
}

static uint64_t key_of(unsigned layer, uint64_t address)
{
    uint64_t place = address >> KERNEL_HALF ? address >> METER_PLACE_BITS : 0;

    return (uint64_t)layer << METER_PLACE_LAYER_SHIFT | place;
}

uint64_t *meter_places_counter(struct meter_places *places, unsigned layer, uint64_t address)
{
    struct meter_profile *profile = places->profile;
    uint64_t key = key_of(layer, address);
    /* Fibonacci hashing (Knuth, The Art of Computer Programming, vol. 3, 6.4); 21 bits are SLOTS.
     */
    size_t slot = key * 0x9e3779b97f4a7c15ULL >> 43;

    while (places->slots[slot] && profile->keys[places->slots[slot] - 1] != key)
        slot = (slot + 1) % SLOTS;
    if (!places->slots[slot]) {
        if (profile->used == METER_PLACES) {
            profile->full = 1;
            return NULL;
        }
        profile->keys[profile->used] = key;
        places->slots[slot] = ++profile->used;
    }
    return &places->counts[places->slots[slot] - 1];
}

void meter_places_begin(struct meter_places *places)
{
    memcpy(places->before, places->counts, places->profile->used * sizeof *places->counts);
}

void meter_places_end(struct meter_places *places, uint64_t total)
{
    struct meter_profile *profile = places->profile;

    if (total < profile->low || total > profile->high)
        return;
    for (uint32_t i = 0; i < profile->used; i++)
        profile->sums[i] += places->counts[i] - places->before[i];
    profile->accepted++;
}
