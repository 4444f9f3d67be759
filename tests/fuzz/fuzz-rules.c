/*
 * fuzz-rules.c - libFuzzer target: any bytes as a file of rules; a byte 0xff, which no UTF-8 text
 * has, separates it from a line that the rules are tried on.
 */
#include "rules.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    const struct nl_rules *rules;
    unsigned kinds;
};

static void check_hit(void *context, size_t rule, const char *values)
{
    const struct seen *seen = context;

    if (rule >= nl_rules_count(seen->rules) || !values ||
        !(nl_rules_at(seen->rules, rule)->kinds & seen->kinds))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *mark = size ? memchr(data, 0xff, size) : NULL;
    size_t length = mark ? (size_t)(mark - data) : size;
    cleanup_rules struct nl_rules *rules = NULL;
    cleanup_error struct nl_error *err = NULL;
    int rc = nl_rules_parse("fuzz.json", (const char *)data, length, &rules, &err);

    if ((rc == 0) != (rules != NULL) || (rc == 0) == (err != NULL))
        abort();
    if (!rules)
        return 0;
    for (unsigned kinds = 1; kinds <= NL_KIND_ANY; kinds = kinds << 1) {
        struct seen seen = {rules, kinds};

        nl_rules_match(rules, mark ? (const char *)mark + 1 : "", mark ? size - length - 1 : 0,
                       kinds, check_hit, &seen);
    }
    for (size_t i = 0; i < nl_rules_count(rules); i++) {
        nl_rule_fits_kernel(nl_rules_at(rules, i), "6.1.0");
        nl_rules_near(rules, nl_rules_at(rules, i)->id);
    }
    return 0;
}
