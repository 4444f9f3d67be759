/*
 * check.h - the checks of a run: the default ones (scenarios/checks/), those of its scenario, and
 * the verdicts of its commands.
 */
#ifndef NL_CHECK_H
#define NL_CHECK_H

#include "layer-rule.h"

/* Evaluate all checks that DOCUMENT's scenario asks for and put them into its "checks"; what was
   there is replaced. Checks about a layer are made once for every layer they apply to, whatever the
   depth. A check that needs what the document does not hold (the layer was not reached) is an error
   that says so. Takes at most 60 s, 5 s once the run was interrupted. Fails if the default checks'
   files cannot be read. */
int nl_checks_run(json_t *document, struct nl_error **err);

/* The default checks and what their programs and those of scenarios share. */
int nl_checks_load(struct nl_rule_data *data, struct nl_error **err);

/* As nl_checks_run, with RULES (the content of checks.json) and PRELUDE (of prelude.jq) given. */
int nl_checks_run_rules(json_t *document, const json_t *rules, const json_t *lists,
                        const char *prelude, struct nl_error **err);

#endif
