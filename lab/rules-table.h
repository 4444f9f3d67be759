/*
 * rules-table.h - what the files that make rules.h work share.
 */
#ifndef NL_RULES_TABLE_H
#define NL_RULES_TABLE_H

#include "record.h"
#include "rules.h"

/* One file of rules. */
struct nl_rule_file {
    char *subject;
    struct nl_rule *rules;
    size_t n_rules;
};

extern const struct nl_record nl_rule_file_record;
extern const struct nl_record nl_rule_record;

#define NL_RULES_PER_FILE 256

/* The patterns of all rules, compiled. */
struct nl_matcher;

int nl_matcher_new(const struct nl_rule *const *rules, size_t n_rules, struct nl_matcher **matcher,
                   struct nl_error **err);
void nl_matcher_free(struct nl_matcher **matcher);
void nl_matcher_match(struct nl_matcher *matcher, const char *text, size_t length, unsigned kinds,
                      nl_rule_hit *hit, void *context);
bool nl_matcher_pattern_matches(struct nl_matcher *matcher, size_t rule, size_t pattern,
                                const char *text, size_t length);
unsigned long nl_matcher_given_up(const struct nl_matcher *matcher);

#endif
