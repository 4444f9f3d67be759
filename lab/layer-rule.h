/*
 * layer-rule.h - rules that are made once for every layer they apply to, whatever the depth: the
 * default checks and the diagnoses. They are data under scenarios/checks/, with jq programs.
 */
#ifndef NL_LAYER_RULE_H
#define NL_LAYER_RULE_H

#include "error.h"

#include <stdbool.h>

/* What programs of rules share, loaded from scenarios/checks/. */
struct nl_rule_data {
    json_t *rules; /* an array */
    json_t *lists; /* log-lines.json */
    char *prelude; /* prelude.jq */
};

/* Load RULES (checks.json and the like) and what its programs use. */
int nl_rule_data_load(const char *rules, struct nl_rule_data *data, struct nl_error **err);
void nl_rule_data_clear(struct nl_rule_data *data);
#define cleanup_rule_data NL_CLEANUP(nl_rule_data_clear)

/* Is the layer with that index, of a stack whose innermost has the index INNERMOST, one that RULE's
   "for" means? Fails where that is no kind of layer. */
int nl_rule_applies(const json_t *rule, int layer, int innermost, bool *applies,
                    struct nl_error **err);

/* Does the layer's object AT hold what RULE is "only_with", if it names something? Without it there
   is nothing to be right or wrong. */
bool nl_rule_has_subject(const json_t *rule, const json_t *at);

/* The first of RULE's "needs" that the layer's object AT lacks, or NULL. Borrowed from RULE. */
const char *nl_rule_unmet_need(const json_t *rule, const json_t *at);

/* TEMPLATE with {layer} and {below} filled in; JSON null for NULL. New reference. */
json_t *nl_rule_fill_in(const char *template, int layer);

/* RULE's program, a string or an array of lines, as one text. The caller's; NULL: out of memory. */
char *nl_rule_program(const json_t *rule);

#endif
