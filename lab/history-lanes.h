/*
 * history-lanes.h - which runs of a history belong together: a lane has those whose figures mean
 * the same.
 */
#ifndef NL_HISTORY_LANES_H
#define NL_HISTORY_LANES_H

#include "error.h"

/* Part SERIES (of nl_history_load(), with points over all RUNS) by lanes. Runs are of one lane
   where they are of one scenario, have equally many layers, are all metered or none is, and
   comparable (comparable.h). Times and counts have lanes of their own: counts do not depend on this
   machine.

   *LANES: an array of {"scenario", "layers", "metered", "of": "times" or "counts", "apart": what
   must be equal and is not in the first lane of that scenario, as elements "what", "layer",
   "reference", "other" of nl_comparable(), "runs": how many}; *PARTED: the series, each with points
   of one lane and its index as "lane", in the order of lanes. New references. */
int nl_history_lanes(const json_t *runs, const json_t *series, json_t **lanes, json_t **parted,
                     struct nl_error **err);

#endif
