/*
 * compare-html-runs.c - the verdict of a comparison and the runs it is of, on its page: see
 * compare-html.h.
 */
#include "compare-html.h"
#include "compare-only.h"
#include "compare-runs.h"
#include "compare-words.h"
#include "compare.h"
#include "dig.h"

#define RUNS_MAX 100

/* TEXT as a paragraph; consumed. */
static void write_sentence(struct nl_html *html, char *text)
{
    nl_html_open(html, "p", NULL);
    nl_html_text(html, text ? text : "?");
    nl_html_close(html);
    free(text);
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
    size_t i;
    json_t *hint;

    nl_html_open(html, "header", failed ? "verdict failed" : passed ? "verdict passed" : "verdict");
    nl_html_open(html, "h1", NULL);
    if (judged)
        nl_html_leaf(html, "strong", NULL, failed ? "FAILED" : passed ? "PASSED" : "NOT JUDGED");
    nl_html_text(html, judged ? " Comparison" : "Comparison");
    nl_html_close(html);
    write_sentence(html, nl_compare_counts(page->document));
    if (judged)
        write_sentence(html, nl_compare_reasons(page->document));
    json_array_foreach(json_object_get(page->document, "hints"), i, hint)
        nl_html_leaf(html, "p", "note", json_string_value(hint));
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
        nl_html_cell(html, nl_dig_true(run, "new_failure") ? "fail" : NULL, "%s",
                     title ? title : "?");
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

static void write_only(const struct nl_page *page, const char *side, const char *list)
{
    cleanup_json json_t *groups = nl_compare_only_groups(json_object_get(page->document, list));
    struct nl_html *html = page->html;
    size_t i;
    json_t *group;

    json_array_foreach(groups, i, group)
    {
        if (i >= RUNS_MAX)
            break;
        nl_html_open(html, "tr", i == 0 ? "first" : NULL);
        nl_html_row_heading(html, side);
        nl_html_cell(html, NULL, "%s", nl_dig_string(group, "layer", "?"));
        nl_html_cell(html, NULL, "%s", nl_dig_string(group, "what", "?"));
        nl_html_cell(html, nl_dig_true(group, "lost") ? "fail" : NULL, "%s",
                     nl_dig_string(group, "why", ""));
        nl_html_close(html);
    }
}

void nl_compare_html_only(const struct nl_page *page)
{
    static const char *const headings[] = {"Only in", "At", "What", "Why not in new", NULL};

    nl_html_table(page->html, "What only one side measured", headings);
    write_only(page, "base", "only_in_base");
    write_only(page, "new", "only_in_new");
    nl_html_table_end(page->html);
}
