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

#endif
