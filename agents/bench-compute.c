/*
 * bench-compute.c - work in user space that no layer should slow down: the control group.
 *
 * Plain C of a fixed amount: libraries choose their code by CPUID flags, which differ from layer
 * to layer, and would not do the same work everywhere.
 */
#include "benchmark.h"

#include <string.h>

#define STEPS 1000

static int integer(struct bench *bench, unsigned long n)
{
    uint64_t value = 88172645463325252ULL;

    (void)bench;
    for (unsigned long i = 0; i < n; i++)
        for (int step = 0; step < STEPS; step++) {
            value ^= value << 13;
            value ^= value >> 7;
            value ^= value << 17;
            value = value * 6364136223846793005ULL + 1442695040888963407ULL;
            AGENT_BENCH_KEEP(value);
        }
    return 0;
}

#define HASHED (64UL * 1024)

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static inline uint32_t rotate(uint32_t x, int bits)
{
    return x >> bits | x << (32 - bits);
}

/* SHA-256's compression function (FIPS 180-4, 6.2.2). */
void agent_bench_sha256_block(uint32_t hash[8], const uint8_t block[64])
{
    uint32_t w[64], v[8];

    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;

        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    memcpy(v, hash, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + choice + round_constants[i] + w[i];
        uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);

        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (int i = 0; i < 8; i++)
        hash[i] += v[i];
}

static int prepare_hash(struct bench *bench)
{
    uint8_t *text = agent_bench_map(bench, HASHED);

    if (!text)
        return -1;
    for (unsigned long i = 0; i < HASHED; i++)
        text[i] = (uint8_t)(i * 31);
    bench->state = text;
    return 0;
}

static int hash(struct bench *bench, unsigned long n)
{
    const uint8_t *text = bench->state;
    uint32_t value[8] = {0};

    for (unsigned long i = 0; i < n; i++)
        for (unsigned long at = 0; at < HASHED; at += 64)
            agent_bench_sha256_block(value, text + at);
    AGENT_BENCH_KEEP(value[0]);
    return 0;
}

const struct benchmark agent_bench_compute[] = {
    {
        .name = "integer",
        .unit = "ns",
        .about = "1000 dependent steps of shifts, exclusive ors and a multiplication in "
                 "registers: no exits, so only stolen time can slow it down",
        .version = 1,
        .repeats = 0.0005,
        .operation = integer,
    },
    {
        .name = "hash",
        .unit = "us",
        .about = "SHA-256's compression of 64 KiB in plain C: user code that lives in registers "
                 "and first-level cache",
        .version = 1,
        .prepare = prepare_hash,
        .operation = hash,
    },
    {.name = NULL},
};
