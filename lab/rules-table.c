/*
 * rules-table.c - every key of a rule: type, range, allowed values, default. The published schema
 * (scenarios/rules/rule.schema.json) says the same; a unit test compares them.
 */
#include "rules-table.h"

#include <stddef.h>

#define FIELD(structure, member) .offset = offsetof(struct structure, member)
#define COUNT(structure, member) .count_offset = offsetof(struct structure, member)

/* Text that is printed in paragraphs. */
#define PROSE_PATTERN "^[^[:cntrl:]]+$"
#define PROSE_ALLOWED "text without control characters, not empty"

const char *const nl_severity_words[] = {
    [NL_SEVERITY_OK] = "ok",           [NL_SEVERITY_HARMLESS] = "harmless",
    [NL_SEVERITY_WARNING] = "warning", [NL_SEVERITY_ERROR] = "error",
    [NL_SEVERITY_ERROR + 1] = NULL,
};
static const char *const about_words[] = {"self", "guest", "below", NULL};
static const char *const vendor_words[] = {"amd", "intel", NULL};

static const struct nl_field rule_fields[] = {
    {"id", NL_FIELD_TEXT, FIELD(nl_rule, id), .required = true,
     .pattern = "^[a-z0-9]+(-[a-z0-9]+)*$", .max_length = 64,
     .allowed = "words of small letters and digits, joined by '-'"},
    {"severity", NL_FIELD_TEXT, FIELD(nl_rule, severity_word), .required = true,
     .choices = nl_severity_words},
    {"in", NL_FIELD_TEXTS, FIELD(nl_rule, in), .required = true, .min_count = 1, .unique = true,
     .choices = nl_kind_words},
    {"patterns", NL_FIELD_TEXTS, FIELD(nl_rule, patterns), .required = true, .min_count = 1,
     .max_count = 32, .unique = true, .pattern = PROSE_PATTERN, .allowed = PROSE_ALLOWED},
    {"vendors", NL_FIELD_TEXTS, FIELD(nl_rule, vendor_words), .unique = true,
     .choices = vendor_words},
    {"kernels", NL_FIELD_TEXT, FIELD(nl_rule, kernels), .max_length = 32,
     .pattern = "^([0-9]+([.][0-9]+){1,2}-([0-9]+([.][0-9]+){1,2})?|-[0-9]+([.][0-9]+){1,2})$",
     .allowed = "\"FROM-TO\", \"FROM-\" or \"-TO\" with versions such as 2.6.33 or 6.18"},
    {"about", NL_FIELD_TEXT, FIELD(nl_rule, about_word), .choices = about_words,
     .fallback = "\"self\""},
    {"meaning", NL_FIELD_TEXT, FIELD(nl_rule, meaning), .required = true, .max_length = 2048,
     .pattern = PROSE_PATTERN, .allowed = PROSE_ALLOWED},
    {"remedy", NL_FIELD_TEXT, FIELD(nl_rule, remedy), .required = true, .max_length = 2048,
     .pattern = PROSE_PATTERN, .allowed = PROSE_ALLOWED},
    {"values", NL_FIELD_OBJECT, FIELD(nl_rule, values)},
    {"source", NL_FIELD_TEXT, FIELD(nl_rule, source), .required = true, .max_length = 1024,
     .pattern = PROSE_PATTERN, .allowed = PROSE_ALLOWED},
    {"match", NL_FIELD_TEXTS, FIELD(nl_rule, match), .required = true, .min_count = 1,
     .max_length = 4096},
    {"no_match", NL_FIELD_TEXTS, FIELD(nl_rule, no_match), .required = true, .min_count = 1,
     .max_length = 4096},
    {.key = NULL},
};

const struct nl_record nl_rule_record = {"a rule", sizeof(struct nl_rule), rule_fields};

static const struct nl_field file_fields[] = {
    {.key = "$schema", .type = NL_FIELD_IGNORED},
    {"subject", NL_FIELD_TEXT, FIELD(nl_rule_file, subject), .required = true, .max_length = 256,
     .pattern = PROSE_PATTERN, .allowed = PROSE_ALLOWED},
    {"rules", NL_FIELD_RECORDS, FIELD(nl_rule_file, rules), COUNT(nl_rule_file, n_rules),
     .required = true, .min_count = 1, .max_count = NL_RULES_PER_FILE, .record = &nl_rule_record},
    {.key = NULL},
};

const struct nl_record nl_rule_file_record = {"a file of rules", sizeof(struct nl_rule_file),
                                              file_fields};
