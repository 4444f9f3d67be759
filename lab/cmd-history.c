/*
 * cmd-history.c - `nestlab history`: keeps documents over time, and says what changed when.
 */
#include "args-number.h"
#include "cmd.h"
#include "dig.h"
#include "document-set.h"
#include "document.h"
#include "history-store.h"
#include "history.h"
#include "outputs.h"
#include "report.h"
#include "save.h"
#include "streams.h"

#include <string.h>

enum {
    KEY_JSON = 'j',
    KEY_BENCHMARK = 0x100,
    KEY_AT,
    KEY_LAST,
    KEY_ALPHA,
    KEY_CSV,
    KEY_HTML,
    KEY_DOCUMENT,
};

#define LAST_DEFAULT 200

/* With less of it no change in one of a thousand series could be told by the orders that are drawn.
 */
#define ALPHA_MIN 0.001

static const struct argp_option option_table[] = {
    {"benchmark", KEY_BENCHMARK, "NAME", 0, "Only this benchmark or phase; may be repeated", 0},
    {"at", KEY_AT, "LN", 0, "Only this layer", 0},
    {"last", KEY_LAST, "N", 0, "Only the latest N runs (default: 200)", 0},
    {"alpha", KEY_ALPHA, "P", 0,
     "Chance that any series without a change is marked (default: 0.05)", 0},
    {"html", KEY_HTML, "FILE", 0, "Write an HTML page with plots", 0},
    {"csv", KEY_CSV, "FILE", 0, "Write a row for each figure of each run", 0},
    {"document", KEY_DOCUMENT, "ID", 0, "Print the document of that run, as it was kept", 0},
    {"json", KEY_JSON, NULL, 0, "Print JSON", 0},
    {0},
};

enum { JSON, DOCUMENT, HTML, CSV, OUTPUTS };

struct options {
    char **operands; /* DIR, then documents */
    const char **names;
    size_t n_names;
    const char *at;
    const char *document;
    struct nl_output outputs[OUTPUTS + 1];
    size_t last;
    double alpha;
    bool told_how; /* --last or --alpha */
};

/* Is a look at the history asked for? */
static bool asks_to_look(const struct options *options)
{
    return options->outputs[JSON].file || options->outputs[HTML].file ||
           options->outputs[CSV].file || options->names[0] || options->at || options->told_how;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case KEY_BENCHMARK:
        options->names[options->n_names++] = arg;
        return 0;
    case KEY_AT:
        options->at = arg;
        return 0;
    case KEY_LAST:
        options->last = (size_t)nl_args_number(state, "--last", arg, 1, NL_HISTORY_RUNS_MAX);
        if (strspn(arg, "0123456789") != strlen(arg))
            argp_error(state, "--last %s: is no whole number", arg);
        options->told_how = true;
        return 0;
    case KEY_ALPHA:
        options->alpha = nl_args_number(state, "--alpha", arg, ALPHA_MIN, 0.5);
        options->told_how = true;
        return 0;
    case KEY_CSV:
        nl_output_name(&options->outputs[CSV], arg);
        return 0;
    case KEY_HTML:
        nl_output_name(&options->outputs[HTML], arg);
        return 0;
    case KEY_DOCUMENT:
        options->document = arg;
        nl_output_name(&options->outputs[DOCUMENT], "-");
        return 0;
    case KEY_JSON:
        options->outputs[JSON].file = "-";
        return 0;
    case ARGP_KEY_ARGS:
        options->operands = state->argv + state->next;
        return 0;
    case ARGP_KEY_END:
        if (options->document && asks_to_look(options))
            argp_error(state, "--document prints what was kept of one run: no other option goes "
                              "with it");
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which folder? It keeps the history in " NL_HISTORY_FILE);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_table,
    .parser = parse_option,
    .args_doc = "DIR [DOCUMENT...]",
    .doc =
        "Keep documents over time in DIR/" NL_HISTORY_FILE ", and show the trend of every "
        "benchmark, count and phase by layer, with the runs at which it changed. Documents, or "
        "folders of runs, are added; without any, or with an option that says how, the "
        "history is shown.\v"
        "Exit status: 0, or 2 if a document cannot be read, or DIR holds no history or not a "
        "history of nestlab's, or 3 if a file cannot be written, or another process writes to the "
        "history for more than 5 s.",
};

struct added {
    size_t n;
    size_t known;
};

static int add_document(struct nl_history_store *store, const char *path, struct added *added,
                        struct nl_error **err)
{
    cleanup_json json_t *document = NULL;
    bool new;

    if (nl_document_load(path, &document, err) < 0)
        return -1;
    if (nl_history_add(store, document, &new, err) < 0)
        return nl_wrap(err, "%s", path);
    added->n += new;
    added->known += !new;
    return 0;
}

static int add_path(struct nl_history_store *store, const char *path, struct added *added,
                    struct nl_error **err)
{
    cleanup_strv char **paths = NULL;

    if (nl_document_paths(path, &paths, err) < 0)
        return -1;
    for (char **each = paths; *each; each++)
        if (add_document(store, *each, added, err) < 0)
            return -1;
    return 0;
}

/* SAY: where to put what was done; standard output is JSON's if that, or a document, is asked for.
 */
static int add_all(struct nl_history_store *store, char **paths, FILE *say, struct nl_error **err)
{
    struct added added = {0};
    int rc = 0;

    for (char **path = paths; rc == 0 && *path; path++)
        rc = add_path(store, *path, &added, err);
    /* Also after a failure: what was added before it stays. */
    fprintf(say, "%zu added, %zu there already\n", added.n, added.known);
    return rc;
}

static int print_document(struct nl_history_store *store, const char *id, struct nl_error **err)
{
    cleanup_json json_t *document = NULL;

    if (nl_history_document(store, id, &document, err) < 0)
        return -1;
    json_dumpf(document, stdout, JSON_INDENT(1));
    putchar('\n');
    return 0;
}

static int show(struct nl_history_store *store, const struct options *options,
                struct nl_error **err)
{
    const struct nl_history_options history_options = {options->alpha, options->names, options->at};
    const char *csv = options->outputs[CSV].file;
    const char *html = options->outputs[HTML].file;
    cleanup_json json_t *loaded = NULL;
    cleanup_json json_t *history = NULL;

    if (nl_history_load(store, options->last, &loaded, err) < 0 ||
        nl_history(loaded, &history_options, &history, err) < 0)
        return -1;
    if (csv && nl_save_text(nl_history_csv(history), csv, err) < 0)
        return -1;
    if (html && nl_save_text(nl_history_html(history), html, err) < 0)
        return -1;
    if (options->outputs[JSON].file) {
        json_dumpf(history, stdout, JSON_INDENT(1));
        putchar('\n');
    } else if (!csv && !html) {
        nl_history_text(history, stdout, nl_report_wants_colour(stdout));
    }
    return 0;
}

/* Of those who add documents. */
static bool wants_to_see(const struct options *options)
{
    return options->document || asks_to_look(options);
}

/* The outputs are none of the files that are read: the documents, and the history itself. */
static int check_files(const struct options *options, struct nl_error **err)
{
    cleanup_free char *database = NULL;

    if (nl_outputs_check(options->outputs, err) < 0 ||
        nl_streams_read_once(options->operands + 1, err) < 0 ||
        nl_outputs_spare_documents(options->outputs, options->operands + 1, err) < 0)
        return -1;
    if (asprintf(&database, "%s/" NL_HISTORY_FILE, options->operands[0]) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    return nl_outputs_spare(options->outputs, database, err);
}

static int history(const struct options *options, struct nl_error **err)
{
    cleanup_history struct nl_history_store *store = NULL;
    char **documents = options->operands + 1;
    FILE *said = nl_outputs_print(options->outputs) ? stderr : stdout;

    if (check_files(options, err) < 0 ||
        nl_history_open(options->operands[0], *documents, &store, err) < 0)
        return -1;
    if (*documents && add_all(store, documents, said, err) < 0)
        return -1;
    if (*documents && !wants_to_see(options))
        return 0;
    if (options->document)
        return print_document(store, options->document, err);
    return show(store, options, err);
}

int nl_cmd_history(int argc, char **argv)
{
    cleanup_free const char **names = calloc((size_t)argc + 1, sizeof(*names));
    cleanup_error struct nl_error *err = NULL;
    struct options options = {.names = names,
                              .last = LAST_DEFAULT,
                              .alpha = 0.05,
                              .outputs = {[JSON] = {.option = "--json"},
                                          [DOCUMENT] = {.option = "--document"},
                                          [HTML] = {.option = "--html"},
                                          [CSV] = {.option = "--csv"}}};

    if (!names)
        return NL_EXIT_LAB;
    if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
        return NL_EXIT_REQUEST;
    if (history(&options, &err) == 0)
        return NL_EXIT_PASSED;
    nl_error_print(err);
    return nl_error_status(err);
}
