/*
 * exits.h - how many VM exits a benchmark caused, and why, by what KVM itself counts: a witness
 * that works on hardware as well.
 */
#ifndef NL_EXITS_H
#define NL_EXITS_H

#include <jansson.h>

/* BEFORE and AFTER: by layer, the counters of its domain as libvirt names them, or null. Gives a
   benchmark's "exits" (docs/document.md): layers without counters are left out. New reference. */
json_t *nl_exits_between(const json_t *before, const json_t *after);

/* What the agent of the layer below LAYER said of its guest's exits (agents/protocol.h,
   "exit-reasons"), to the end of the array COUNTS, as the document's "exit_reasons" has it: LAYER's
   own, and those from inside it where they are known. Most frequent first; what is not of the right
   kind is left out. */
void nl_exits_by_reason(const char *layer, const json_t *reply, json_t *counts);

#endif
