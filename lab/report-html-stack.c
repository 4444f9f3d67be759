/*
 * report-html-stack.c - the stack in the report's page: boxes within boxes, as the layers are, and
 * a table.
 */
#include "cleanup.h"
#include "dig.h"
#include "figure.h"
#include "printable.h"
#include "report-html.h"
#include "report-words.h"

#include <string.h>

/* Of the picture, in its own units: as wide as a phone. */
#define WIDTH 416.0
#define LINE 19.0
#define TOP 8.0
#define BOX_LINES 3
#define LETTERS 46 /* of a line */

static bool is_local(const json_t *document, size_t index)
{
    return index == 0 && nl_dig_is(document, "run.l0.taken", "local");
}

static void picture_text(struct nl_html *html, double x, double y, const char *anchor,
                         const char *size, unsigned colour, const char *text)
{
    /* What is hidden in a text is shown, and takes more room so. */
    cleanup_free char *shown = nl_printable(text, LETTERS);

    nl_html_open(html, "text", NULL);
    nl_page_colour(html, colour);
    nl_html_attribute(html, "x", "%.1f", x);
    nl_html_attribute(html, "y", "%.1f", y);
    nl_html_attribute(html, "text-anchor", "%s", anchor);
    nl_html_attribute(html, "font-size", "%s", size);
    nl_html_attribute(html, "fill", "currentColor");
    nl_html_text(html, shown ? shown : "");
    nl_html_close(html);
}

/* "KVM guest of L0" */
static char *role(const json_t *document, size_t index)
{
    const json_t *layer = json_array_get(json_object_get(document, "layers"), index);
    const char *under = nl_hypervisor_word(layer);
    char *text = NULL;

    if (is_local(document, index))
        return strdup("this machine");
    if (!*under)
        return strdup("");
    if (asprintf(&text, "under %.20s%s%s", under, index > 0 ? " of " : "",
                 index > 0 ? nl_page_layer_name(document, index - 1) : ", emulated") < 0)
        return NULL;
    return text;
}

/* "6.1.0, 1536 MiB, 1 vCPU" as far as it is known. */
static char *equipment(const json_t *layer)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    double memory = nl_dig_number(layer, "domain.memory_mib", -1);
    double vcpus = nl_dig_number(layer, "domain.vcpus", -1);

    if (!out)
        return NULL;
    fprintf(out, "%.34s",
            nl_dig_string(layer, "facts.kernel.release",
                          nl_dig_string(layer, "image.kernel_release", "")));
    if (memory >= 0)
        fprintf(out, "%s%s MiB", ftell(out) > 0 ? ", " : "", nl_figure_fixed(memory, 0).text);
    if (vcpus >= 0)
        fprintf(out, "%s%s vCPU", ftell(out) > 0 ? ", " : "", nl_figure_fixed(vcpus, 0).text);
    fclose(out);
    return text;
}

static void write_box(struct nl_html *html, const json_t *document, size_t index, size_t n)
{
    const json_t *layer = json_array_get(json_object_get(document, "layers"), index);
    double indent = 8.0 < 48.0 / (double)n ? 8.0 : 48.0 / (double)n;
    double x = 1 + (double)index * indent;
    double y = 1 + (double)index * (BOX_LINES * LINE + 2 * TOP);
    double height =
        (double)(n - index) * (BOX_LINES * LINE + 2 * TOP) + (double)(n - index - 1) * TOP;
    double width = WIDTH - 2 - 2 * (double)index * indent;
    bool up = nl_dig_is(layer, "state", "up");
    cleanup_free char *what = role(document, index);
    cleanup_free char *with = equipment(layer);

    nl_html_open(html, "rect", NULL);
    nl_page_colour(html, nl_colour_series(index));
    nl_html_attribute(html, "x", "%.1f", x);
    nl_html_attribute(html, "y", "%.1f", y);
    nl_html_attribute(html, "width", "%.1f", width);
    nl_html_attribute(html, "height", "%.1f", height);
    nl_html_attribute(html, "rx", "7");
    nl_html_attribute(html, "fill", "currentColor");
    nl_html_attribute(html, "fill-opacity", "0.07");
    nl_html_attribute(html, "stroke", "currentColor");
    nl_html_attribute(html, "stroke-width", up ? "2" : "1.5");
    if (!up)
        nl_html_attribute(html, "stroke-dasharray", "5 4");
    nl_html_close(html);
    picture_text(html, x + 12, y + TOP + 13, "start", "16", NL_COLOUR_TEXT,
                 nl_page_layer_name(document, index));
    picture_text(html, x + 44, y + TOP + 13, "start", "14", NL_COLOUR_TEXT,
                 nl_dig_string(layer, "image.recipe", ""));
    picture_text(html, x + width - 12, y + TOP + 13, "end", "14",
                 up ? NL_COLOUR_QUIET : NL_COLOUR_TEXT, nl_dig_string(layer, "state", "?"));
    picture_text(html, x + 12, y + TOP + 13 + LINE, "start", "13", NL_COLOUR_QUIET, what);
    picture_text(html, x + 12, y + TOP + 13 + 2 * LINE, "start", "13", NL_COLOUR_QUIET, with);
}

/* For those who do not see the picture. */
static char *describe(const json_t *document)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (size_t i = 0; i < nl_page_layers(document); i++) {
        const json_t *layer = json_array_get(json_object_get(document, "layers"), i);
        cleanup_free char *what = role(document, i);

        fprintf(out, "%s%s: %s%s%s", i ? "; inside it " : "", nl_page_layer_name(document, i),
                nl_dig_string(layer, "state", "?"), what && *what ? ", " : "", what ? what : "");
    }
    fclose(out);
    return text;
}

static void write_picture(const struct nl_page *page)
{
    size_t n = nl_page_layers(page->document);
    double height = 2 + (double)n * (BOX_LINES * LINE + 2 * TOP) + (double)(n - 1) * TOP;
    cleanup_free char *description = describe(page->document);

    nl_html_picture(page->html, "stack", WIDTH, height, "The stack, layer within layer",
                    description);
    for (size_t i = 0; i < n; i++)
        write_box(page->html, page->document, i, n);
    nl_html_close(page->html);
}

static void write_row(struct nl_html *html, const json_t *document, size_t index)
{
    const json_t *layer = json_array_get(json_object_get(document, "layers"), index);
    double ready = nl_dig_number(layer, "facts.uptime_at_ready_s", -1);
    bool up = nl_dig_is(layer, "state", "up");

    nl_html_open(html, "tr", NULL);
    nl_html_row_heading(html, nl_page_layer_name(document, index));
    nl_html_cell(html, up ? "pass" : "fail", "%s", nl_dig_string(layer, "state", "?"));
    nl_html_cell(html, NULL, "%s", nl_dig_string(layer, "facts.cpuid.vendor", ""));
    nl_html_cell(html, NULL, "%s", nl_virtualization_word(layer));
    nl_html_cell(html, NULL, "%s", nl_hypervisor_word(layer));
    if (ready >= 0 && !is_local(document, index))
        nl_html_cell(html, "number", "%s s", nl_figure_fixed(ready, 1).text);
    else
        nl_html_cell(html, "number", "%s", "");
    nl_html_close(html);
}

void nl_page_stack(const struct nl_page *page)
{
    static const char *const headings[] = {"Layer", "State",        "Processor", "Virtualization",
                                           "Under", ">Ready after", NULL};
    const json_t *document = page->document;
    struct nl_html *html = page->html;

    nl_html_open(html, "div", "beside");
    write_picture(page);
    nl_html_open(html, "div", NULL);
    nl_html_table(html, "What each layer says of itself", headings);
    for (size_t i = 0; i < nl_page_layers(document); i++)
        write_row(html, document, i);
    nl_html_table_end(html);
    nl_html_leaf(html, "p", "note",
                 "Ready after: from the start of the layer's kernel until its agent answered.");
    if (nl_dig(document, "run.l0.taken")) {
        nl_html_open(html, "p", "note");
        nl_html_format(html, "L0 is %s: %s",
                       nl_dig_is(document, "run.l0.taken", "local") ? "this machine" : "emulated",
                       nl_dig_string(document, "run.l0.why", "no reason given"));
        nl_html_close(html);
    }
    nl_html_close(html);
    nl_html_close(html);
}
