/*
 * facts.h - what a layer says of itself: the document's "facts".
 */
#ifndef AGENT_FACTS_H
#define AGENT_FACTS_H

#include "util.h"

/* LAYER may be NULL. UPTIME_AT_READY_S is negative where it is not known (a local agent).
   KVM_GUEST: also run the tiny guest. New reference. */
json_t *agent_facts(const char *layer, double uptime_at_ready_s, bool kvm_guest);

/* The "flags" line of a cpuinfo text as an array; a new reference. */
json_t *agent_facts_flags(const char *cpuinfo);

#endif
