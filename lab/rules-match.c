/*
 * rules-match.c - compiling the rules' patterns, and matching a line against all: see rules.h.
 *
 * Hyperscan reads a line once, however many patterns there are, and says which may match. It is
 * asked as a prefilter, so that lookaheads and the like are allowed: then it may say too much,
 * never too little. PCRE2 has the last word.
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "rules-cache.h"
#include "rules-table.h"

#include <hs/hs.h>
#include <pcre2.h>
#include <string.h>

/* What PCRE2 may spend on one line: a pattern of exponential time gives up within milliseconds. */
#define MATCH_LIMIT 200000
#define DEPTH_LIMIT 10000
#define HEAP_LIMIT_KIB 4096
/* Few patterns are compiled sooner than a file is read; and they shall not displace the many. */
#define WORTH_KEEPING 100

struct pattern {
    size_t rule;
    pcre2_code *code;
    bool jit_tried;
};

struct nl_matcher {
    const struct nl_rule *const *rules;
    struct pattern *patterns;
    size_t n_patterns;
    size_t *first; /* by rule, of its patterns */
    size_t n_rules;
    hs_database_t *database;
    hs_scratch_t *scratch;
    pcre2_match_data *match;
    pcre2_match_context *limits;
    unsigned *candidates; /* patterns that Hyperscan names, for the line at hand */
    size_t n_candidates;
    unsigned long given_up;
};

static int fail_pattern(struct nl_error **err, const struct nl_rule *rule, size_t index,
                        const char *who, const char *why)
{
    nl_fail(err, NL_EXIT_REQUEST, "%s: the rule %s: patterns[%zu]: %s: %s", rule->file, rule->id,
            index, who, why);
    return nl_hint(err, "a pattern has to be one that PCRE2 and Hyperscan both take; "
                        "docs/diagnose.md tells more");
}

static int compile_pattern(struct nl_matcher *matcher, size_t rule, size_t index,
                           struct nl_error **err)
{
    const struct nl_rule *of = matcher->rules[rule];
    struct pattern *pattern = &matcher->patterns[matcher->n_patterns];
    PCRE2_SIZE offset;
    int number;

    pattern->rule = rule;
    pattern->code =
        pcre2_compile((PCRE2_SPTR)of->patterns[index], PCRE2_ZERO_TERMINATED,
                      PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C, &number, &offset, NULL);
    if (!pattern->code) {
        char why[160];
        size_t n;

        pcre2_get_error_message(number, (PCRE2_UCHAR *)why, 128);
        n = strlen(why);
        snprintf(why + n, sizeof(why) - n, ", at character %zu", offset);
        return fail_pattern(err, of, index, "PCRE2", why);
    }
    matcher->n_patterns++;
    return 0;
}

static bool has_group(const struct nl_matcher *matcher, size_t rule, const char *group)
{
    for (size_t i = matcher->first[rule];
         i < matcher->n_patterns && matcher->patterns[i].rule == rule; i++)
        if (pcre2_substring_number_from_name(matcher->patterns[i].code, (PCRE2_SPTR)group) > 0)
            return true;
    return false;
}

static int fail_values(struct nl_error **err, const struct nl_rule *rule, const char *group,
                       const char *why)
{
    return nl_fail(err, NL_EXIT_REQUEST, "%s: the rule %s: values.%.64s: %s", rule->file, rule->id,
                   group, why);
}

/* The table says that "values" is an object; what is in it is looked at here. */
static int check_values(const struct nl_matcher *matcher, size_t index, struct nl_error **err)
{
    const struct nl_rule *rule = matcher->rules[index];
    const char *group, *text;
    json_t *texts, *explanation;

    json_object_foreach(rule->values, group, texts)
    {
        if (!json_is_object(texts))
            return fail_values(err, rule, group, "must be an object of strings");
        json_object_foreach(texts, text, explanation)
        {
            if (!json_is_string(explanation))
                return fail_values(err, rule, group, "must be an object of strings");
        }
        if (!has_group(matcher, index, group)) {
            fail_values(err, rule, group, "no pattern has a group of that name");
            return nl_hint(err, "a named group is written (?<%.64s>...)", group);
        }
    }
    return 0;
}

static int compile_rules(struct nl_matcher *matcher, struct nl_error **err)
{
    size_t n = 0;

    for (size_t i = 0; i < matcher->n_rules; i++)
        for (char **p = matcher->rules[i]->patterns; *p; p++)
            n++;
    matcher->patterns = calloc(n + 1, sizeof(*matcher->patterns));
    matcher->candidates = calloc(n + 1, sizeof(*matcher->candidates));
    matcher->first = calloc(matcher->n_rules + 1, sizeof(*matcher->first));
    if (!matcher->patterns || !matcher->candidates || !matcher->first)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    for (size_t i = 0; i < matcher->n_rules; i++) {
        matcher->first[i] = matcher->n_patterns;
        for (size_t k = 0; matcher->rules[i]->patterns[k]; k++)
            if (compile_pattern(matcher, i, k, err) < 0)
                return -1;
        if (check_values(matcher, i, err) < 0)
            return -1;
    }
    return 0;
}

static int compile_database(struct nl_matcher *matcher, const char *const *texts,
                            const unsigned *flags, const unsigned *ids, struct nl_error **err)
{
    hs_compile_error_t *wrong = NULL;

    if (hs_compile_multi(texts, flags, ids, (unsigned)matcher->n_patterns, HS_MODE_BLOCK, NULL,
                         &matcher->database, &wrong) != HS_SUCCESS) {
        size_t i = wrong && wrong->expression >= 0 ? (size_t)wrong->expression : 0;
        size_t rule = matcher->patterns[i].rule;

        fail_pattern(err, matcher->rules[rule], i - matcher->first[rule], "Hyperscan",
                     wrong ? wrong->message : "out of memory");
        hs_free_compile_error(wrong);
        return -1;
    }
    return 0;
}

static int build_database(struct nl_matcher *matcher, struct nl_error **err)
{
    cleanup_free const char **texts = calloc(matcher->n_patterns + 1, sizeof(*texts));
    cleanup_free unsigned *flags = calloc(matcher->n_patterns + 1, sizeof(*flags));
    cleanup_free unsigned *ids = calloc(matcher->n_patterns + 1, sizeof(*ids));
    cleanup_free char *key = NULL;

    if (!texts || !flags || !ids)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (hs_valid_platform() != HS_SUCCESS)
        return nl_fail(err, NL_EXIT_LAB, "this processor lacks SSSE3, which Hyperscan needs");
    for (size_t i = 0; i < matcher->n_patterns; i++) {
        const struct pattern *pattern = &matcher->patterns[i];

        texts[i] = matcher->rules[pattern->rule]->patterns[i - matcher->first[pattern->rule]];
        flags[i] = HS_FLAG_SINGLEMATCH | HS_FLAG_PREFILTER;
        ids[i] = (unsigned)i;
    }
    key = matcher->n_patterns < WORTH_KEEPING
              ? NULL
              : nl_rules_cache_key(texts, flags, (unsigned)matcher->n_patterns);
    matcher->database = nl_rules_cache_load(key);
    if (!matcher->database) {
        if (compile_database(matcher, texts, flags, ids, err) < 0)
            return -1;
        nl_rules_cache_save(key, matcher->database);
    }
    if (hs_alloc_scratch(matcher->database, &matcher->scratch) != HS_SUCCESS)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    return 0;
}

int nl_matcher_new(const struct nl_rule *const *rules, size_t n_rules, struct nl_matcher **matcher,
                   struct nl_error **err)
{
    struct nl_matcher *made = calloc(1, sizeof(*made));

    *matcher = made;
    if (!made)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    made->rules = rules;
    made->n_rules = n_rules;
    made->match = pcre2_match_data_create(32, NULL);
    made->limits = pcre2_match_context_create(NULL);
    if (!made->match || !made->limits)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    pcre2_set_match_limit(made->limits, MATCH_LIMIT);
    pcre2_set_depth_limit(made->limits, DEPTH_LIMIT);
    pcre2_set_heap_limit(made->limits, HEAP_LIMIT_KIB);
    return compile_rules(made, err) < 0 ? -1 : build_database(made, err);
}

void nl_matcher_free(struct nl_matcher **matcher)
{
    struct nl_matcher *old = *matcher;

    if (!old)
        return;
    for (size_t i = 0; i < old->n_patterns; i++)
        pcre2_code_free(old->patterns[i].code);
    hs_free_scratch(old->scratch);
    hs_free_database(old->database);
    pcre2_match_data_free(old->match);
    pcre2_match_context_free(old->limits);
    free(old->patterns);
    free(old->candidates);
    free(old->first);
    free(old);
    *matcher = NULL;
}

/* Hyperscan's callback. Not more often than once a pattern and line: HS_FLAG_SINGLEMATCH. */
static int note_candidate(unsigned id, unsigned long long from, unsigned long long to,
                          unsigned flags, void *context)
{
    struct nl_matcher *matcher = context;

    (void)from, (void)to, (void)flags;
    if (matcher->n_candidates < matcher->n_patterns)
        matcher->candidates[matcher->n_candidates++] = id;
    return 0;
}

static bool run_pcre2(struct nl_matcher *matcher, struct pattern *pattern, const char *text,
                      size_t length)
{
    int rc;

    /* Only a few patterns ever match: the others are not worth a JIT's time. Where there is no JIT,
       pcre2_match() interprets. */
    if (!pattern->jit_tried) {
        pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE);
        pattern->jit_tried = true;
    }
    rc =
        pcre2_match(pattern->code, (PCRE2_SPTR)text, length, 0, 0, matcher->match, matcher->limits);
    if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
        matcher->given_up++;
    /* 0: more groups than there is room for. */
    return rc >= 0;
}

/* What the rule has to say of the groups that the match at hand captured. The caller's; NULL when
   there is nothing. */
static char *explain_values(const struct nl_matcher *matcher, const struct pattern *pattern,
                            const char *subject)
{
    const struct nl_rule *rule = matcher->rules[pattern->rule];
    const PCRE2_SIZE *ovector = pcre2_get_ovector_pointer(matcher->match);
    char *explained = NULL;
    size_t size;
    const char *group;
    json_t *texts;
    FILE *out = rule->values ? open_memstream(&explained, &size) : NULL;

    if (!out)
        return NULL;
    json_object_foreach(rule->values, group, texts)
    {
        int n = pcre2_substring_number_from_name(pattern->code, (PCRE2_SPTR)group);
        size_t from, length;
        const json_t *explanation;
        char text[80];

        if (n <= 0 || n >= 32 || ovector[2 * n] == PCRE2_UNSET)
            continue;
        from = ovector[2 * n];
        length = ovector[2 * n + 1] - from;
        if (length >= sizeof(text))
            continue;
        memcpy(text, subject + from, length);
        text[length] = '\0';
        explanation = json_object_get(texts, text);
        if (explanation)
            fprintf(out, "%s%s: %s", ftell(out) > 0 ? "; " : "", text,
                    json_string_value(explanation));
    }
    fclose(out);
    return explained;
}

static bool has_hit(const unsigned *rules_hit, size_t n, size_t rule)
{
    for (size_t i = 0; i < n; i++)
        if (rules_hit[i] == rule)
            return true;
    return false;
}

void nl_matcher_match(struct nl_matcher *matcher, const char *text, size_t length, unsigned kinds,
                      nl_rule_hit *hit, void *context)
{
    unsigned *rules_hit = matcher->candidates; /* overwritten from the front as they are read */
    size_t n_hit = 0;

    matcher->n_candidates = 0;
    if (length > INT32_MAX || hs_scan(matcher->database, text, (unsigned)length, 0,
                                      matcher->scratch, note_candidate, matcher) != HS_SUCCESS)
        return;
    for (size_t i = 0; i < matcher->n_candidates; i++) {
        struct pattern *pattern = &matcher->patterns[matcher->candidates[i]];
        cleanup_free char *values = NULL;

        if (!(matcher->rules[pattern->rule]->kinds & kinds) ||
            has_hit(rules_hit, n_hit, pattern->rule) || !run_pcre2(matcher, pattern, text, length))
            continue;
        values = explain_values(matcher, pattern, text);
        rules_hit[n_hit++] = (unsigned)pattern->rule;
        hit(context, pattern->rule, values ? values : "");
    }
}

bool nl_matcher_pattern_matches(struct nl_matcher *matcher, size_t rule, size_t pattern,
                                const char *text, size_t length)
{
    return run_pcre2(matcher, &matcher->patterns[matcher->first[rule] + pattern], text, length);
}

unsigned long nl_matcher_given_up(const struct nl_matcher *matcher)
{
    return matcher->given_up;
}
