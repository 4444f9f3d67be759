/*
 * report-html.c - the report as one HTML file: its head, the order of its sections, and small parts
 * that several of them use. See report.h and html.h.
 */
#include "report-html.h"
#include "dig.h"
#include "figure.h"
#include "report-reasons.h"
#include "report-words.h"
#include "report.h"
#include "save.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

static const struct nl_page_section sections[] = {
    {"diagnosis", "Diagnosis", NULL, nl_page_has_diagnosis, nl_page_diagnosis},
    {"failure", "Failure", "failure", NULL, nl_page_failure},
    {"stack", "Stack", "layers", NULL, nl_page_stack},
    {"checks", "Checks", "checks", NULL, nl_page_checks},
    {"findings", "Findings", "findings", NULL, nl_page_findings},
    {"slowdown", "Slowdown", "slowdown", NULL, nl_page_slowdown},
    {"clocks", "Clocks", NULL, nl_page_has_clocks, nl_page_clocks},
    {"exits", "VM exits", NULL, nl_page_has_exits, nl_page_exits},
    {"exit-reasons", "VM exits by reason", NULL, nl_exit_reasons_counted, nl_page_exit_reasons},
    {"meter", "Meter", NULL, nl_page_has_meter, nl_page_meter},
    {"profile", "Profile", NULL, nl_page_has_profiles, nl_page_profiles},
    {"time", "Time", "phases", NULL, nl_page_time},
    {"commands", "Commands", "commands", NULL, nl_page_commands},
    {"logs", "Logs", NULL, nl_page_has_logs, nl_page_logs},
    {"repeat", "To repeat this run", NULL, NULL, nl_page_repeat},
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

void nl_page_legend_entry(struct nl_html *html, unsigned colour, const char *format, ...)
{
    cleanup_free char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    nl_html_open(html, "li", NULL);
    nl_html_ornament(html, "swatch", 12, 12);
    nl_html_open(html, "rect", NULL);
    nl_page_colour(html, colour);
    nl_html_attribute(html, "width", "12");
    nl_html_attribute(html, "height", "12");
    nl_html_attribute(html, "rx", "2");
    nl_html_attribute(html, "fill", "currentColor");
    nl_html_close(html);
    nl_html_close(html);
    nl_html_text(html, text);
    nl_html_close(html);
}

void nl_page_legend(const struct nl_page *page, size_t from, size_t to, const char *before,
                    const char *after)
{
    nl_html_open(page->html, "ul", "legend");
    for (size_t k = from; k < to; k++)
        nl_page_legend_entry(page->html, nl_colour_series(k), "%s%s%s", before,
                             nl_page_layer_name(page->document, k), after);
}

static void write_verdict(const struct nl_page *page)
{
    const json_t *document = page->document;
    struct nl_html *html = page->html;
    const char *status = nl_dig_string(document, "verdict.status", "");
    const char *next = nl_verdict_next(document);
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
    if (next) {
        nl_html_open(html, "p", NULL);
        nl_html_leaf(html, "b", NULL, "Next: ");
        nl_html_text(html, next);
        nl_html_close(html);
    }
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
    nl_page_sections(&page, sections, sizeof(sections) / sizeof(sections[0]));
    return nl_page_finish(&page, " from document.json, which holds more.");
}

int nl_report_html(const json_t *document, const char *path, struct nl_error **err)
{
    cleanup_free char *text = nl_report_html_text(document);

    if (!text)
        return nl_fail(err, NL_EXIT_LAB, "cannot write %s: out of memory", path);
    return nl_save(path, text, strlen(text), err);
}
