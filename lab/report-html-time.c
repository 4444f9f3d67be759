/*
 * report-html-time.c - where the time went, in the report's page: a line of bars per layer, a bar
 * per phase, and a table.
 *
 * Positions are in per cent of the width that there is, so that on a phone the bars get shorter and
 * the text does not get smaller.
 */
#include "cleanup.h"
#include "dig.h"
#include "report-html.h"
#include "report-words.h"

#include <math.h>
#include <string.h>

#define PHASES_MAX 40
#define BARS_MAX 500
#define LANE 42.0
#define BAR 18.0
#define TICKS 5

/* What the picture needs to know: the names of phases, and the second that the axis ends at. */
struct times {
    const json_t *document;
    const char *names[PHASES_MAX];
    size_t n_names;
    double end;
    double step;
};

bool nl_page_has_time(const json_t *document)
{
    return json_array_size(json_object_get(document, "phases")) > 0;
}

/* 1, 2 or 5 times a power of ten, at least VALUE. */
static double round_up(double value)
{
    static const double steps[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(value)));

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (steps[i] * power >= value * 0.999)
            return steps[i] * power;
    return value;
}

static void measure(struct times *times, const json_t *document)
{
    size_t i;
    json_t *phase;

    times->document = document;
    times->n_names = nl_phase_names(document, times->names, PHASES_MAX);
    json_array_foreach(json_object_get(document, "phases"), i, phase)
    {
        double end = nl_dig_number(phase, "start_s", 0) + nl_dig_number(phase, "seconds", 0);

        if (end > times->end && end < 1e9)
            times->end = end;
    }
    if (times->end < 0.001)
        times->end = 0.001;
    times->step = round_up(times->end / TICKS);
    times->end = times->step * ceil(times->end / times->step);
}

static size_t index_of(const struct times *times, const char *name)
{
    size_t i = 0;

    while (i < times->n_names && strcmp(times->names[i], name) != 0)
        i++;
    return i;
}

static void write_bar(struct nl_html *html, const struct times *times, const json_t *phase,
                      double y)
{
    const char *name = nl_dig_string(phase, "name", "?");
    double start = nl_dig_number(phase, "start_s", -1);
    double seconds = nl_dig_number(phase, "seconds", 0);

    if (start < 0 || seconds < 0 || start + seconds > times->end)
        return;
    nl_html_open(html, "rect", NULL);
    nl_page_colour(html, nl_colour_series(index_of(times, name)));
    nl_html_attribute(html, "x", "%.3f%%", 100 * start / times->end);
    nl_html_attribute(html, "width", "%.3f%%", fmax(100 * seconds / times->end, 0.15));
    nl_html_attribute(html, "y", "%.1f", y);
    nl_html_attribute(html, "height", "%.1f", BAR);
    nl_html_attribute(html, "fill", "currentColor");
    nl_html_open(html, "title", NULL);
    nl_html_format(html, "%s: %.1f s, from %.1f s on%s", name, seconds, start,
                   nl_dig_true(phase, "cut_short") ? "; cut short" : "");
    nl_html_close(html);
    nl_html_close(html);
}

/* The bars of LAYER; NULL: of the run itself. */
static void write_lane(struct nl_html *html, const struct times *times, const char *layer, double y)
{
    double sum = nl_phase_seconds(times->document, NULL, layer);
    cleanup_free char *label = NULL;
    size_t i;
    json_t *phase;

    if (asprintf(&label, "%s: %.1f s", layer ? layer : "the run itself", fmax(sum, 0)) >= 0)
        nl_page_label(html, "0", y + 13, "start", "13", NL_COLOUR_TEXT, label);
    json_array_foreach(json_object_get(times->document, "phases"), i, phase)
    {
        const char *of = nl_dig_string(phase, "layer", NULL);

        if (i < BARS_MAX && (layer ? of && strcmp(of, layer) == 0 : !of))
            write_bar(html, times, phase, y + 18);
    }
}

static void write_axis(struct nl_html *html, const struct times *times, double height)
{
    int n = (int)lround(times->end / times->step);

    for (int i = 0; i <= n; i++) {
        double t = i * times->step;
        bool last = i == n;
        char x[32], text[32];

        snprintf(x, sizeof(x), "%.3f%%", 100 * t / times->end);
        snprintf(text, sizeof(text), "%g%s", t, last ? " s" : "");
        nl_html_open(html, "line", NULL);
        nl_page_colour(html, NL_COLOUR_RULE);
        nl_html_attribute(html, "x1", "%s", x);
        nl_html_attribute(html, "x2", "%s", x);
        nl_html_attribute(html, "y1", "0");
        nl_html_attribute(html, "y2", "%.1f", height);
        nl_html_attribute(html, "stroke", "currentColor");
        nl_html_close(html);
        nl_page_label(html, x, height + 15,
                      t <= 0 ? "start"
                      : last ? "end"
                             : "middle",
                      "13", NL_COLOUR_QUIET, text);
    }
}

static void write_picture(const struct nl_page *page, const struct times *times)
{
    size_t n = nl_page_layers(page->document);
    double height = LANE * (double)(n + 1) + 6;

    nl_html_picture(page->html, "fluid", 0, height + 22, "Time line of the run",
                    "A line of bars for each layer, a bar for each phase; the numbers are in the "
                    "table below.");
    write_axis(page->html, times, height);
    write_lane(page->html, times, NULL, 0);
    for (size_t i = 0; i < n; i++)
        write_lane(page->html, times, nl_page_layer_name(page->document, i),
                   LANE * (double)(i + 1));
    nl_html_close(page->html);
}

static void write_legend(struct nl_html *html, const struct times *times)
{
    nl_html_open(html, "ul", "legend");
    for (size_t i = 0; i < times->n_names; i++) {
        nl_html_open(html, "li", NULL);
        nl_page_swatch(html, i);
        nl_html_text(html, times->names[i]);
        nl_html_close(html);
    }
    nl_html_close(html);
}

static void seconds_cell(struct nl_html *html, double seconds)
{
    if (seconds < 0)
        nl_html_cell(html, "number", "%s", "");
    else
        nl_html_cell(html, "number", "%.1f", seconds);
}

static void write_row(struct nl_html *html, const json_t *document, const char *name)
{
    nl_html_open(html, "tr", name ? NULL : "first");
    nl_html_row_heading(html, name ? name : "sum");
    seconds_cell(html, nl_phase_seconds(document, name, NULL));
    for (size_t i = 0; i < nl_page_layers(document); i++)
        seconds_cell(html, nl_phase_seconds(document, name, nl_page_layer_name(document, i)));
    nl_html_close(html);
}

void nl_page_time(const struct nl_page *page)
{
    const char *headings[NL_PAGE_LAYERS_MAX + 3] = {"Phase", "Run"};
    struct times times = {0};

    measure(&times, page->document);
    write_picture(page, &times);
    write_legend(page->html, &times);
    for (size_t i = 0; i < nl_page_layers(page->document); i++)
        headings[2 + i] = nl_page_layer_name(page->document, i);
    nl_html_details(page->html, "Seconds by phase");
    nl_html_table(page->html, "Seconds by phase and layer", headings);
    for (size_t i = 0; i < times.n_names; i++)
        write_row(page->html, page->document, times.names[i]);
    write_row(page->html, page->document, NULL);
    nl_html_table_end(page->html);
    nl_html_close(page->html);
}
