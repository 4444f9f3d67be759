/*
 * exits.h - how many VM exits a benchmark caused, from KVM's own counters before and after it: a
 * witness that works on hardware as well.
 */
#ifndef NL_EXITS_H
#define NL_EXITS_H

#include <jansson.h>

/* BEFORE and AFTER: by layer, the counters of its domain as libvirt names them, or null. Gives a
   benchmark's "exits" (docs/document.md): layers without counters are left out. New reference. */
json_t *nl_exits_between(const json_t *before, const json_t *after);

#endif
