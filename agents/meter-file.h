/*
 * meter-file.h - the file through which the meter, inside QEMU, tells the runner what it counted: a
 * header and a ring of records, mapped by both.
 *
 * The meter fills a record and then raises `written`; the runner reads `written`, copies, and reads
 * it again to see whether a record was overtaken. The file never grows.
 */
#ifndef METER_FILE_H
#define METER_FILE_H

#include <stdint.h>

#define METER_FILE_MAGIC "nlmeter"
#define METER_FILE_VERSION 1
#define METER_LAYERS 16
#define METER_RECORDS 2048 /* in the ring: more than one benchmark is asked to mark at a time */

/* All by layer. An interrupt or a fault returns by IRET, a system call does not. */
struct meter_counts {
    uint64_t instructions[METER_LAYERS];
    uint64_t vmruns[METER_LAYERS];                /* executed by the layer */
    uint64_t returns[METER_LAYERS];               /* IRET executed by the layer */
    uint64_t reached[METER_LAYERS][METER_LAYERS]; /* [i][k]: layer k ran because of an exit of i */
};

/* One marked operation. */
struct meter_record {
    uint64_t sequence; /* from 1 */
    uint32_t began_at; /* the layer that executed the first mark */
    uint32_t ended_at;
    struct meter_counts counts;
};

struct meter_header {
    char magic[8];
    uint32_t version;
    uint32_t record_size;
    uint32_t records;
    uint32_t reserved;
    uint64_t written;   /* records, ever */
    char trouble[1000]; /* why the counts cannot be trusted; empty: nothing is known */
};

struct meter_file {
    struct meter_header header;
    struct meter_record ring[METER_RECORDS];
};

/* Where the instructions of accepted operations are: a second file, only where it is asked for. A
   place is 16 bytes of a kernel's code, as large as its functions are aligned, or all of a layer's
   user space. */
#define METER_PROFILE_MAGIC "nlmprof"
#define METER_PLACES (1U << 20)
#define METER_PLACE_BITS 4
#define METER_PLACE_LAYER_SHIFT 60 /* the layer is in a place's upper bits */

struct meter_profile {
    char magic[8];
    uint32_t version; /* METER_FILE_VERSION */
    uint32_t places;  /* METER_PLACES */
    /* The runner's wish: operations of LOW to HIGH instructions are accepted. */
    uint64_t low;
    uint64_t high;
    uint64_t accepted;           /* operations */
    uint32_t used;               /* places that have a key */
    uint32_t full;               /* 1: places were left out */
    uint64_t keys[METER_PLACES]; /* layer and address / 16, 0 for user space */
    uint64_t sums[METER_PLACES]; /* instructions in accepted operations */
};

#endif
