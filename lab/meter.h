/*
 * meter.h - the meter from the runner's side: a plugin in the QEMU that emulates L0, and the file
 * through which it tells what marked operations cost (agents/meter-file.h).
 */
#ifndef NL_METER_H
#define NL_METER_H

#include "../agents/meter-file.h"
#include "error.h"

struct nl_meter;

/* A meter: the plugin PLUGIN will write into FILE, which QEMU makes, and for profiles into PROFILE
   (may be NULL). Nothing is loaded yet. */
int nl_meter_new(const char *plugin, const char *file, const char *profile, struct nl_meter **meter,
                 struct nl_error **err);
void nl_meter_free(struct nl_meter **meter);
#define cleanup_meter NL_CLEANUP(nl_meter_free)

/* What follows -plugin on QEMU's command line; borrowed. */
const char *nl_meter_argument(const struct nl_meter *meter);

/* How many operations were recorded since QEMU started. The file is opened at the first call. */
int nl_meter_written(struct nl_meter *meter, uint64_t *written, struct nl_error **err);

/* Copy the N records that were written after the first BEFORE ones. Fails unless they are there
   whole, and unless the meter vouches for its counts. */
int nl_meter_read(struct nl_meter *meter, uint64_t before, size_t n, struct meter_record *records,
                  struct nl_error **err);

/* Forget what the profile holds; accept, from now on, operations of LOW to HIGH instructions. */
int nl_meter_profile_start(struct nl_meter *meter, uint64_t low, uint64_t high,
                           struct nl_error **err);

/* Where instructions were executed. */
struct nl_meter_place {
    unsigned layer;
    uint64_t address; /* of 16 bytes of its kernel's code; 0: its user space */
    uint64_t instructions;
};

/* What was accepted since: places (the caller's to free), by layer, of so many OPERATIONS. */
int nl_meter_profile_read(struct nl_meter *meter, struct nl_meter_place **places, size_t *n,
                          uint64_t *operations, struct nl_error **err);

#endif
