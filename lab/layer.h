/*
 * layer.h - one layer of a stack: bring it up inside the layer below, question it, take it down.
 */
#ifndef NL_LAYER_H
#define NL_LAYER_H

#include "stack.h"

/* Bring LAYER up: create its domain in the layer below (or, for a local L0, start the agent), wait
   for its agent and its services, connect to its libvirt, take its facts. Phases go into the
   document. On failure the document's "failure" says which phase, and what was seen. */
int nl_layer_up(struct nl_layer *layer, struct nl_error **err);

/* Have nl_watch_tick() called while an answer of its agent is waited for, as is done once it is up:
   for who had something else called. */
void nl_layer_watch(struct nl_layer *layer);

/* Read its domain's counters into the document. WHEN as nl_document_layer_exits() has it. Counting
   is best effort: a layer below that is gone has no counters to give. */
void nl_layer_count_exits(struct nl_layer *layer, const char *when);

/* The same counters, a new reference; NULL where there are none. */
json_t *nl_layer_counters(struct nl_layer *layer);

/* Read its kernel log into the document. */
int nl_layer_read_log(struct nl_layer *layer, struct nl_error **err);

/* Ask its agent; the deadline is the scenario's timeouts.agent_s, at most the run's. */
int nl_layer_ask(struct nl_layer *layer, const char *op, json_t *arguments, json_t **result,
                 struct nl_error **err);

/* End its domain. Only for the outermost guest: the others end with it, and asking the libvirt of a
   guest that hangs would cost the time that is left. Ending what has ended is success. */
int nl_layer_end_domain(struct nl_layer *layer, struct nl_error **err);

/* Close link, console and connections. */
void nl_layer_close(struct nl_layer *layer);

#endif
