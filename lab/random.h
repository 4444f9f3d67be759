/*
 * random.h - random numbers that are the same everywhere: for resampling, not for secrets.
 */
#ifndef NL_RANDOM_H
#define NL_RANDOM_H

#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Any STATE will do as a seed. */
static inline uint64_t nl_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

#endif
