/*
 * compare-print.c - a comparison as text: see compare.h.
 */
#include "compare.h"
#include "compare-only.h"
#include "compare-runs.h"
#include "compare-words.h"
#include "dig.h"
#include "figure.h"
#include "report-text.h"
#include "table.h"

#include <math.h>
#include <string.h>

#define FAILURES_MAX 10

/* A table of more layers is wider than any terminal: the inner ones are in the JSON. */
#define LAYERS_MAX 4

static void print_runs(const struct nl_text *to, const json_t *comparison, const char *key)
{
    const json_t *runs = json_object_get(comparison, key);
    size_t n = json_array_size(runs), not_passed = 0, i;
    cleanup_free char *text = NULL;
    json_t *run;

    json_array_foreach(runs, i, run) not_passed += !nl_dig_is(run, "status", "passed");
    if (asprintf(&text, "%zu %s, from %s%s%s", n, n == 1 ? "run" : "runs",
                 nl_dig_string(json_array_get(runs, 0), "id", "?"), n > 1 ? " to " : "",
                 n > 1 ? nl_dig_string(json_array_get(runs, n - 1), "id", "?") : "") < 0)
        return;
    fprintf(to->out, "  %-6s", key);
    nl_text_wrap(to, text, 8, 8);
    if (not_passed > 0)
        fprintf(to->out, "        %s%zu of them did not pass%s\n", to->yellow, not_passed,
                to->plain);
}

static void print_hints(const struct nl_text *to, const json_t *comparison)
{
    size_t i;
    json_t *hint;

    json_array_foreach(json_object_get(comparison, "hints"), i, hint)
    {
        fputs("  hint: ", to->out);
        nl_text_wrap(to, json_string_value(hint), 8, 8);
    }
}

/* Which runs of the side KEY did not pass, and why. */
static void print_failures(const struct nl_text *to, const json_t *comparison, const char *key)
{
    size_t i, n = 0;
    json_t *run;

    json_array_foreach(json_object_get(comparison, key), i, run)
    {
        cleanup_free char *title = NULL;
        cleanup_free char *text = NULL;

        if (!nl_compare_run_failed(run) || n++ >= FAILURES_MAX)
            continue;
        title = nl_compare_run_title(run);
        if (asprintf(&text, "%s %s", nl_dig_string(run, "id", "?"), title ? title : "?") < 0)
            continue;
        fprintf(to->out, "  %-6s", key);
        nl_text_wrap(to, text, 8, 8);
        fprintf(to->out, "%8s", "");
        nl_text_wrap(to, nl_compare_run_message(run), 8, 8);
    }
    if (n > FAILURES_MAX)
        fprintf(to->out, "        and %zu more, in the JSON\n", n - FAILURES_MAX);
}

static void print_all_failures(const struct nl_text *to, const json_t *comparison)
{
    if (nl_compare_runs_failed(comparison) == 0)
        return;
    nl_text_section(to, "Failures", NULL);
    print_failures(to, comparison, "base");
    print_failures(to, comparison, "new");
}

/* Differences at a layer, one a line. */
static void print_differences(const struct nl_text *to, const json_t *differences,
                              const char *title, const char *note)
{
    size_t i;
    json_t *each;

    if (json_array_size(differences) == 0)
        return;
    nl_text_section(to, title, note);
    json_array_foreach(differences, i, each)
    {
        cleanup_free char *text = NULL;

        if (asprintf(&text, "%s: %s -> %s", nl_dig_string(each, "what", "?"),
                     nl_dig_string(each, "reference", "not known"),
                     nl_dig_string(each, "other", "not known")) < 0)
            continue;
        fprintf(to->out, "  %-4s", nl_dig_string(each, "layer", "run"));
        nl_text_wrap(to, text, 6, 8);
    }
}

/* What only one side measured; in yellow what was lost. */
static void print_only(const struct nl_text *to, const json_t *list, const char *title)
{
    cleanup_json json_t *groups = nl_compare_only_groups(list);
    size_t i;
    json_t *group;

    if (json_array_size(groups) > 0)
        nl_text_section(to, title, NULL);
    json_array_foreach(groups, i, group)
    {
        const char *why = nl_dig_string(group, "why", NULL);
        cleanup_free char *text = NULL;

        if (asprintf(&text, "%s%s%s", nl_dig_string(group, "what", "?"), why ? ": " : "",
                     why ? why : "") < 0)
            continue;
        fprintf(to->out, "  %s%-4s", nl_dig_true(group, "lost") ? to->yellow : "",
                nl_dig_string(group, "layer", "?"));
        nl_text_wrap(to, text, 6, 8);
        fputs(nl_dig_true(group, "lost") ? to->plain : "", to->out);
    }
}

static void number_cell(struct nl_table *table, const json_t *side)
{
    nl_table_cell(table, "%s%s", nl_figure(nl_dig_number(side, "median", 0)).text,
                  nl_dig_true(side, "unstable") ? "~" : "");
}

static void factor_cell(struct nl_table *table, const json_t *row, const char *key)
{
    nl_table_cell(table, "%s",
                  nl_dig(row, key) ? nl_figure_factor(nl_dig_number(row, key, 0)).text : "");
}

static void verdict_cell(struct nl_table *table, const json_t *row)
{
    const char *verdict = nl_dig_string(row, "verdict", "");

    nl_table_cell(table, "%s%s", strcmp(verdict, "unchanged") == 0 ? "" : verdict,
                  nl_dig_true(row, "failed") ? ", FAIL" : "");
}

static void print_times(const struct nl_text *to, const json_t *comparison)
{
    const json_t *rows = json_object_get(comparison, "times");
    static const char *const heads[] = {"",         "at",  "unit", "base", "new",
                                        "x slower", "low", "high", "p",    ""};
    struct nl_table *table = nl_table_new("lllrrrrrrl");
    cleanup_free char *note = NULL;
    size_t i;
    json_t *row;

    if (asprintf(&note,
                 "medians; x slower: of all pairs, with its %g %% interval; p corrected for %zu "
                 "rows; "
                 "~ unstable",
                 100 * (1 - nl_dig_number(comparison, "alpha", 0)), json_array_size(rows)) < 0)
        note = NULL;
    nl_text_section(to, "Times", note);
    for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        nl_table_cell(table, "%s", heads[i]);
    json_array_foreach(rows, i, row)
    {
        nl_table_cell(table, "%s", nl_dig_string(row, "benchmark", "?"));
        nl_table_cell(table, "%s", nl_dig_string(row, "layer", "?"));
        nl_table_cell(table, "%s", nl_dig_string(row, "unit", ""));
        number_cell(table, nl_dig(row, "base"));
        number_cell(table, nl_dig(row, "new"));
        factor_cell(table, row, "ratio");
        factor_cell(table, row, "low");
        factor_cell(table, row, "high");
        nl_table_cell(table, "%.2g", nl_dig_number(row, "p_holm", 1));
        verdict_cell(table, row);
    }
    nl_table_print(table, to->out, to->dim, to->plain);
    fputs("  ", to->out);
    nl_text_wrap(to, NL_COMPARE_FACTOR_NOTE, 2, 2);
}

static void signed_cell(struct nl_table *table, double value)
{
    nl_table_cell(table, "%s", value == 0 ? "0" : nl_figure_change(value, 0).text);
}

static void signed_cells(struct nl_table *table, const json_t *array, size_t n)
{
    for (size_t k = 0; k < n; k++)
        signed_cell(table, json_number_value(json_array_get(array, k)));
}

static void percent_cell(struct nl_table *table, const json_t *row)
{
    double ratio = nl_dig_number(row, "ratio", NAN);

    if (isnan(ratio))
        nl_table_cell(table, "%s", "");
    else
        nl_table_cell(table, "%s%%",
                      ratio == 1 ? "0.00" : nl_figure_change(100 * (ratio - 1), 2).text);
}

static void metered_row(struct nl_table *table, const json_t *row, size_t depth)
{
    const char *mark = nl_dig_true(row, "exact") ? "" : "*";

    nl_table_cell(table, "%s", nl_dig_string(row, "benchmark", "?"));
    nl_table_cell(table, "%s", nl_dig_string(row, "layer", "?"));
    nl_table_cell(table, "%s", nl_figure_fixed(nl_dig_number(row, "base.total", 0), 0).text);
    nl_table_cell(table, "%s", nl_figure_fixed(nl_dig_number(row, "new.total", 0), 0).text);
    nl_table_cell(table, "%s%s", nl_figure_change(nl_dig_number(row, "difference", 0), 0).text,
                  mark);
    percent_cell(table, row);
    signed_cells(table, nl_dig(row, "instructions"), depth);
    signed_cells(table, nl_dig(row, "vmruns"), depth - 1);
    verdict_cell(table, row);
}

static void print_counted_note(const struct nl_text *to, const json_t *comparison)
{
    cleanup_free char *note = nl_compare_counted_note(comparison, "without a verdict");

    if (!note || !*note)
        return;
    fputs("  ", to->out);
    nl_text_wrap(to, note, 2, 2);
}

static void print_metered(const struct nl_text *to, const json_t *comparison)
{
    const json_t *rows = json_object_get(comparison, "metered");
    char align[8 + 2 * LAYERS_MAX + 1] = "llrrrr";
    static const char *const heads[] = {"", "at", "base", "new", "diff", ""};
    struct nl_table *table;
    size_t i, all = 1, depth;
    json_t *row;

    json_array_foreach(rows, i, row)
    {
        size_t n = json_array_size(nl_dig(row, "instructions"));

        all = n > all ? n : all;
    }
    depth = all > LAYERS_MAX ? LAYERS_MAX : all;
    memset(align + 6, 'r', 2 * depth - 1);
    strcat(align, "l");
    table = nl_table_new(align);
    nl_text_section(to, "Counted",
                    "instructions of one operation; whose instructions and VMRUNs make the "
                    "difference; * not all operations agree");
    for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        nl_table_cell(table, "%s", heads[i]);
    for (size_t k = 0; k < depth; k++)
        nl_table_cell(table, "by L%zu", k);
    for (size_t k = 0; k + 1 < depth; k++)
        nl_table_cell(table, "VMRUN L%zu", k);
    nl_table_cell(table, "%s", "");
    json_array_foreach(rows, i, row) metered_row(table, row, depth);
    nl_table_print(table, to->out, to->dim, to->plain);
    if (all > depth)
        fprintf(to->out, "  layers from L%zu on are in the JSON, and in the difference\n", depth);
    print_counted_note(to, comparison);
}

/* So many runs on both sides, and the least possible p is below ALPHA, also after the correction
   for all ROWS. */
static size_t runs_needed(double alpha, size_t rows)
{
    double ways = 1; /* to part 2n runs in halves */
    size_t n = 0;

    while (n < 100 && 2 / ways * (double)rows > alpha) {
        n++;
        ways *= (double)(2 * n) * (double)(2 * n - 1) / (double)(n * n);
    }
    return n < NL_COMPARE_RUNS_MIN ? NL_COMPARE_RUNS_MIN : n;
}

/* Counts of operations that may cost something else after the next boot. */
static void print_unrepeated(const struct nl_text *to, const json_t *comparison)
{
    const json_t *rows = json_object_get(comparison, "metered");
    double alpha = nl_dig_number(comparison, "alpha", 0);
    cleanup_free char *text = NULL;
    const json_t *most = NULL;
    size_t i, n = 0, tested = 0;
    json_t *row;

    json_array_foreach(rows, i, row)
    {
        tested += nl_dig(row, "p") != NULL;
        if (!nl_dig_is(row, "verdict", "differs"))
            continue;
        n++;
        if (!most ||
            fabs(nl_dig_number(row, "ratio", 1) - 1) > fabs(nl_dig_number(most, "ratio", 1) - 1))
            most = row;
    }
    if (n > 0 &&
        asprintf(&text,
                 "%zu of %zu counted rows differ, most of all %s at %s by %s %%, and are of "
                 "operations that are not known to cost the same after every boot: it takes %zu "
                 "runs on both sides to see whether they do.",
                 n, json_array_size(rows), nl_dig_string(most, "benchmark", "?"),
                 nl_dig_string(most, "layer", "?"),
                 nl_figure_change(100 * (nl_dig_number(most, "ratio", 1) - 1), 1).text,
                 runs_needed(alpha, tested)) >= 0)
        nl_text_wrap(to, text, 0, 2);
}

/* What the figures cannot say. */
static void print_limits(const struct nl_text *to, const json_t *comparison)
{
    const json_t *rows = json_object_get(comparison, "times");
    double alpha = nl_dig_number(comparison, "alpha", 0);
    size_t n = json_array_size(rows), i, by_samples = 0, hopeless = 0;
    cleanup_free char *text = NULL;
    json_t *row;

    json_array_foreach(rows, i, row)
    {
        by_samples += nl_dig_is(row, "observations", "samples");
        hopeless += nl_dig_number(row, "least_p", 0) * (double)n > alpha;
    }
    if (by_samples > 0 &&
        asprintf(&text,
                 "%zu of %zu rows of times compare samples, not runs: how far apart runs are that "
                 "nothing was changed between is not known, so they may differ, but are neither "
                 "worse nor better, and fail nothing. From %d runs on both sides runs are "
                 "compared; it takes %zu to find a change in so many rows.",
                 by_samples, n, NL_COMPARE_RUNS_MIN, runs_needed(alpha, n)) >= 0)
        nl_text_wrap(to, text, 0, 2);
    else if (hopeless > 0 &&
             asprintf(&text,
                      "%zu of %zu rows have too few runs to be called changed, however far apart "
                      "they are: it takes %zu on both sides.",
                      hopeless, n, runs_needed(alpha, n)) >= 0)
        nl_text_wrap(to, text, 0, 2);
}

static void print_verdict(const struct nl_text *to, const json_t *comparison)
{
    int status = nl_compare_status(comparison);
    bool failed = status == NL_EXIT_CHECK_FAILED, passed = status == NL_EXIT_PASSED;
    const char *word = failed ? "FAILED" : passed ? "PASSED" : "NOT JUDGED";
    cleanup_free char *reasons = nl_compare_reasons(comparison);

    fprintf(to->out, "%s%s%s  ",
            failed   ? to->red
            : passed ? to->green
                     : to->yellow,
            word, to->plain);
    nl_text_wrap(to, reasons ? reasons : "", (int)strlen(word) + 2, 2);
}

static void print_sum(const struct nl_text *to, const json_t *comparison)
{
    cleanup_free char *counts = nl_compare_counts(comparison);

    fprintf(to->out, "\n%s", to->bold);
    nl_text_wrap(to, counts ? counts : "", 0, 2);
    fputs(to->plain, to->out);
    print_limits(to, comparison);
    print_unrepeated(to, comparison);
    if (nl_dig(comparison, "fail_above"))
        print_verdict(to, comparison);
}

void nl_compare_text(const json_t *comparison, FILE *out, bool colour)
{
    struct nl_text to = nl_text_to(out, colour);

    fprintf(out, "%sCompare%s\n", to.bold, to.plain);
    print_runs(&to, comparison, "base");
    print_runs(&to, comparison, "new");
    print_hints(&to, comparison);
    print_all_failures(&to, comparison);
    print_differences(&to, json_object_get(comparison, "not_comparable"), "Not comparable",
                      "compared all the same");
    print_differences(&to, json_object_get(comparison, "differs"), "Differs", NULL);
    if (json_array_size(json_object_get(comparison, "times")) > 0)
        print_times(&to, comparison);
    if (json_array_size(json_object_get(comparison, "metered")) > 0)
        print_metered(&to, comparison);
    print_only(&to, json_object_get(comparison, "only_in_base"), "Only in base");
    print_only(&to, json_object_get(comparison, "only_in_new"), "Only in new");
    print_sum(&to, comparison);
}
