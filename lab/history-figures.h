/*
 * history-figures.h - the figures of a run that a history follows: a pure function of its document.
 */
#ifndef NL_HISTORY_FIGURES_H
#define NL_HISTORY_FIGURES_H

#include <jansson.h>
#include <stdbool.h>

/* Kinds of series. */
#define NL_FIGURE_TIME "time"                 /* median of a benchmark's samples */
#define NL_FIGURE_INSTRUCTIONS "instructions" /* of one operation, of all layers together */
#define NL_FIGURE_VMRUNS "vmruns"             /* the same of VMRUNs */
#define NL_FIGURE_PHASE "phase"               /* seconds of a phase, and of the run as a whole */

/* More figures than any scenario makes: a document that nobody vouches for may hold any number. */
#define NL_FIGURES_MAX 4000

/* An array of objects: "kind"; "name" of the benchmark or phase; "layer" ("L1", "" for the run's
   own); "unit"; "terms", a text that is equal where two such figures mean the same; "rate", true
   where more is better; "value"; "low" and "high", the interval of a time's median or between which
   a count is, or null; "n" samples or undisturbed operations; "exact", true for a count that
   (nearly) all operations agree on; "repeats", the part of a count that boots of one build are
   known to be equal within, or null. At most NL_FIGURES_MAX; what has no finite value, or a name or
   unit longer than anything nestlab writes, is left out, and so are phases that were cut short or
   belong to a stack that broke. New reference. */
json_t *nl_history_figures(const json_t *document);

/* Is SERIES, or a figure, a count? */
bool nl_figure_is_count(const json_t *series);

#endif
