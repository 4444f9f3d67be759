/*
 * compare-words.c - what a comparison says in words: see compare-words.h.
 */
#include "compare-words.h"
#include "compare.h"
#include "diagnosis.h"
#include "dig.h"

#include <stdbool.h>
#include <string.h>

static const struct {
    const char *status;
    const char *words;
} endings[] = {
    {"failed", "failed"},
    {"error", "ended with an error"},
    {"interrupted", "was interrupted"},
    {"passed", "passed: it failed"}, /* with a failure or a diagnosis, else it has no title */
};

static const char *ending(const char *status)
{
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        if (strcmp(status, endings[i].status) == 0)
            return endings[i].words;
    return "has no verdict";
}

char *nl_compare_run_title(const json_t *run)
{
    const json_t *diagnosis = nl_dig(run, "diagnosis");
    cleanup_free char *cause = nl_dig(diagnosis, "name") ? nl_diagnosis_title(diagnosis) : NULL;
    const char *phase = nl_dig_string(run, "failure.phase", NULL);
    const char *layer = nl_dig_string(run, "failure.layer", NULL);
    const char *status = nl_dig_string(run, "status", "");
    char *title = NULL;

    if (asprintf(&title, "%s%s%s%s%s%s%s%s%s", ending(status), phase ? " in phase " : "",
                 phase ? phase : "", layer ? " of " : "", layer ? layer : "",
                 strcmp(status, "passed") == 0 ? ", as its scenario expects" : "",
                 cause ? ": " : "", cause ? cause : "",
                 nl_dig_true(run, "new_failure") ? ", as no run of the base did" : "") < 0)
        return NULL;
    return title;
}

const char *nl_compare_run_message(const json_t *run)
{
    static const char *const paths[] = {"diagnosis.summary", "failure.message", "summary"};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        const char *text = nl_dig_string(run, paths[i], "");

        if (*text)
            return text;
    }
    return "";
}

static long sum_of(const json_t *comparison, const char *key)
{
    return (long)nl_dig_integer(nl_dig(comparison, "sum"), key, 0);
}

char *nl_compare_counts(const json_t *comparison)
{
    static const struct {
        const char *key, *words;
        bool always;
    } counts[] = {
        {"worse", "worse", true},
        {"better", "better", true},
        {"differs", "differ", true},
        {"unchanged", "unchanged as far as can be told", true},
        {"not judged", "not judged", true},
        {"only_in_base", "only in base", false},
        {"only_in_new", "only in new", false},
    };
    bool rows = nl_compare_has_rows(comparison);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    if (!out)
        return NULL;
    if (!rows)
        fputs("Base and new measured nothing in common", out);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        long n = sum_of(comparison, counts[i].key);

        if (counts[i].always ? rows : n > 0)
            fprintf(out, "%s%ld %s", ftell(out) > 0 ? ", " : "", n, counts[i].words);
    }
    return nl_close_text(out, &text);
}

char *nl_compare_counted_note(const json_t *comparison, const char *unchanged)
{
    size_t i, same = 0, unjudged = 0;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    json_t *row;

    if (!out)
        return NULL;
    json_array_foreach(json_object_get(comparison, "metered"), i, row)
    {
        same += nl_dig_is(row, "verdict", "unchanged") && nl_dig_number(row, "difference", 0) != 0;
        unjudged += nl_dig_is(row, "verdict", "not judged");
    }
    if (same > 0)
        fprintf(out,
                "A difference %s is within what the benchmark is known to repeat within, or within "
                "the range of its operations.",
                unchanged);
    if (unjudged > 0)
        fprintf(out, "%s%zu %s not judged: in some run no operation was undisturbed.",
                same > 0 ? " " : "", unjudged, unjudged == 1 ? "row is" : "rows are");
    return nl_close_text(out, &text);
}

/* "1 new run" or "2 new runs", then VERB or VERBS, each after a semicolon but for the first. */
static void say(FILE *out, const char *noun, long n, const char *verb, const char *verbs)
{
    if (n > 0)
        fprintf(out, "%s%ld %s%s %s", ftell(out) > 0 ? "; " : "", n, noun, n == 1 ? "" : "s",
                n == 1 ? verb : verbs);
}

static void say_failures(FILE *out, const json_t *comparison)
{
    char worse[64];

    snprintf(worse, sizeof(worse), "got worse by more than %g %%",
             nl_dig_number(comparison, "fail_above", 0));
    say(out, "new run", sum_of(comparison, "new_failures"), "failed, as no run of the base did",
        "failed, as no run of the base did");
    say(out, "row", sum_of(comparison, "failed"), worse, worse);
    say(out, "measurement", sum_of(comparison, "lost"),
        "of the base is missing, which new was asked for",
        "of the base are missing, which new was asked for");
}

static void say_passed(FILE *out, const json_t *comparison)
{
    fprintf(out, "nothing is known to have got worse by more than %g %%",
            nl_dig_number(comparison, "fail_above", 0));
    if (sum_of(comparison, "differs") > 0)
        fputs("; what differs is not known to be worse or better", out);
    say(out, "measurement", sum_of(comparison, "only_in_base"), "is only in the base",
        "are only in the base");
}

static void say_unjudged(FILE *out, const json_t *comparison)
{
    say(out, "new run", sum_of(comparison, "interrupted"),
        "was interrupted: leave it out, or run it again",
        "were interrupted: leave them out, or run them again");
    if (!nl_compare_has_rows(comparison))
        fprintf(out,
                "%swithout a measurement of both sides nothing tells whether new is worse by more "
                "than %g %%",
                ftell(out) > 0 ? "; " : "", nl_dig_number(comparison, "fail_above", 0));
}

char *nl_compare_reasons(const json_t *comparison)
{
    int status = nl_compare_status(comparison);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    if (!out)
        return NULL;
    say_failures(out, comparison);
    if (status == NL_EXIT_PASSED)
        say_passed(out, comparison);
    else if (status == NL_EXIT_REQUEST)
        say_unjudged(out, comparison);
    return nl_close_text(out, &text);
}
