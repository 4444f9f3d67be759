/*
 * history-store.h - documents kept over time: one SQLite database in a folder.
 *
 * A document is kept whole, and its figures beside it, so that a look at many runs need not read
 * all of them again. Nobody vouches for the database either: one that is damaged, somebody else's,
 * or of a newer nestlab is refused.
 */
#ifndef NL_HISTORY_STORE_H
#define NL_HISTORY_STORE_H

#include "error.h"

#include <stdbool.h>

#define NL_HISTORY_FILE "history.db"
#define NL_HISTORY_VERSION 1

/* The latest runs that a look takes in at most. */
#define NL_HISTORY_RUNS_MAX 1000

struct nl_history_store;

/* The history in FOLDER. CREATE makes folder and database where there are none; without it that is
   an error (NL_EXIT_REQUEST). Waits a few seconds for somebody who writes. */
int nl_history_open(const char *folder, bool create, struct nl_history_store **store,
                    struct nl_error **err);
void nl_history_close(struct nl_history_store **store);
#define cleanup_history NL_CLEANUP(nl_history_close)

/* Keep DOCUMENT (as nl_document_load gave it), all or nothing. ADDED is false if it is there
   already. Refused (NL_EXIT_REQUEST) are documents of runs that have not ended or whose begin is
   not known, and another document of a run that is there. */
int nl_history_add(struct nl_history_store *store, const json_t *document, bool *added,
                   struct nl_error **err);

/* The latest MAX runs, by their begin, and what they figured: an object
   "runs": [{"id", "started", "status", "excerpt"}], the earliest first, and
   "series": [{"kind", "name", "layer", "unit", "terms", "rate",
               "points": [{"run" (index), "value", "low", "high", "n", "exact", "repeats"}]}]
   in the order in which benchmarks and phases first came, and then of layers. "excerpt" is
   nl_comparable_excerpt()'s, with "scenario" (its name) and "metered". New reference. */
int nl_history_load(struct nl_history_store *store, size_t max, json_t **history,
                    struct nl_error **err);

/* The document of run ID. New reference. */
int nl_history_document(struct nl_history_store *store, const char *id, json_t **document,
                        struct nl_error **err);

#endif
