/*
 * scenario-table.h - the keys of a scenario, shared by the files that make scenario.h work.
 */
#ifndef NL_SCENARIO_TABLE_H
#define NL_SCENARIO_TABLE_H

#include "record.h"
#include "scenario.h"

extern const struct nl_record nl_scenario_record;
extern const struct nl_record nl_layer_record;
extern const struct nl_record nl_kernel_record;

/* An inner guest needs its memory and its QEMU's, page tables' and kernel's share in the layer
   around it: this much more. */
#define NL_MEMORY_STEP_MIB 256

/* The memory of layer INDEX: as the scenario says, else the default for its position. */
int nl_scenario_memory(const struct nl_scenario *scenario, size_t index);

/* The index that NAME ("L1", "innermost") means, or -1. */
int nl_scenario_layer_index(const struct nl_scenario *scenario, const char *name);

/* "allowed: L0 to L2, innermost" for messages; the caller's. */
char *nl_scenario_layer_names(const struct nl_scenario *scenario);

/* What the table cannot say: rules between values. ROOT is the scenario's place. */
int nl_scenario_check(const struct nl_scenario *scenario, const struct nl_json_place *root,
                      struct nl_error **err);

/* Name the layers L0, L1, ... by position. */
int nl_scenario_name_layers(struct nl_scenario *scenario, struct nl_error **err);

/* Apply what the command line changes, all but what needs the rules. */
int nl_scenario_override(struct nl_scenario *scenario, const struct nl_overrides *overrides,
                         struct nl_error **err);

#endif
