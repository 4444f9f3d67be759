/*
 * cmd-compare.c - `nestlab compare`: what changed between two runs, or two sets of runs.
 */
#include "cmd.h"
#include "compare.h"
#include "dig.h"
#include "report.h"
#include "save.h"

#include <argp.h>
#include <math.h>
#include <string.h>

enum { KEY_FORCE = 'f', KEY_JSON = 'j', KEY_WITH = 0x100, KEY_ABOVE, KEY_ALPHA, KEY_CSV, KEY_HTML };

static const struct argp_option option_table[] = {
    {"with", KEY_WITH, NULL, 0, "What follows is new; what came before is the base", 0},
    {"fail-above", KEY_ABOVE, "PERCENT", 0,
     "Exit with 1 if anything got worse by more than this, with confidence", 0},
    {"alpha", KEY_ALPHA, "P", 0,
     "Chance that anything in the table is called changed for nothing (default: 0.05)", 0},
    {"force", KEY_FORCE, NULL, 0, "Compare also what is not comparable, and list what differs", 0},
    {"html", KEY_HTML, "FILE", 0, "Write an HTML page to look at", 0},
    {"csv", KEY_CSV, "FILE", 0, "Write the rows as comma-separated values", 0},
    {"json", KEY_JSON, NULL, 0, "Print JSON", 0},
    {0},
};

struct options {
    struct nl_compare_options compare;
    const char **base;
    size_t n_base;
    const char **new;
    size_t n_new;
    bool with;
    bool json;
    const char *csv;
    const char *html;
};

static double parse_number(struct argp_state *state, const char *option, const char *text,
                           double low, double high)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || !(value >= low && value <= high))
        argp_error(state, "%s %s: is no number from %g to %g", option, text, low, high);
    return value;
}

/* Without --with the first is the base and the second is new. */
static void finish(struct options *options, struct argp_state *state)
{
    if (!options->with && options->n_base == 2) {
        options->new[options->n_new++] = options->base[1];
        options->n_base = 1;
    }
    if (!options->with && options->n_new == 0)
        argp_error(state, "needs two: BASE NEW, or BASE... --with NEW...");
    if (options->n_base == 0 || options->n_new == 0)
        argp_error(state, "--with goes between what is the base and what is new");
    if (options->json + nl_save_is_standard(options->csv) + nl_save_is_standard(options->html) > 1)
        argp_error(state, "only one report can go to standard output");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case KEY_WITH:
        if (options->with)
            argp_error(state, "--with is there twice");
        options->with = true;
        return 0;
    case KEY_ABOVE:
        options->compare.fail_above = parse_number(state, "--fail-above", arg, 0, 1e6);
        return 0;
    case KEY_ALPHA:
        options->compare.alpha = parse_number(state, "--alpha", arg, 1e-6, 0.5);
        return 0;
    case KEY_FORCE:
        options->compare.force = true;
        return 0;
    case KEY_CSV:
        options->csv = arg;
        return 0;
    case KEY_HTML:
        options->html = arg;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->with)
            options->new[options->n_new++] = arg;
        else
            options->base[options->n_base++] = arg;
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
        "Exit status: 0, or 1 if something got worse by more than --fail-above with "
        "confidence; 2 if a document cannot be read or the runs are not comparable; 3 if an "
        "output cannot be written.",
};

static int load(struct nl_document_set *set, const char *const *paths, size_t n,
                struct nl_error **err)
{
    for (size_t i = 0; i < n; i++)
        if (nl_document_set_add(set, paths[i], err) < 0)
            return -1;
    return 0;
}

static int compare(const struct options *options, struct nl_error **err)
{
    cleanup_document_set struct nl_document_set base = {0};
    cleanup_document_set struct nl_document_set new = {0};
    cleanup_json json_t *comparison = NULL;

    if (load(&base, options->base, options->n_base, err) < 0 ||
        load(&new, options->new, options->n_new, err) < 0 ||
        nl_compare(&base, &new, &options->compare, &comparison, err) < 0 ||
        (options->csv && nl_save_text(nl_compare_csv(comparison), options->csv, err) < 0) ||
        (options->html && nl_save_text(nl_compare_html(comparison), options->html, err) < 0))
        return -1;
    if (options->json) {
        json_dumpf(comparison, stdout, JSON_INDENT(1));
        putchar('\n');
    } else if (!nl_save_is_standard(options->csv) && !nl_save_is_standard(options->html)) {
        nl_compare_text(comparison, stdout, nl_report_wants_colour(stdout));
    }
    return nl_dig_integer(comparison, "sum.failed", 0) > 0 ? NL_EXIT_CHECK_FAILED : NL_EXIT_PASSED;
}

int nl_cmd_compare(int argc, char **argv)
{
    cleanup_free const char **base = calloc((size_t)argc + 1, sizeof(*base));
    cleanup_free const char **new = calloc((size_t)argc + 1, sizeof(*new));
    cleanup_error struct nl_error *err = NULL;
    struct options options = {
        .compare = {.alpha = 0.05, .fail_above = NAN}, .base = base, .new = new};
    int status;

    if (!base || !new)
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
