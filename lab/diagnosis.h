/*
 * diagnosis.h - the one root cause of what went wrong in a run: found by rules over its document
 * (scenarios/checks/diagnoses.json), the outermost layer first.
 */
#ifndef NL_DIAGNOSIS_H
#define NL_DIAGNOSIS_H

#include "layer-rule.h"

/* Its name where a check failed and no rule finds the cause. */
#define NL_DIAGNOSIS_CHECK_FAILED "check-failed"

/* Put the diagnosis of DOCUMENT, whose checks have their verdicts, into its "diagnosis": {"name",
   "layer", "summary", "explanation", "evidence", "remedy"}; null where nothing is wrong, or the run
   was interrupted. Where no rule finds the cause it is "check-failed" or "unknown". Takes at most
   30 s. Fails if the rules cannot be read; "diagnosis" is null then. */
int nl_diagnosis_run(json_t *document, struct nl_error **err);

/* As nl_diagnosis_run, with the rules given. */
int nl_diagnosis_run_rules(json_t *document, const struct nl_rule_data *data,
                           struct nl_error **err);

/* Fails (NL_EXIT_REQUEST, with a hint) unless NAME is one that can come out. */
int nl_diagnosis_check_name(const char *name, struct nl_error **err);

/* The scenario says which diagnosis must come out ("expect"): then that alone decides. NULL: it
   does not. Borrowed. */
const json_t *nl_diagnosis_expected(const json_t *document);

/* Did it come out? */
bool nl_diagnosis_is_expected(const json_t *document);

/* What to do: REMEDY of DOCUMENT's diagnosis or of a check. Where the scenario itself injects a
   fault that advice may be about a layer that is broken on purpose: then this is said first. The
   caller's; NULL: there is no REMEDY, or out of memory. */
char *nl_diagnosis_advice(const json_t *document, const char *remedy);

/* Is EVIDENCE, of DOCUMENT's diagnosis, what its failure says at more length? */
bool nl_diagnosis_is_of_failure(const json_t *document, const char *evidence);

/* "hung at L2" for a diagnosis or what is expected, "nothing" for NULL. The caller's. */
char *nl_diagnosis_title(const json_t *named);

#endif
