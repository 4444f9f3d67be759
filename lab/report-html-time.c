/*
 * report-html-time.c - where the time went, in the report's page: a line of bars per layer, a bar
 * per phase, and a table.
 *
 * The picture is there twice, of which the style sheet shows one: where there is less room the bars
 * are to get shorter, and the text not smaller.
 */
#include "cleanup.h"
#include "dig.h"
#include "figure.h"
#include "report-html.h"
#include "report-words.h"

#include <string.h>

#define PHASES_MAX 40
#define BARS_MAX 200
#define LANE 28.0
#define TICKS 5
#define LEAST 0.0015 /* of the whole: a bar that can be seen */

/* Names of phases, each with a colour of its own as long as there are enough. */
struct names {
    const char *names[PHASES_MAX];
    size_t n;
};

/* What the picture needs to know: names of phases, and the second that the axis ends at. Phases of
   the run and of layers, which are in other lines, share colours. */
struct times {
    const json_t *document;
    struct names all;
    struct names run;
    struct names layers;
    double end;
    double step;
};

static size_t index_of(const struct names *names, const char *name)
{
    size_t i = 0;

    while (i < names->n && strcmp(names->names[i], name) != 0)
        i++;
    return i;
}

static void add_name(struct names *names, const char *name)
{
    if (names->n < PHASES_MAX && index_of(names, name) == names->n)
        names->names[names->n++] = name;
}

static void measure(struct times *times, const json_t *document)
{
    size_t i;
    json_t *phase;

    times->document = document;
    times->all.n = nl_phase_names(document, times->all.names, PHASES_MAX);
    json_array_foreach(json_object_get(document, "phases"), i, phase)
    {
        double end = nl_dig_number(phase, "start_s", 0) + nl_dig_number(phase, "seconds", 0);

        add_name(nl_dig(phase, "layer") ? &times->layers : &times->run,
                 nl_dig_string(phase, "name", "?"));
        if (end > times->end && end < 1e9)
            times->end = end;
    }
    if (times->end < 0.001)
        times->end = 0.001;
    times->step = nl_plot_round_up(times->end / TICKS);
    times->end = times->step * ceil(times->end / times->step);
}

/* The lane of a phase, from above: the run's own, then the layers'. */
static size_t lane_of(const json_t *document, const char *layer)
{
    size_t i = 0;

    if (!layer)
        return 0;
    while (i < nl_page_layers(document) && strcmp(nl_page_layer_name(document, i), layer) != 0)
        i++;
    return i + 1;
}

/* A bar with its name, both the caller's to free. */
static void add_bar(const struct times *times, struct nl_plot_series *bar, const json_t *phase)
{
    const char *name = nl_dig_string(phase, "name", "?");
    double start = nl_dig_number(phase, "start_s", -1);
    double seconds = nl_dig_number(phase, "seconds", 0);
    double lane = (double)lane_of(times->document, nl_dig_string(phase, "layer", NULL));
    char *text = NULL;

    bar->kind = NL_PLOT_BOXES;
    bar->colour =
        nl_colour_series(index_of(nl_dig(phase, "layer") ? &times->layers : &times->run, name));
    if (start < 0 || seconds < 0 || start + seconds > times->end ||
        lane > (double)nl_page_layers(times->document))
        return;
    nl_plot_add(bar, start, start + fmax(seconds, LEAST * times->end), lane + 0.18, lane + 0.82);
    if (asprintf(&text, "%s: %s s, from %s s on%s", name, nl_figure_fixed(seconds, 1).text,
                 nl_figure_fixed(start, 1).text,
                 nl_dig_true(phase, "cut_short") ? "; cut short" : "") >= 0)
        bar->name = text;
}

static char *lane_label(const json_t *document, size_t lane)
{
    const char *layer = lane > 0 ? nl_page_layer_name(document, lane - 1) : NULL;
    double sum = nl_phase_seconds(document, NULL, layer);
    char *text = NULL;

    return asprintf(&text, "%.20s  %s s", layer ? layer : "run",
                    nl_figure_fixed(fmax(sum, 0), 1).text) < 0
               ? NULL
               : text;
}

static void write_picture(const struct nl_page *page, const struct times *times)
{
    size_t lanes = nl_page_layers(page->document) + 1;
    struct nl_plot_series bars[BARS_MAX] = {0};
    struct nl_plot_tick labels[NL_PAGE_LAYERS_MAX + 1];
    struct nl_plot plots[2] = {{
        .class = "wide",
        .title = "Time line of the run",
        .description = "A line of bars for each layer, a bar for each phase; the numbers are in "
                       "the table below.",
        .width = 1040,
        .height = LANE * (double)lanes + 24,
        .left = 84,
        .right = 20,
        .top = 2,
        .bottom = 22,
        .x = {.low = 0, .high = times->end, .grid = true, .step = times->step, .suffix = " s"},
        .y = {.low = (double)lanes, .high = 0, .ticks = labels, .n_ticks = lanes},
        .series = bars,
    }};
    cleanup_plots struct nl_plot_pictures *pictures = NULL;
    size_t i;
    json_t *phase;

    json_array_foreach(json_object_get(page->document, "phases"), i, phase)
    {
        if (i < BARS_MAX)
            add_bar(times, &bars[plots[0].n_series++], phase);
    }
    for (size_t k = 0; k < lanes; k++)
        labels[k] = (struct nl_plot_tick){(double)k + 0.5, lane_label(page->document, k)};
    plots[1] = plots[0];
    plots[1].class = "narrow";
    plots[1].width = 340;
    pictures = nl_page_draw(page, plots, 2);
    for (size_t k = 0; pictures && k < 2; k++)
        nl_plots_write(page->html, pictures, k);
    for (size_t k = 0; k < lanes; k++)
        free((char *)labels[k].label);
    for (size_t k = 0; k < BARS_MAX; k++) {
        free(bars[k].values);
        free((char *)bars[k].name);
    }
}

static void write_legend(struct nl_html *html, const char *of, const struct names *names)
{
    if (names->n == 0)
        return;
    nl_html_open(html, "ul", "legend");
    nl_html_leaf(html, "li", "quiet", of);
    for (size_t i = 0; i < names->n; i++)
        nl_page_legend_entry(html, nl_colour_series(i), "%s", names->names[i]);
    nl_html_close(html);
}

static void seconds_cell(struct nl_html *html, double seconds)
{
    if (seconds < 0)
        nl_html_cell(html, "number", "%s", "");
    else
        nl_html_cell(html, "number", "%s", nl_figure_fixed(seconds, 1).text);
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
    const char *headings[NL_PAGE_LAYERS_MAX + 3] = {"Phase", ">Run"};
    char names[NL_PAGE_LAYERS_MAX][32];
    struct times times = {0};

    measure(&times, page->document);
    write_picture(page, &times);
    write_legend(page->html, "Layers:", &times.layers);
    write_legend(page->html, "Run:", &times.run);
    for (size_t i = 0; i < nl_page_layers(page->document); i++) {
        snprintf(names[i], sizeof(names[i]), ">%.20s", nl_page_layer_name(page->document, i));
        headings[2 + i] = names[i];
    }
    nl_html_details(page->html, "Seconds by phase");
    nl_html_table(page->html, "Seconds by phase and layer", headings);
    for (size_t i = 0; i < times.all.n; i++)
        write_row(page->html, page->document, times.all.names[i]);
    write_row(page->html, page->document, NULL);
    nl_html_table_end(page->html);
    nl_html_close(page->html);
}
