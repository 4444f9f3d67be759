/*
 * report-html.c - the report as one HTML file: its head, the order of its sections, and small parts
 * that several of them use. See report.h and html.h.
 */
#include "report-html.h"
#include "dig.h"
#include "figure.h"
#include "report-words.h"
#include "report.h"
#include "save.h"

#include <math.h>
#include <string.h>

static const struct section {
    const char *id;
    const char *title;
    bool (*present)(const json_t *document); /* NULL: always */
    void (*write)(const struct nl_page *page);
} sections[] = {
    {"diagnosis", "Diagnosis", nl_page_has_diagnosis, nl_page_diagnosis},
    {"failure", "Failure", nl_page_has_failure, nl_page_failure},
    {"stack", "Stack", nl_page_has_stack, nl_page_stack},
    {"checks", "Checks", nl_page_has_checks, nl_page_checks},
    {"findings", "Findings", nl_page_has_findings, nl_page_findings},
    {"slowdown", "Slowdown", nl_page_has_slowdown, nl_page_slowdown},
    {"exits", "VM exits", nl_page_has_exits, nl_page_exits},
    {"exit-reasons", "VM exits by reason", nl_page_has_exit_reasons, nl_page_exit_reasons},
    {"meter", "Meter", nl_page_has_meter, nl_page_meter},
    {"profile", "Profile", nl_page_has_profiles, nl_page_profiles},
    {"time", "Time", nl_page_has_time, nl_page_time},
    {"commands", "Commands", nl_page_has_commands, nl_page_commands},
    {"logs", "Logs", nl_page_has_logs, nl_page_logs},
    {"repeat", "To repeat this run", NULL, nl_page_repeat},
};

const char *nl_page_layer_name(const json_t *document, size_t index)
{
    static const char *const guests[] = {"L0", "L1", "L2",  "L3",  "L4",  "L5",  "L6",  "L7",
                                         "L8", "L9", "L10", "L11", "L12", "L13", "L14", "L15"};
    const json_t *layer = json_array_get(json_object_get(document, "layers"), index);

    return layer || index >= sizeof(guests) / sizeof(guests[0]) ? nl_dig_string(layer, "name", "?")
                                                                : guests[index];
}

size_t nl_page_layers(const json_t *document)
{
    size_t n = json_array_size(json_object_get(document, "layers"));

    return n < NL_PAGE_LAYERS_MAX ? n : NL_PAGE_LAYERS_MAX;
}

size_t nl_page_metered_layers(const json_t *document)
{
    size_t n = nl_metered_layers(document);

    return n < NL_PAGE_LAYERS_MAX ? n : NL_PAGE_LAYERS_MAX;
}

void nl_page_colour(struct nl_html *html, unsigned colour)
{
    nl_html_attribute(html, "class", "colour-%u", colour);
    nl_html_attribute(html, "color", "%s", nl_html_colour(colour));
}

void nl_page_swatch(struct nl_html *html, size_t series)
{
    nl_html_ornament(html, "swatch", 12, 12);
    nl_html_open(html, "rect", NULL);
    nl_page_colour(html, nl_colour_series(series));
    nl_html_attribute(html, "width", "12");
    nl_html_attribute(html, "height", "12");
    nl_html_attribute(html, "rx", "2");
    nl_html_attribute(html, "fill", "currentColor");
    nl_html_close(html);
    nl_html_close(html);
}

static void write_verdict(const struct nl_page *page)
{
    const json_t *document = page->document;
    struct nl_html *html = page->html;
    const char *status = nl_dig_string(document, "verdict.status", "");
    const char *known[] = {"passed", "failed"};
    const char *class = "verdict";
    double seconds = nl_dig_number(document, "run.seconds", -1);
    char classes[32];

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(status, known[i]) == 0) {
            snprintf(classes, sizeof(classes), "verdict %s", known[i]);
            class = classes;
        }
    }
    nl_html_open(html, "header", class);
    nl_html_open(html, "h1", NULL);
    nl_html_leaf(html, "strong", NULL, nl_verdict_word(document));
    nl_html_format(html, " %s", nl_dig_string(document, "scenario.name", "unnamed"));
    nl_html_close(html);
    nl_html_leaf(html, "p", NULL,
                 nl_dig_string(document, "verdict.summary", "the run has not ended"));
    nl_html_open(html, "p", "note");
    nl_html_format(html, "Run %s, started %s", nl_dig_string(document, "run.id", "?"),
                   nl_dig_string(document, "run.started", "at an unknown time"));
    if (seconds >= 0)
        nl_html_format(html, ", took %s s", nl_figure_fixed(seconds, 1).text);
    nl_html_close(html);
    nl_html_open(html, "p", NULL);
    nl_html_leaf(html, "b", NULL, "Next: ");
    nl_html_text(html, nl_dig_string(document, "verdict.next",
                                     "if the run is not going on any more, `nestlab report "
                                     "--check` judges what it left"));
    nl_html_close(html);
    nl_html_close(html);
}

static bool is_present(const struct section *section, const json_t *document)
{
    return !section->present || section->present(document);
}

static void write_contents(const struct nl_page *page)
{
    struct nl_html *html = page->html;

    nl_html_open(html, "nav", NULL);
    nl_html_attribute(html, "aria-label", "Sections");
    nl_html_open(html, "ul", NULL);
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        if (!is_present(&sections[i], page->document))
            continue;
        nl_html_open(html, "li", NULL);
        nl_html_open(html, "a", NULL);
        nl_html_attribute(html, "href", "#%s", sections[i].id);
        nl_html_text(html, sections[i].title);
        nl_html_close(html);
        nl_html_close(html);
    }
    nl_html_close(html);
    nl_html_close(html);
}

char *nl_report_html_text(const json_t *document)
{
    cleanup_error struct nl_error *missing = NULL;
    cleanup_free char *title = NULL;
    struct nl_page page = {.document = document, .missing = &missing};

    if (asprintf(&title, "%s: %s - nestlab", nl_verdict_word(document),
                 nl_dig_string(document, "scenario.name", "unnamed")) < 0)
        return NULL;
    page.html = nl_html_new(title);
    write_verdict(&page);
    write_contents(&page);
    nl_html_open(page.html, "main", NULL);
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        if (!is_present(&sections[i], document))
            continue;
        nl_html_section(page.html, 2, sections[i].id, sections[i].title, NULL);
        sections[i].write(&page);
        nl_html_close(page.html);
    }
    nl_html_close(page.html);
    nl_html_open(page.html, "footer", NULL);
    nl_html_format(page.html, "Made by nestlab %s from document.json, which holds more.",
                   NL_VERSION);
    nl_html_close(page.html);
    return nl_html_finish(page.html);
}

int nl_report_html(const json_t *document, const char *path, struct nl_error **err)
{
    cleanup_free char *text = nl_report_html_text(document);

    if (!text)
        return nl_fail(err, NL_EXIT_LAB, "cannot write %s: out of memory", path);
    return nl_save(path, text, strlen(text), err);
}
