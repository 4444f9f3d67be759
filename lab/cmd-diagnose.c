/*
 * cmd-diagnose.c - `nestlab diagnose PATH...`: what do logs and files of other machines say?
 */
#include "cmd.h"
#include "inquiry.h"
#include "dig.h"
#include "printable.h"
#include "report-text.h"
#include "report.h"
#include "streams.h"

#include <argp.h>
#include <string.h>

/* More than these are counted, not listed. */
#define EVIDENCE_SHOWN 30
#define UNREAD_SHOWN 10

struct diagnose_args {
    char **paths; /* the operands within argv; NULL: none */
    const char *rules;
    const char *explain;
    enum nl_severity min;
    bool json;
    bool list;
};

enum { KEY_JSON = 'j', KEY_RULES = 256, KEY_MIN, KEY_EXPLAIN, KEY_LIST };

static const struct argp_option option_table[] = {
    {"json", KEY_JSON, NULL, 0, "Print JSON", 0},
    {"rules", KEY_RULES, "DIR", 0, "Use the rules of this folder instead of nestlab's own", 0},
    {"min-severity", KEY_MIN, "SEVERITY", 0,
     "Leave out what is less than this: ok (the default), harmless, warning, error", 0},
    {"explain", KEY_EXPLAIN, "RULE", 0, "Print all about one rule, and read nothing", 0},
    {"list-rules", KEY_LIST, NULL, 0, "List the rules, and read nothing", 0},
    {0},
};

static void parse_severity(struct argp_state *state, const char *arg, enum nl_severity *severity)
{
    for (int i = 0; nl_severity_words[i]; i++) {
        if (strcmp(arg, nl_severity_words[i]) == 0) {
            *severity = (enum nl_severity)i;
            return;
        }
    }
    argp_error(state, "--min-severity: '%s' is none; allowed: ok, harmless, warning, error", arg);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct diagnose_args *args = state->input;

    switch (key) {
    case KEY_JSON:
        args->json = true;
        return 0;
    case KEY_RULES:
        args->rules = arg;
        return 0;
    case KEY_MIN:
        parse_severity(state, arg, &args->min);
        return 0;
    case KEY_EXPLAIN:
        args->explain = arg;
        return 0;
    case KEY_LIST:
        args->list = true;
        return 0;
    case ARGP_KEY_ARGS:
        args->paths = state->argv + state->next;
        return 0;
    case ARGP_KEY_END:
        if (args->paths && (args->list || args->explain))
            argp_error(state, "--list-rules and --explain read nothing: leave out %s",
                       args->paths[0]);
        if (!args->paths && !args->list && !args->explain)
            argp_error(state, "which evidence? Files, folders, archives, or - for standard input");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- About the rules ---- */

static void print_words(FILE *out, const char *label, char *const *words)
{
    fprintf(out, "  %-10s", label);
    for (; words && *words; words++)
        fprintf(out, " %s%s", *words, words[1] ? "," : "\n");
}

static void print_lines(const struct nl_text *to, const char *label, char *const *lines)
{
    for (; *lines; lines++) {
        cleanup_free char *line = nl_printable(*lines, 0);

        fprintf(to->out, "  %-10s %s\n", label, line ? line : "");
        label = "";
    }
}

static void print_prose(const struct nl_text *to, const char *label, const char *text)
{
    fprintf(to->out, "  %-10s ", label);
    nl_text_wrap(to, text, 13, 13);
}

static void print_values(const struct nl_text *to, const struct nl_rule *rule)
{
    const char *group, *captured;
    json_t *texts, *explanation;

    json_object_foreach(rule->values, group, texts)
    {
        json_object_foreach(texts, captured, explanation)
        {
            cleanup_free char *text = NULL;

            if (asprintf(&text, "%s %s: %s", group, captured, json_string_value(explanation)) >= 0)
                print_prose(to, "value", text);
        }
    }
}

static int explain(const struct nl_rules *rules, const struct diagnose_args *args,
                   struct nl_error **err)
{
    const struct nl_rule *rule = nl_rules_find(rules, args->explain);
    const struct nl_text to = nl_text_to(stdout, nl_report_wants_colour(stdout));

    if (!rule) {
        const char *near = nl_rules_near(rules, args->explain);

        nl_fail(err, NL_EXIT_REQUEST, "there is no rule %s", args->explain);
        return near ? nl_hint(err, "did you mean %s?", near)
                    : nl_hint(err, "`nestlab diagnose --list-rules` lists all");
    }
    printf("%s: %s\n", rule->id, rule->severity_word);
    print_prose(&to, "means", rule->meaning);
    print_values(&to, rule);
    print_prose(&to, "do", rule->remedy);
    print_prose(&to, "source", rule->source);
    print_prose(&to, "kernels", rule->kernels ? rule->kernels : "any");
    if (rule->vendor_words)
        print_words(stdout, "vendors", rule->vendor_words);
    print_words(stdout, "in", rule->in);
    print_prose(&to, "about", rule->about_word);
    print_lines(&to, "patterns", rule->patterns);
    print_lines(&to, "matches", rule->match);
    print_lines(&to, "does not", rule->no_match);
    print_prose(&to, "file", rule->file);
    return 0;
}

static json_t *rule_json(const struct nl_rule *rule)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s?}", "rule", rule->id, "severity",
                     rule->severity_word, "meaning", rule->meaning, "remedy", rule->remedy,
                     "source", rule->source, "file", rule->file, "kernels", rule->kernels);
}

static int print_json(json_t *json, struct nl_error **err)
{
    int rc = json ? json_dumpf(json, stdout, JSON_INDENT(2)) : -1;

    json_decref(json);
    if (rc < 0 || putchar('\n') == EOF)
        return nl_fail(err, NL_EXIT_LAB, "cannot write to standard output");
    return 0;
}

static int list_rules(const struct nl_rules *rules, bool json, struct nl_error **err)
{
    json_t *array = json ? json_array() : NULL;
    const struct nl_text to = nl_text_to(stdout, nl_report_wants_colour(stdout));

    for (size_t i = 0; i < nl_rules_count(rules); i++) {
        const struct nl_rule *rule = nl_rules_at(rules, i);

        if (json) {
            json_array_append_new(array, rule_json(rule));
            continue;
        }
        printf("%-8s %s%s%s\n         ", rule->severity_word, to.bold, rule->id, to.plain);
        nl_text_wrap(&to, rule->meaning, 9, 9);
    }
    return json ? print_json(array, err) : 0;
}

/* ---- What was read ---- */

static void print_evidence(const struct nl_text *to, const json_t *evidence)
{
    cleanup_free char *text = NULL;
    const json_t *layer = nl_dig(evidence, "layer");
    json_int_t lines = nl_dig_integer(evidence, "lines", 0);
    json_int_t cut_lines = nl_dig_integer(evidence, "cut_lines", 0);
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return;
    fprintf(out, "%s: %s, %" JSON_INTEGER_FORMAT " line%s", nl_dig_string(evidence, "file", "?"),
            nl_dig_string(evidence, "what", "?"), lines, lines == 1 ? "" : "s");
    if (layer)
        fprintf(out, "; most likely of %s (%s)", json_string_value(layer),
                nl_dig_string(evidence, "why", ""));
    if (cut_lines)
        fprintf(out, "; of %" JSON_INTEGER_FORMAT " only the first %d bytes were looked at",
                cut_lines, NL_LINE_MAX);
    if (nl_dig(evidence, "cut"))
        fprintf(out, "; not read to its end: %s", nl_dig_string(evidence, "cut", ""));
    if (nl_dig(evidence, "note"))
        fprintf(out, "; %s", nl_dig_string(evidence, "note", ""));
    fclose(out);
    fputs("  ", to->out);
    nl_text_wrap(to, text, 2, 4);
}

/* What is worth a line of its own: recognised evidence; all of it, if it is little. */
static void print_all_evidence(const struct nl_text *to, const json_t *evidence)
{
    size_t n = json_array_size(evidence);
    size_t unknown = 0, shown = 0, more = 0;
    size_t i;
    json_t *one;

    nl_text_section(to, "Read", NULL);
    json_array_foreach(evidence, i, one)
    {
        if (n > EVIDENCE_SHOWN && !nl_dig_true(one, "recognised"))
            unknown++;
        else if (shown == EVIDENCE_SHOWN)
            more++;
        else
            print_evidence(to, one), shown++;
    }
    if (more)
        fprintf(to->out, "  and %zu more of known kinds (--json lists all)\n", more);
    if (unknown)
        fprintf(to->out, "  and %zu of no known kind\n", unknown);
    if (n == 0)
        fputs("  nothing\n", to->out);
}

static void print_unread(const struct nl_text *to, const json_t *unread)
{
    size_t shown = 0, failed = 0;
    size_t i;
    json_t *one;

    json_array_foreach(unread, i, one)
    {
        cleanup_free char *text = NULL;

        if (!nl_dig_true(one, "failed"))
            continue;
        if (failed++ == 0)
            nl_text_section(to, "Not read", NULL);
        if (shown == UNREAD_SHOWN || asprintf(&text, "%s: %s", nl_dig_string(one, "file", "?"),
                                              nl_dig_string(one, "why", "?")) < 0)
            continue;
        shown++;
        fputs("  ", to->out);
        nl_text_wrap(to, text, 2, 4);
    }
    if (failed > shown)
        fprintf(to->out, "  and %zu more (--json lists them)\n", failed - shown);
}

static size_t count_of(const json_t *findings, enum nl_severity severity)
{
    size_t n = 0;
    size_t i;
    json_t *finding;

    json_array_foreach(findings, i, finding)
    {
        n += nl_dig_is(finding, "severity", nl_severity_name(severity));
    }
    return n;
}

static void print_summary(const struct nl_text *to, const struct nl_inquiry *inquiry,
                          const json_t *findings, size_t bad)
{
    const char *text = "nothing that the rules know is wrong in it";

    if (bad)
        text = "begin with the first: what is wrong further out causes what is wrong further in";
    else if (nl_inquiry_recognised(inquiry) == 0 && json_array_size(findings) == 0)
        text = "nothing recognised: none of it is a log or file of a kind that nestlab knows, and "
               "no rule matched";
    else if (json_array_size(findings) == 0)
        text = "no rule matched: nothing that the rules know is wrong in it";
    fprintf(to->out, "\n%s%zu error%s, %zu warning%s%s: ", to->bold,
            count_of(findings, NL_SEVERITY_ERROR),
            count_of(findings, NL_SEVERITY_ERROR) == 1 ? "" : "s",
            count_of(findings, NL_SEVERITY_WARNING),
            count_of(findings, NL_SEVERITY_WARNING) == 1 ? "" : "s", to->plain);
    nl_text_wrap(to, text, 24, 2);
}

static void print_text(const struct nl_inquiry *inquiry, const json_t *findings, size_t bad)
{
    const struct nl_text to = nl_text_to(stdout, nl_report_wants_colour(stdout));
    cleanup_json json_t *evidence = nl_inquiry_evidence(inquiry);
    cleanup_json json_t *unread = nl_inquiry_unread(inquiry);

    nl_text_findings(&to, findings);
    print_all_evidence(&to, evidence);
    print_unread(&to, unread);
    print_summary(&to, inquiry, findings, bad);
}

static int diagnose(struct nl_rules *rules, const struct diagnose_args *args, int *status,
                    struct nl_error **err)
{
    cleanup_inquiry struct nl_inquiry *inquiry = nl_inquiry_new(rules);
    cleanup_json json_t *findings = NULL;
    bool failed = false;
    size_t bad;

    if (!inquiry)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    for (char **path = args->paths; path && *path; path++) {
        cleanup_error struct nl_error *one = NULL;

        if (nl_inquiry_path(inquiry, *path, &one) == 0)
            continue;
        nl_error_print(one);
        failed = true;
    }
    nl_inquiry_conclude(inquiry);
    findings = nl_inquiry_findings(inquiry, args->min);
    bad = count_of(findings, NL_SEVERITY_ERROR) + count_of(findings, NL_SEVERITY_WARNING);
    failed |= nl_inquiry_failed(inquiry) > 0;
    *status = bad ? NL_EXIT_CHECK_FAILED : failed ? NL_EXIT_LAB : NL_EXIT_PASSED;
    if (args->json)
        return print_json(json_pack("{s:O, s:o, s:o, s:b}", "findings", findings, "evidence",
                                    nl_inquiry_evidence(inquiry), "unread",
                                    nl_inquiry_unread(inquiry), "complete", !failed),
                          err);
    print_text(inquiry, findings, bad);
    return 0;
}

int nl_cmd_diagnose(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = parse_option,
        .args_doc = "PATH...\n--explain RULE\n--list-rules",
        .doc =
            "Say what is wrong, from evidence of machines that one is not on: kernel logs in any "
            "form, /proc/cpuinfo, lsmod, module parameters, libvirt's XML and logs, QEMU's logs, "
            "virt-host-validate's output, nestlab's documents, and folders or tar archives of "
            "those; - is standard input. What each is, is found out by content.\v"
            "Exit status: 0 nothing wrong was found, 1 an error or a warning was, 2 the request "
            "was wrong, 3 something could not be read. docs/diagnose.md tells how to add a rule.",
    };
    struct diagnose_args args = {0};
    cleanup_rules struct nl_rules *rules = NULL;
    cleanup_error struct nl_error *err = NULL;
    int status = NL_EXIT_PASSED;
    int rc;

    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0)
        return NL_EXIT_REQUEST;
    rc = args.paths ? nl_streams_read_once(args.paths, &err) : 0;
    if (rc == 0)
        rc = nl_rules_load(args.rules, &rules, &err);
    if (rc == 0 && args.explain)
        rc = explain(rules, &args, &err);
    else if (rc == 0 && args.list)
        rc = list_rules(rules, args.json, &err);
    else if (rc == 0)
        rc = diagnose(rules, &args, &status, &err);
    if (rc == 0)
        return status;
    nl_error_print(err);
    return nl_error_status(err);
}
