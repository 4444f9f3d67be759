/*
 * test-rules.c - the rules that come with nestlab: every one compiles, has an id of its own,
 * matches its own lines and not the near misses. And what the loader says of wrong ones.
 */
#include "evidence-lines.h"
#include "rules-table.h"
#include "schema.h"

#define FOLDER "scenarios/rules"

static struct nl_rules *rules;

static int set_up(void **state)
{
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    if (nl_rules_load(FOLDER, &rules, &err) < 0)
        print_error("%s\n", nl_error_message(err));
    return rules && schema_load(FOLDER "/rule.schema.json") == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    nl_rules_free(&rules);
    return schema_free(state);
}

static void test_schema(void **state)
{
    (void)state;
    compare_record(&nl_rule_file_record, schema);
}

/* TEXT as a rule sees it; BUFFER has room for NL_LINE_MAX. */
static struct nl_line strip(const char *text, unsigned kinds, char *buffer)
{
    struct nl_line line = {0};
    size_t length = strlen(text);

    assert_true(length <= NL_LINE_MAX);
    length = nl_line_clean(text, length, buffer);
    nl_line_strip(buffer, length, kinds, &line);
    return line;
}

struct wanted {
    size_t rule;
    bool found;
};

static void note_hit(void *context, size_t rule, const char *values)
{
    struct wanted *wanted = context;

    (void)values;
    wanted->found |= rule == wanted->rule;
}

static bool rule_matches(size_t rule, const char *text)
{
    static char buffer[NL_LINE_MAX];
    struct nl_line line = strip(text, nl_rules_at(rules, rule)->kinds, buffer);
    struct wanted wanted = {rule, false};

    nl_rules_match(rules, line.text, line.length, line.kinds, note_hit, &wanted);
    return wanted.found;
}

static void test_match(void **state)
{
    size_t wrong = 0;

    (void)state;
    for (size_t i = 0; i < nl_rules_count(rules); i++) {
        const struct nl_rule *rule = nl_rules_at(rules, i);

        for (char **text = rule->match; *text; text++) {
            if (rule_matches(i, *text))
                continue;
            print_error("%s: %s does not match: %s\n", rule->file, rule->id, *text);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static void test_no_match(void **state)
{
    size_t wrong = 0;

    (void)state;
    for (size_t i = 0; i < nl_rules_count(rules); i++) {
        const struct nl_rule *rule = nl_rules_at(rules, i);

        for (char **text = rule->no_match; *text; text++) {
            if (!rule_matches(i, *text))
                continue;
            print_error("%s: %s matches: %s\n", rule->file, rule->id, *text);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

/* A pattern that no line tries may be wrong in any way. */
static void test_every_pattern(void **state)
{
    static char buffer[NL_LINE_MAX];
    size_t wrong = 0;

    (void)state;
    for (size_t i = 0; i < nl_rules_count(rules); i++) {
        const struct nl_rule *rule = nl_rules_at(rules, i);

        for (size_t p = 0; rule->patterns[p]; p++) {
            bool tried = false;

            for (char **text = rule->match; *text && !tried; text++) {
                struct nl_line line = strip(*text, rule->kinds, buffer);
                tried = nl_rules_pattern_matches(rules, i, p, line.text, line.length);
            }
            if (tried)
                continue;
            print_error("%s: %s: no line of \"match\" matches the pattern %s\n", rule->file,
                        rule->id, rule->patterns[p]);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static void note_worst(void *context, size_t rule, const char *values)
{
    enum nl_severity *worst = context;

    (void)values;
    if (nl_rules_at(rules, rule)->severity > *worst)
        *worst = nl_rules_at(rules, rule)->severity;
}

/* What the check log-clean lets pass as harmless is harmless here. */
static void test_log_lines(void **state)
{
    static char buffer[NL_LINE_MAX];
    cleanup_json json_t *lists = json_load_file("scenarios/checks/log-lines.json", 0, NULL);
    const json_t *harmless = json_object_get(lists, "harmless");
    size_t i;
    json_t *entry;

    (void)state;
    assert_true(json_array_size(harmless) > 0);
    json_array_foreach(harmless, i, entry)
    {
        const char *example = json_string_value(json_object_get(entry, "example"));
        struct nl_line line = strip(example, NL_KIND_KERNEL_LOG, buffer);
        enum nl_severity worst = NL_SEVERITY_OK;

        nl_rules_match(rules, line.text, line.length, line.kinds, note_worst, &worst);
        if (worst != NL_SEVERITY_HARMLESS)
            fail_msg("%s: %s", nl_severity_name(worst), example);
    }
}

/* What makes up a good rule, as text; each case replaces one of them. */
static const char good[] =
    "{\"subject\": \"s\", \"rules\": [\n"
    "{\"id\": \"one\", \"severity\": \"error\", \"in\": [\"any\"],\n"
    " \"patterns\": [\"code (?<code>[0-9]+)\", \"(?i)again\"],\n"
    " \"meaning\": \"m\", \"remedy\": \"r\", \"source\": \"s\",\n"
    " \"values\": {\"code\": {\"7\": \"seven\"}}, \"kernels\": \"2.6.33-6.1\",\n"
    " \"match\": [\"code 7\"], \"no_match\": [\"x\"]},\n"
    "{\"id\": \"two\", \"severity\": \"ok\", \"in\": [\"lsmod\", \"text\"],\n"
    " \"patterns\": [\"^code\"], \"meaning\": \"m\", \"remedy\": \"r\", \"source\": \"s\",\n"
    " \"match\": [\"code\"], \"no_match\": [\"x\"]}]}";

/* The message that the good text gives once FROM is replaced by TO. */
static char *message_of(const char *from, const char *to)
{
    const char *at = strstr(good, from);
    cleanup_free char *text = NULL;
    cleanup_error struct nl_error *err = NULL;
    struct nl_rules *made = NULL;

    assert_non_null(at);
    assert_true(asprintf(&text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from)) > 0);
    assert_int_equal(nl_rules_parse("f.json", text, strlen(text), &made, &err), -1);
    assert_null(made);
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
    return strdup(nl_error_message(err));
}

static void test_wrong_rules(void **state)
{
    static const struct {
        const char *from, *to, *message;
    } cases[] = {
        {"\"two\"", "\"one\"", "f.json: the rule one: another rule has this id, in f.json"},
        {"\"error\"", "\"bad\"", "the rule one: f.json:2: rules[0].severity: \"bad\" is not"},
        {"[\"any\"]", "[\"dmesg\"]", "the rule one: f.json:2: rules[0].in[0]: \"dmesg\" is not"},
        {"\"^code\"", "\"(code\"", "f.json: the rule two: patterns[0]: PCRE2: missing"},
        {"\"^code\"", "\"a\\\\x{100}\"", "f.json: the rule two: patterns[0]: PCRE2: "},
        {"\"^code\"", "\".*\"", "f.json: the rule two: patterns[0]: Hyperscan: "},
        {"{\"7\": \"seven\"}", "7", "f.json: the rule one: values.code: must be an object"},
        {"{\"7\": \"seven\"}", "{\"7\": 7}", "f.json: the rule one: values.code: must be an"},
        {"{\"code\": {", "{\"cod\": {", "f.json: the rule one: values.cod: no pattern has"},
        {"\"2.6.33-6.1\"", "\"new\"", "the rule one: f.json:5: rules[0].kernels: \"new\" is"},
        {"\"match\": [\"code 7\"], ", "", "the rule one: f.json:2: rules[0]: the key \"match\""},
        {"\"one\"", "\"O ne\"", "the rule O ne: f.json:2: rules[0].id: \"O ne\" is not"},
        {"\"meaning\": \"m\"", "\"meaning\": \"a\\u001bb\"", "f.json:4: rules[0].meaning:"},
        {"{\"subject\"", "{{\"subject\"", "f.json:1:2: "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_free char *message = message_of(cases[i].from, cases[i].to);

        if (!strstr(message, cases[i].message))
            fail_msg("case %zu: %s", i, message);
    }
}

struct hits {
    size_t n;
    size_t rules[8];
    char values[64];
};

static void collect(void *context, size_t rule, const char *values)
{
    struct hits *hits = context;

    hits->rules[hits->n++] = rule;
    snprintf(hits->values, sizeof(hits->values), "%s", values);
}

static struct hits hits_of(struct nl_rules *of, const char *text, unsigned kinds)
{
    struct hits hits = {0};

    nl_rules_match(of, text, strlen(text), kinds, collect, &hits);
    return hits;
}

static void test_hits(void **state)
{
    cleanup_rules struct nl_rules *made = NULL;
    struct hits hits;

    (void)state;
    assert_int_equal(nl_rules_parse("f.json", good, strlen(good), &made, NULL), 0);
    assert_int_equal(nl_rules_count(made), 2);
    hits = hits_of(made, "say code 7", NL_KIND_KERNEL_LOG);
    assert_int_equal(hits.n, 1);
    assert_string_equal(hits.values, "7: seven");
    hits = hits_of(made, "code 8", NL_KIND_LSMOD);
    assert_int_equal(hits.n, 2);
    hits = hits_of(made, "code 8", NL_KIND_KERNEL_LOG);
    assert_int_equal(hits.n, 1);
    assert_int_equal(hits.rules[0], 0);
    assert_string_equal(hits.values, "");
    /* Two patterns of one rule: one hit. */
    assert_int_equal(hits_of(made, "code 7 AGAIN", NL_KIND_CPUINFO).n, 1);
    assert_int_equal(hits_of(made, "", NL_KIND_ANY).n, 0);
    assert_ptr_equal(nl_rules_find(made, "two"), nl_rules_at(made, 1));
    assert_null(nl_rules_find(made, "three"));
    assert_string_equal(nl_rules_near(made, "tow"), "two");
}

static void test_kernels(void **state)
{
    static const struct {
        const char *range, *release;
        bool fits;
    } cases[] = {
        {"2.6.33-6.1", "6.1.0-57-cloud-amd64", true},
        {"2.6.33-6.1", "6.1.140", true},
        {"2.6.33-6.1", "6.2.0", false},
        {"2.6.33-6.1", "2.6.32-754.el6", false},
        {"2.6.33-6.1", "2.6.33", true},
        {"5.10-", "5.9.16", false},
        {"5.10-", "6.18.0", true},
        {"-4.18", "4.18.0-553.el8", true},
        {"-4.18", "4.19.1", false},
        {"-4.18", "what", true},
        {NULL, "6.18.0", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct nl_rule rule = {.kernels = (char *)cases[i].range};

        if (nl_rule_fits_kernel(&rule, cases[i].release) != cases[i].fits)
            fail_msg("case %zu", i);
    }
}

/* A pattern whose time is exponential in the line is given up, and that is counted. */
static void test_slow_pattern(void **state)
{
    static const char slow[] =
        "{\"subject\": \"s\", \"rules\": [{\"id\": \"slow\", \"severity\": \"error\",\n"
        "\"in\": [\"any\"], \"patterns\": [\"^(a+)+$\"], \"meaning\": \"m\",\n"
        "\"remedy\": \"r\", \"source\": \"s\", \"match\": [\"x\"], \"no_match\": [\"x\"]}]}";
    static const char line[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab";
    cleanup_rules struct nl_rules *made = NULL;
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    if (nl_rules_parse("f.json", slow, strlen(slow), &made, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    /* Hyperscan would not even name it. */
    assert_false(nl_rules_pattern_matches(made, 0, 0, line, strlen(line)));
    assert_int_equal(nl_rules_given_up(made), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema),       cmocka_unit_test(test_match),
        cmocka_unit_test(test_no_match),     cmocka_unit_test(test_every_pattern),
        cmocka_unit_test(test_log_lines),    cmocka_unit_test(test_wrong_rules),
        cmocka_unit_test(test_hits),         cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_slow_pattern),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
