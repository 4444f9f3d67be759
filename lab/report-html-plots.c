/*
 * report-html-plots.c - plots in the report's page: one gnuplot for each group of them, and what
 * they have in common.
 */
#include "cleanup.h"
#include "report-html.h"

#include <string.h>

#define HEIGHT_MOST 400.0 /* pixels of rows: more go into a plot beside it */

struct nl_plot_pictures *nl_page_draw(const struct nl_page *page, const struct nl_plot *plots,
                                      size_t n)
{
    struct nl_plot_pictures *pictures = NULL;

    /* A gnuplot that does not answer costs its time once. */
    if (!*page->missing && nl_plots_draw(plots, n, &pictures, page->missing) == 0)
        return pictures;
    nl_plots_missing(page->html, *page->missing);
    return NULL;
}

void nl_page_rows(const struct nl_page *page, const struct nl_plot *plot, size_t rows,
                  double height)
{
    size_t most = (size_t)fmax(4, HEIGHT_MOST / height);
    size_t n = (rows + most - 1) / most;
    size_t each = n > 0 ? (rows + n - 1) / n : 0;
    cleanup_free struct nl_plot *plots = calloc(n + 1, sizeof(*plots));
    cleanup_plots struct nl_plot_pictures *pictures = NULL;

    if (!plots || n == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        size_t last = (i + 1) * each < rows ? (i + 1) * each : rows;

        plots[i] = *plot;
        plots[i].y.high = (double)(i * each);
        plots[i].y.low = (double)last;
        plots[i].height = plot->top + plot->bottom + height * (double)(last - i * each);
    }
    pictures = nl_page_draw(page, plots, n);
    if (!pictures)
        return;
    nl_html_open(page->html, "div", "plots");
    for (size_t i = 0; i < n; i++)
        nl_plots_write(page->html, pictures, i);
    nl_html_close(page->html);
}
