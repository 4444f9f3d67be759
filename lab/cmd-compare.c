/*
 * cmd-compare.c - `nestlab compare`: what changed between two runs, or two sets of runs.
 */
#include "args-number.h"
#include "cmd.h"
#include "compare.h"
#include "compare-words.h"
#include "outputs.h"
#include "report.h"
#include "save.h"
#include "streams.h"

#include <math.h>

enum { KEY_FORCE = 'f', KEY_JSON = 'j', KEY_WITH = 0x100, KEY_ABOVE, KEY_ALPHA, KEY_CSV, KEY_HTML };

static const struct argp_option option_table[] = {
    {"with", KEY_WITH, NULL, 0, "What follows is new; what came before is the base", 0},
    {"fail-above", KEY_ABOVE, "PERCENT", 0,
     "Exit with 1 if anything got worse by more than this, with confidence, a new run failed as no "
     "run of the base did, or something that the base measured is missing, which new was asked for",
     0},
    {"alpha", KEY_ALPHA, "P", 0,
     "Chance that anything in the table is called changed for nothing (default: 0.05)", 0},
    {"force", KEY_FORCE, NULL, 0, "Compare also what is not comparable, and list what differs", 0},
    {"html", KEY_HTML, "FILE", 0, "Write an HTML page to look at", 0},
    {"csv", KEY_CSV, "FILE", 0, "Write the rows as comma-separated values", 0},
    {"json", KEY_JSON, NULL, 0, "Print JSON", 0},
    {0},
};

enum { JSON, HTML, CSV, OUTPUTS };

struct options {
    struct nl_compare_options compare;
    char **operands; /* the base, then what is new; ends with NULL */
    size_t n;
    size_t n_base;
    bool with;
    struct nl_output outputs[OUTPUTS + 1];
};

/* Without --with the first is the base and the second is new. */
static void finish(struct options *options, struct argp_state *state)
{
    if (!options->with && options->n != 2)
        argp_error(state, "needs two: BASE NEW, or BASE... --with NEW...");
    if (!options->with)
        options->n_base = 1;
    if (options->n_base == 0 || options->n_base == options->n)
        argp_error(state, "--with goes between what is the base and what is new");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case KEY_WITH:
        if (options->with)
            argp_error(state, "--with is there twice");
        options->with = true;
        options->n_base = options->n;
        return 0;
    case KEY_ABOVE:
        options->compare.fail_above = nl_args_number(state, "--fail-above", arg, 0, 1e6);
        return 0;
    case KEY_ALPHA:
        options->compare.alpha = nl_args_number(state, "--alpha", arg, 1e-6, 0.5);
        return 0;
    case KEY_FORCE:
        options->compare.force = true;
        return 0;
    case KEY_CSV:
        nl_output_name(&options->outputs[CSV], arg);
        return 0;
    case KEY_HTML:
        nl_output_name(&options->outputs[HTML], arg);
        return 0;
    case KEY_JSON:
        options->outputs[JSON].file = "-";
        return 0;
    case ARGP_KEY_ARG:
        options->operands[options->n++] = arg;
        return 0;
    case ARGP_KEY_END:
        finish(options, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_table,
    .parser = parse_option,
    .args_doc = "BASE NEW\nBASE... --with NEW...",
    .doc =
        "Say what changed between two runs, or two sets of runs, by benchmark and layer. Each is a "
        "document, or a folder with documents of several runs.\v"
        "Exit status: 0; with --fail-above 1 if something got worse by more than that with "
        "confidence, a new run failed as no run of the base did, or something that the base "
        "measured is missing, which new was asked for; 2 if a document cannot be read, the runs "
        "are not comparable, or --fail-above could not judge; 3 if an output cannot be written.",
};

static int load(struct nl_document_set *set, char *const *paths, size_t n, struct nl_error **err)
{
    for (size_t i = 0; i < n; i++)
        if (nl_document_set_add(set, paths[i], err) < 0)
            return -1;
    return 0;
}

static int check_files(const struct options *options, struct nl_error **err)
{
    if (nl_outputs_check(options->outputs, err) < 0 ||
        nl_streams_read_once(options->operands, err) < 0)
        return -1;
    return nl_outputs_spare_documents(options->outputs, options->operands, err);
}

static int compare(const struct options *options, struct nl_error **err)
{
    cleanup_document_set struct nl_document_set base = {0};
    cleanup_document_set struct nl_document_set new = {0};
    cleanup_json json_t *comparison = NULL;
    cleanup_free char *reasons = NULL;
    const char *csv = options->outputs[CSV].file;
    const char *html = options->outputs[HTML].file;
    size_t n_base = options->n_base;
    int status;

    if (check_files(options, err) < 0 || load(&base, options->operands, n_base, err) < 0 ||
        load(&new, options->operands + n_base, options->n - n_base, err) < 0 ||
        nl_compare(&base, &new, &options->compare, &comparison, err) < 0 ||
        (csv && nl_save_text(nl_compare_csv(comparison), csv, err) < 0) ||
        (html && nl_save_text(nl_compare_html(comparison), html, err) < 0))
        return -1;
    if (options->outputs[JSON].file) {
        json_dumpf(comparison, stdout, JSON_INDENT(1));
        putchar('\n');
    } else if (!nl_outputs_print(options->outputs)) {
        nl_compare_text(comparison, stdout, nl_report_wants_colour(stdout));
    }
    status = nl_compare_status(comparison);
    if (status != NL_EXIT_REQUEST)
        return status;
    reasons = nl_compare_reasons(comparison);
    return nl_fail(err, status, "--fail-above could not judge: %s", reasons ? reasons : "?");
}

int nl_cmd_compare(int argc, char **argv)
{
    cleanup_free char **operands = calloc((size_t)argc + 1, sizeof(*operands));
    cleanup_error struct nl_error *err = NULL;
    struct options options = {.compare = {.alpha = 0.05, .fail_above = NAN},
                              .operands = operands,
                              .outputs = {[JSON] = {.option = "--json"},
                                          [HTML] = {.option = "--html"},
                                          [CSV] = {.option = "--csv"}}};
    int status;

    if (!operands)
        return NL_EXIT_LAB;
    /* In their order: --with parts the operands. */
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &options) != 0)
        return NL_EXIT_REQUEST;
    status = compare(&options, &err);
    if (status >= 0)
        return status;
    nl_error_print(err);
    return nl_error_status(err);
}
