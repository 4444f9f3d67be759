/*
 * report-html-samples.c - how the samples of each benchmark are distributed, in the report's page:
 * a small plot for each, in it a line for each layer.
 *
 * The line is the empirical distribution: how many of the samples are at most as far from the
 * median. Relative to their own median all layers fit into one plot.
 */
#include "cleanup.h"
#include "dig.h"
#include "report-html.h"
#include "slowdown.h"
#include "stats.h"

#include <string.h>

#define PLOTS_MAX 60
#define FOLD_FROM 13  /* so many are folded away */
#define POINTS_MAX 60 /* of a line: a plot is not wider than twice as many pixels */
#define SAMPLES_MIN 3
#define FAR 300.0  /* per cent: nothing is shown further away */
#define EDGES 0.08 /* of the samples of a layer may be beyond either edge */

struct distributions {
    size_t n;
    const char *names[PLOTS_MAX];
    struct nl_plot plots[PLOTS_MAX];
    struct nl_plot_series series[PLOTS_MAX][NL_PAGE_LAYERS_MAX];
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void add_samples(struct nl_plot *plot, struct nl_plot_series *series,
                        const json_t *benchmark)
{
    cleanup_free double *samples = NULL;
    size_t n = nl_benchmark_samples(benchmark, &samples);
    size_t shown = n < POINTS_MAX ? n : POINTS_MAX;
    double median = n >= SAMPLES_MIN ? nl_median(samples, n) : 0;
    double low = 0, high = 0;

    if (!(fabs(median) > 0))
        return;
    qsort(samples, n, sizeof(*samples), compare);
    for (size_t i = 0; i < shown; i++) {
        size_t at = shown > 1 ? i * (n - 1) / (shown - 1) : 0;
        double away = 100 * (samples[at] / median - 1);

        away = fmin(fmax(away, -FAR), FAR);
        if (i == 0)
            nl_plot_add(series, away, 0.0);
        nl_plot_add(series, away, (double)(at + 1) / (double)n);
        /* One that is far off would press all others into a corner: it may be beyond the edge. */
        if (at >= (size_t)(EDGES * (double)n))
            low = fmin(low, away);
        if (at < n - (size_t)(EDGES * (double)n))
            high = fmax(high, away);
    }
    plot->x.low = fmin(plot->x.low, low);
    plot->x.high = fmax(plot->x.high, high);
}

static void start_plot(struct distributions *all, const char *name)
{
    struct nl_plot *plot = &all->plots[all->n];

    *plot = (struct nl_plot){
        .title = name,
        .description = "Distribution of its samples by layer: how many of them are at most as far "
                       "from the median as the axis says.",
        .width = 168,
        .height = 92,
        .left = 6,
        .right = 10,
        .top = 4,
        .bottom = 18,
        .x = {.low = 0, .high = 0, .grid = true, .suffix = "%"},
        .y = {.low = 0, .high = 1.02, .n_ticks = 1},
        .series = all->series[all->n],
    };
    all->names[all->n] = name;
}

/* Whole steps, with room at both ends. */
static void finish_axis(struct nl_plot_axis *axis)
{
    double low = fmin(axis->low, -0.01), high = fmax(axis->high, 0.01);

    axis->step = nl_plot_round_up((high - low) / 2.5);
    axis->low = low - 0.04 * (high - low);
    axis->high = high + 0.04 * (high - low);
}

static bool is_of(const json_t *benchmark, const char *name)
{
    return nl_dig_is(benchmark, "name", name) &&
           json_array_size(json_object_get(benchmark, "samples")) >= SAMPLES_MIN;
}

static void add_benchmark(const struct nl_page *page, struct distributions *all, const char *name)
{
    struct nl_plot *plot = &all->plots[all->n];

    start_plot(all, name);
    for (size_t k = 0; k < nl_page_layers(page->document); k++) {
        const json_t *layer = json_array_get(json_object_get(page->document, "layers"), k);
        struct nl_plot_series *series = &all->series[all->n][plot->n_series];
        size_t i;
        json_t *benchmark;

        series->kind = NL_PLOT_STEPS;
        series->size = 1.5;
        series->colour = nl_colour_series(k);
        json_array_foreach(json_object_get(layer, "benchmarks"), i, benchmark)
        {
            if (series->n == 0 && is_of(benchmark, name))
                add_samples(plot, series, benchmark);
        }
        plot->n_series += series->n > 0;
    }
    finish_axis(&plot->x);
    all->n += plot->n_series > 0;
}

static void collect(const struct nl_page *page, struct distributions *all)
{
    size_t l, i;
    json_t *layer, *benchmark;
    cleanup_json json_t *seen = json_object();

    json_array_foreach(json_object_get(page->document, "layers"), l, layer)
    {
        json_array_foreach(json_object_get(layer, "benchmarks"), i, benchmark)
        {
            const char *name = nl_dig_string(benchmark, "name", NULL);

            if (!name || !is_of(benchmark, name) || json_object_get(seen, name))
                continue;
            json_object_set_new(seen, name, json_true());
            if (all->n < PLOTS_MAX)
                add_benchmark(page, all, name);
        }
    }
}

static void write_plots(const struct nl_page *page, const struct distributions *all)
{
    cleanup_plots struct nl_plot_pictures *pictures = nl_page_draw(page, all->plots, all->n);

    if (!pictures)
        return;
    nl_page_legend(page, 0, nl_page_layers(page->document), "", "");
    nl_html_close(page->html);
    nl_html_open(page->html, "div", "plots small");
    for (size_t i = 0; i < all->n; i++) {
        nl_html_open(page->html, "div", NULL);
        nl_html_leaf(page->html, "p", NULL, all->names[i]);
        nl_plots_write(page->html, pictures, i);
        nl_html_close(page->html);
    }
    nl_html_close(page->html);
}

void nl_page_samples(const struct nl_page *page)
{
    cleanup_free struct distributions *all = calloc(1, sizeof(*all));

    if (!all)
        return;
    collect(page, all);
    if (all->n > 0) {
        nl_html_section(page->html, 3, NULL, "Distribution of the samples",
                        "How many of a benchmark's samples (the height) are at most as far from "
                        "their layer's median as the axis says: the steeper, the steadier. A line "
                        "that leaves at the side has outliers beyond it.");
        if (all->n >= FOLD_FROM)
            nl_html_details(page->html, "A plot for each benchmark");
        write_plots(page, all);
        if (all->n >= FOLD_FROM)
            nl_html_close(page->html);
        nl_html_close(page->html);
    }
    for (size_t i = 0; i < PLOTS_MAX; i++)
        for (size_t k = 0; k < NL_PAGE_LAYERS_MAX; k++)
            free(all->series[i][k].values);
}
