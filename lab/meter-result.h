/*
 * meter-result.h - from what the meter recorded of a benchmark's operations to what one operation
 * costs: a pure function, and where the disturbed ones are told from the others.
 */
#ifndef NL_METER_RESULT_H
#define NL_METER_RESULT_H

#include "../agents/meter-file.h"

#include <jansson.h>
#include <stddef.h>

/* An element of a layer's "metered" (docs/document.md). REPLY is what the agent said of it; the
   stack has LAYERS layers. New reference; NULL when out of memory. */
json_t *nl_meter_result(const json_t *reply, const struct meter_record *records, size_t n,
                        size_t layers);

#endif
