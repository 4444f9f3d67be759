/*
 * compare-html-runs.c - the verdict of a comparison and the runs it is of, on its page: see
 * compare-html.h.
 */
#include "compare-html.h"
#include "compare-runs.h"
#include "compare.h"
#include "dig.h"

#define RUNS_MAX 100

static void write_counts(const struct nl_page *page)
{
    const json_t *sum = nl_dig(page->document, "sum");

    if (nl_compare_has_rows(page->document))
        nl_html_format(page->html,
                       "%d worse, %d better, %d differ, %d unchanged as far as can be told, %d not "
                       "judged.",
                       (int)nl_dig_integer(sum, "worse", 0), (int)nl_dig_integer(sum, "better", 0),
                       (int)nl_dig_integer(sum, "differs", 0),
                       (int)nl_dig_integer(sum, "unchanged", 0),
                       (int)nl_dig_integer(sum, "not judged", 0));
    else
        nl_html_text(page->html, "The runs measured nothing in common.");
}

static void write_reasons(const struct nl_page *page, int status)
{
    double above = nl_dig_number(page->document, "fail_above", 0);
    int failed = (int)nl_dig_integer(page->document, "sum.failed", 0);
    int failures = (int)nl_dig_integer(page->document, "sum.new_failures", 0);

    if (failures > 0)
        nl_html_format(page->html, "%d new %s failed as none of the base did. ", failures,
                       failures == 1 ? "run" : "runs");
    if (failed > 0)
        nl_html_format(page->html, "%d got worse by more than %g %%.", failed, above);
    if (status == NL_EXIT_PASSED)
        nl_html_format(page->html, "Nothing is known to have got worse by more than %g %%.", above);
}

/* "clean-261130-92a3", or "5 runs" */
static void write_side_name(const struct nl_page *page, const char *before, const char *key)
{
    const json_t *runs = json_object_get(page->document, key);
    size_t n = json_array_size(runs);

    if (n == 1)
        nl_html_format(page->html, "%s%s", before,
                       nl_dig_string(json_array_get(runs, 0), "id", "?"));
    else
        nl_html_format(page->html, "%s%zu runs", before, n);
}

void nl_compare_html_head(const struct nl_page *page)
{
    bool judged = nl_dig(page->document, "fail_above") != NULL;
    int status = nl_compare_status(page->document);
    bool failed = status == NL_EXIT_CHECK_FAILED, passed = judged && status == NL_EXIT_PASSED;
    struct nl_html *html = page->html;

    nl_html_open(html, "header", failed ? "verdict failed" : passed ? "verdict passed" : "verdict");
    nl_html_open(html, "h1", NULL);
    if (judged)
        nl_html_leaf(html, "strong", NULL, failed ? "FAILED" : passed ? "PASSED" : "NOT JUDGED");
    nl_html_text(html, judged ? " Comparison" : "Comparison");
    nl_html_close(html);
    nl_html_open(html, "p", NULL);
    write_counts(page);
    nl_html_close(html);
    if (judged) {
        nl_html_open(html, "p", NULL);
        write_reasons(page, status);
        nl_html_close(html);
    }
    nl_html_open(html, "p", "note");
    write_side_name(page, "Base: ", "base");
    write_side_name(page, "; new: ", "new");
    nl_html_close(html);
    nl_html_close(html);
}

static void write_side(const struct nl_page *page, const char *key)
{
    const json_t *runs = json_object_get(page->document, key);
    struct nl_html *html = page->html;
    size_t i;
    json_t *run;

    json_array_foreach(runs, i, run)
    {
        if (i >= RUNS_MAX)
            break;
        nl_html_open(html, "tr", i == 0 ? "first" : NULL);
        nl_html_row_heading(html, key);
        nl_html_cell(html, NULL, "%s", nl_dig_string(run, "id", "?"));
        nl_html_cell(html, NULL, "%s", nl_dig_string(run, "started", ""));
        nl_html_cell(html, NULL, "%s", nl_dig_string(run, "status", "not known"));
        nl_html_cell(html, NULL, "%s", nl_dig_string(run, "path", ""));
        nl_html_close(html);
    }
}

void nl_compare_html_runs(const struct nl_page *page)
{
    static const char *const headings[] = {"Side", "Run", "Started", "Status", "Document", NULL};

    nl_html_table(page->html, "The runs that are compared", headings);
    write_side(page, "base");
    write_side(page, "new");
    nl_html_table_end(page->html);
}

static void write_failed_side(const struct nl_page *page, const char *key)
{
    struct nl_html *html = page->html;
    size_t i, n = 0;
    json_t *run;

    json_array_foreach(json_object_get(page->document, key), i, run)
    {
        cleanup_free char *title = NULL;

        if (!nl_compare_run_failed(run) || n++ >= RUNS_MAX)
            continue;
        title = nl_compare_run_title(run);
        nl_html_open(html, "tr", n == 1 ? "first" : NULL);
        nl_html_row_heading(html, key);
        nl_html_cell(html, NULL, "%s", nl_dig_string(run, "id", "?"));
        nl_html_cell(html, nl_dig_true(run, "new_failure") ? "fail" : NULL, "%s%s",
                     title ? title : "?",
                     nl_dig_true(run, "new_failure") ? ", as none of the base" : "");
        nl_html_cell(html, NULL, "%s", nl_compare_run_message(run));
        nl_html_close(html);
    }
}

void nl_compare_html_failures(const struct nl_page *page)
{
    static const char *const headings[] = {"Side", "Run", "How it ended", "Why", NULL};

    nl_html_table(page->html, "Runs that did not pass, or failed as expected", headings);
    write_failed_side(page, "base");
    write_failed_side(page, "new");
    nl_html_table_end(page->html);
}
