/*
 * plot.c - from plots to pictures in a page: see plot.h.
 */
#include "plot.h"
#include "plot-svg.h"

#include <libxml/parser.h>
#include <string.h>

#define PICTURE_START "<?xml "

struct nl_plot_pictures {
    const struct nl_plot *plots;
    size_t n;
    xmlDocPtr svg[];
};

void nl_plots_free(struct nl_plot_pictures **pictures)
{
    if (!*pictures)
        return;
    for (size_t i = 0; i < (*pictures)->n; i++)
        xmlFreeDoc((*pictures)->svg[i]);
    free(*pictures);
    *pictures = NULL;
}

/* One picture after the other, each an XML file of its own. */
static int parse(struct nl_plot_pictures *pictures, const char *output, struct nl_error **err)
{
    const char *from = strstr(output, PICTURE_START);

    for (size_t i = 0; i < pictures->n; i++) {
        const char *to = from ? strstr(from + 1, PICTURE_START) : NULL;
        size_t length = to ? (size_t)(to - from) : from ? strlen(from) : 0;

        if (length > 0)
            pictures->svg[i] =
                xmlReadMemory(from, (int)length, "gnuplot.svg", NULL,
                              XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
        if (!pictures->svg[i])
            return nl_fail(err, NL_EXIT_LAB, "what gnuplot printed has no picture %zu of %zu",
                           i + 1, pictures->n);
        from = to;
    }
    return 0;
}

static bool has_failed(const struct nl_plot *plots, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < plots[i].n_series; k++)
            if (plots[i].series[k].failed)
                return true;
    return false;
}

int nl_plots_draw(const struct nl_plot *plots, size_t n, struct nl_plot_pictures **pictures,
                  struct nl_error **err)
{
    cleanup_plots struct nl_plot_pictures *made = calloc(1, sizeof(*made) + n * sizeof(xmlDocPtr));
    cleanup_free char *script = nl_plots_script(plots, n);
    cleanup_free char *output = NULL;

    if (!made || !script || has_failed(plots, n))
        return nl_fail(err, NL_EXIT_LAB, "cannot draw: out of memory");
    made->plots = plots;
    made->n = n;
    if (nl_plot_run(script, &output, err) < 0 || parse(made, output, err) < 0)
        return -1;
    *pictures = nl_steal(&made);
    return 0;
}

void nl_plots_write(struct nl_html *html, const struct nl_plot_pictures *pictures, size_t index)
{
    const struct nl_plot *plot = &pictures->plots[index];

    nl_html_picture(html, plot->class ? plot->class : "plot", plot->width, plot->height,
                    plot->title, plot->description);
    nl_plot_svg_write(html, plot, xmlDocGetRootElement(pictures->svg[index]));
    nl_html_close(html);
}

void nl_plots_missing(struct nl_html *html, const struct nl_error *err)
{
    nl_html_open(html, "p", "note");
    nl_html_format(html, "No picture: %s. The table has the numbers.", nl_error_message(err));
    nl_html_close(html);
}

double nl_plot_round_up(double value)
{
    static const double steps[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(value)));

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (steps[i] * power >= value * 0.999)
            return steps[i] * power;
    return value;
}
