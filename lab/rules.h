/*
 * rules.h - the knowledge of `nestlab diagnose`: rules from scenarios/rules, and matching lines
 * against all of them at once.
 *
 * Hyperscan finds in one pass which patterns may match a line; PCRE2 decides, and gives what named
 * groups captured. So a pattern has to be one that both take.
 */
#ifndef NL_RULES_H
#define NL_RULES_H

#include "evidence-kind.h"
#include "error.h"

#include <stdbool.h>

enum nl_severity { NL_SEVERITY_OK, NL_SEVERITY_HARMLESS, NL_SEVERITY_WARNING, NL_SEVERITY_ERROR };

/* Whom a rule tells of, seen from the layer whose evidence has the line. */
enum nl_about { NL_ABOUT_SELF, NL_ABOUT_GUEST, NL_ABOUT_BELOW };

enum nl_vendor { NL_VENDOR_AMD = 1 << 0, NL_VENDOR_INTEL = 1 << 1 };

/* One rule: docs/diagnose.md describes its keys. */
struct nl_rule {
    char *id;
    char *severity_word;
    char **in;
    char **patterns;
    char **vendor_words;
    char *kernels; /* "FROM-TO", either may be missing; NULL: any */
    char *about_word;
    char *meaning;
    char *remedy;
    json_t *values; /* group -> captured text -> explanation; NULL: none */
    char *source;
    char **match;
    char **no_match;
    /* What the words above come to. */
    enum nl_severity severity;
    enum nl_about about;
    unsigned kinds;
    unsigned vendors;
    char *file; /* that it is from */
};

struct nl_rules;

/* All rules of the *.json files in FOLDER; NULL: nestlab's own. Messages name file, line and rule.
 */
int nl_rules_load(const char *folder, struct nl_rules **rules, struct nl_error **err);

/* The rules of one file's text; NAME is for messages. For tests and fuzzers. */
int nl_rules_parse(const char *name, const char *text, size_t length, struct nl_rules **rules,
                   struct nl_error **err);

void nl_rules_free(struct nl_rules **rules);
#define cleanup_rules NL_CLEANUP(nl_rules_free)

size_t nl_rules_count(const struct nl_rules *rules);
const struct nl_rule *nl_rules_at(const struct nl_rules *rules, size_t index);
const struct nl_rule *nl_rules_find(const struct nl_rules *rules, const char *id); /* or NULL */

/* For a message about an id that there is not: the nearest that there is, or NULL. */
const char *nl_rules_near(const struct nl_rules *rules, const char *id);

/* A rule that a line matches. VALUES explains what it captured, "" if nothing is to be explained;
   it lasts as long as the call. */
typedef void nl_rule_hit(void *context, size_t rule, const char *values);

/* Call HIT once for every rule that is for one of KINDS and matches the line TEXT of LENGTH bytes,
   which has been stripped (evidence-lines.h) and has no newline. One thread at a time. */
void nl_rules_match(struct nl_rules *rules, const char *text, size_t length, unsigned kinds,
                    nl_rule_hit *hit, void *context);

/* Matches that PCRE2 gave up, because a pattern needs too much time on some line. */
unsigned long nl_rules_given_up(const struct nl_rules *rules);

/* Does pattern PATTERN of rule RULE match, by PCRE2 alone? For tests. */
bool nl_rules_pattern_matches(struct nl_rules *rules, size_t rule, size_t pattern, const char *text,
                              size_t length);

const char *nl_severity_name(enum nl_severity severity);
extern const char *const nl_severity_words[]; /* by severity, NULL-terminated */

/* Could a kernel of that release ("6.1.0-13-amd64") print what the rule is for? Yes, where the rule
   does not say. */
bool nl_rule_fits_kernel(const struct nl_rule *rule, const char *release);

#endif
