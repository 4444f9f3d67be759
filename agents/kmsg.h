/*
 * kmsg.h - the kernel's log as records, from /dev/kmsg.
 */
#ifndef AGENT_KMSG_H
#define AGENT_KMSG_H

#include "util.h"

/* One record as read from /dev/kmsg, "PRIORITY,SEQ,TIME_US,FLAGS;TEXT\n KEY=VALUE\n...", as {"seq",
   "level", "facility", "time_us", "text"}; the dictionary lines are dropped. NULL if it is none. */
json_t *agent_kmsg_parse(const char *record, size_t length);

/* All records from number SINCE on, as the operation "log" returns them. Records that were
   overwritten before they were read are counted in "lost", told by the gaps in the numbers. A reply
   has a size limit: ask again from "next" until "records" comes back empty. */
int agent_kmsg_read(const char *path, json_int_t since, json_t **result, struct agent_error *error);

#endif
