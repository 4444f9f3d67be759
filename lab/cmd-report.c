/*
 * cmd-report.c - `nestlab report`: reports on documents of earlier runs, one's own or somebody
 * else's.
 */
#include "check.h"
#include "cmd.h"
#include "diagnosis.h"
#include "document.h"
#include "outputs.h"
#include "report.h"
#include "save.h"
#include "slowdown.h"
#include "streams.h"

#include <argp.h>
#include <string.h>
#include <sys/stat.h>

/* The first ones go into a file each. */
enum { JUNIT, HTML, CSV, TEXT, OUTPUTS, FILES = TEXT };

static char *(*const file_reports[FILES])(const json_t *document) = {
    [JUNIT] = nl_report_junit_text,
    [HTML] = nl_report_html_text,
    [CSV] = nl_report_csv_text,
};

struct options {
    char **documents;
    bool check;
    struct nl_output outputs[OUTPUTS + 1];
};

enum { KEY_CHECK = 'c', KEY_TEXT = 0x100, KEY_FILE };

static const struct argp_option option_table[] = {
    {"text", KEY_TEXT, NULL, 0, "Print the text report (the default, unless a file is asked for)",
     0},
    {"junit", KEY_FILE + JUNIT, "FILE", 0, "Write a JUnit XML file (- is standard output)", 0},
    {"html", KEY_FILE + HTML, "FILE", 0, "Write an HTML page to look at (- is standard output)", 0},
    {"csv", KEY_FILE + CSV, "FILE", 0,
     "Write every figure as comma-separated values (- is standard output)", 0},
    {"check", KEY_CHECK, NULL, 0,
     "Run this nestlab's checks again, instead of trusting the verdicts in the document", 0},
    {0},
};

/* An option that asks for a file, or NULL. */
static const char *a_file(const struct options *options)
{
    for (size_t i = 0; i < FILES; i++)
        if (options->outputs[i].file)
            return options->outputs[i].option;
    return NULL;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case KEY_TEXT:
        options->outputs[TEXT].file = "-";
        return 0;
    case KEY_FILE + JUNIT:
    case KEY_FILE + HTML:
    case KEY_FILE + CSV:
        nl_output_name(&options->outputs[key - KEY_FILE], arg);
        return 0;
    case KEY_CHECK:
        options->check = true;
        return 0;
    case ARGP_KEY_ARGS:
        options->documents = state->argv + state->next;
        if (a_file(options) && options->documents[1])
            argp_error(state, "%s writes one file: give it one document", a_file(options));
        if (!a_file(options))
            options->outputs[TEXT].file = "-";
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which document? A run writes document.json into its output folder");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_table,
    .parser = parse_option,
    .args_doc = "DOCUMENT...",
    .doc =
        "Report on documents that runs wrote: files, folders with a document.json in them, - for "
        "standard input.\v"
        "The exit status is that of the worst verdict: 0 all checks passed, 1 a check failed, "
        "3 the lab could not do it, 130 interrupted; 2 if a document cannot be read.",
};

static bool is_folder(const char *path)
{
    struct stat status;

    return strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* A run's folder stands for the document in it. The caller's; NULL when out of memory. */
static char *document_of(const char *operand)
{
    char *path = NULL;

    if (asprintf(&path, "%s%s", operand, is_folder(operand) ? "/document.json" : "") < 0)
        return NULL;
    return path;
}

static int check_files(const struct options *options, struct nl_error **err)
{
    if (nl_outputs_check(options->outputs, err) < 0 ||
        nl_streams_read_once(options->documents, err) < 0)
        return -1;
    for (char **operand = options->documents; *operand; operand++) {
        cleanup_free char *path = document_of(*operand);

        if (!path)
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
        if (nl_outputs_spare(options->outputs, path, err) < 0)
            return -1;
    }
    return 0;
}

/* In a folder only a regular file is taken: nobody named it, and a pipe would be waited for. */
static int load(const char *operand, json_t **document, struct nl_error **err)
{
    cleanup_free char *path = document_of(operand);
    struct stat status;

    if (!path)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (!is_folder(operand) || (stat(path, &status) == 0 && S_ISREG(status.st_mode)))
        return nl_document_load(path, document, err);
    nl_fail(err, NL_EXIT_REQUEST, "%s: a folder without a document.json", operand);
    return nl_hint(err, "name the folder of one run, such as nestlab-out/ID");
}

static int report(const struct options *options, const char *path, int *status,
                  struct nl_error **err)
{
    cleanup_json json_t *document = NULL;

    if (load(path, &document, err) < 0)
        return -1;
    if (options->check) {
        json_object_set_new(document, "slowdown", nl_slowdown(document));
        if (nl_checks_run(document, err) < 0 || nl_diagnosis_run(document, err) < 0)
            return -1;
        nl_document_judge(document);
    }
    for (size_t i = 0; i < FILES; i++)
        if (options->outputs[i].file &&
            nl_save_text(file_reports[i](document), options->outputs[i].file, err) < 0)
            return -1;
    if (options->outputs[TEXT].file)
        nl_report_text(document, stdout, nl_report_wants_colour(stdout));
    *status = (int)nl_document_exit(document);
    return 0;
}

/* From harmless to worst: a document that says its lab failed says less than one with a failed
 * check. */
static int rank(int status)
{
    static const int order[] = {NL_EXIT_PASSED, NL_EXIT_INTERRUPTED, NL_EXIT_LAB,
                                NL_EXIT_CHECK_FAILED, NL_EXIT_REQUEST};

    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        if (order[i] == status)
            return (int)i;
    return -1;
}

int nl_cmd_report(int argc, char **argv)
{
    struct options options = {.outputs = {[JUNIT] = {.option = "--junit"},
                                          [HTML] = {.option = "--html"},
                                          [CSV] = {.option = "--csv"},
                                          [TEXT] = {.option = "--text"}}};
    cleanup_error struct nl_error *wrong = NULL;
    int worst = NL_EXIT_PASSED;

    if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
        return NL_EXIT_REQUEST;
    if (check_files(&options, &wrong) < 0) {
        nl_error_print(wrong);
        return nl_error_status(wrong);
    }
    for (char **path = options.documents; *path; path++) {
        cleanup_error struct nl_error *err = NULL;
        int status = NL_EXIT_LAB;

        if (path != options.documents)
            putchar('\n');
        if (report(&options, *path, &status, &err) < 0) {
            nl_error_print(err);
            status = nl_error_status(err);
        }
        worst = rank(status) > rank(worst) ? status : worst;
    }
    return worst;
}
