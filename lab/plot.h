/*
 * plot.h - plots that gnuplot draws, as inline pictures of a page (html.h).
 *
 * gnuplot sees numbers and nothing else: a label is a place holder to it, and gets its text
 * afterwards, so nothing that a document holds can become a command. Its SVG is not copied either:
 * lines, areas, dots and texts are read from it and written anew in the page's own colours.
 */
#ifndef NL_PLOT_H
#define NL_PLOT_H

#include "error.h"
#include "html.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* A series' VALUES are points of as many numbers as its kind has. */
enum nl_plot_kind {
    NL_PLOT_POINTS,      /* x y: dots */
    NL_PLOT_HOLLOW,      /* x y: rings, for what is not certain */
    NL_PLOT_LINE,        /* x y: a line from one to the next */
    NL_PLOT_STEPS,       /* x y: stairs, first up, then along */
    NL_PLOT_INTERVALS_X, /* low high y: lines along the x axis */
    NL_PLOT_INTERVALS_Y, /* x low high: lines along the y axis */
    NL_PLOT_BOXES,       /* x1 x2 y1 y2: filled areas, for bars */
};

struct nl_plot_series {
    enum nl_plot_kind kind;
    unsigned colour;  /* enum nl_colour */
    double size;      /* radius of dots (0: 3.5) or width of lines (0: 2), in pixels */
    const char *name; /* NULL, or what the pointer shows that rests on it */
    double *values;
    size_t n;    /* points */
    bool failed; /* nl_plot_add() had no memory: it will not be drawn without its points */
};

/* Add a point of as many numbers as SERIES' kind has. Its values must have been NULL at first, and
   are the caller's to free. */
void nl_plot_add(struct nl_plot_series *series, ...);

struct nl_plot_tick {
    double at;
    const char *label;
};

struct nl_plot_axis {
    double low; /* NAN: as the values need. Greater than HIGH: the axis is turned round */
    double high;
    bool log;                         /* what is not above 0 is left out */
    bool grid;                        /* a thin line at every tick */
    double step;                      /* between ticks; 0: as gnuplot likes */
    const char *suffix;               /* NULL, or what follows the numbers of its ticks */
    const struct nl_plot_tick *ticks; /* instead of numbers; NULL with n_ticks 1: no ticks at all */
    size_t n_ticks;
};

/* Sizes are HTML's pixels, a letter is 12 high; margins are where the labels go. */
struct nl_plot {
    const char *class; /* of the picture, may be NULL */
    const char *title; /* both for those who do not see it */
    const char *description;
    double width, height;
    double left, right, top, bottom; /* margins */
    struct nl_plot_axis x, y;
    const struct nl_plot_tick *beside; /* labels at the right end, by y */
    size_t n_beside;
    const struct nl_plot_series *series; /* later ones lie over earlier ones */
    size_t n_series;
};

struct nl_plot_pictures;

/* Draw N plots by one gnuplot, which has 20 s. PLOTS must outlive *PICTURES, which are the caller's
   to free. */
int nl_plots_draw(const struct nl_plot *plots, size_t n, struct nl_plot_pictures **pictures,
                  struct nl_error **err);
void nl_plots_free(struct nl_plot_pictures **pictures);

/* Write the one at INDEX, in element svg. */
void nl_plots_write(struct nl_html *html, const struct nl_plot_pictures *pictures, size_t index);

/* Say in the page that there is no picture, why, and that the TABLE has the numbers. */
void nl_plots_missing(struct nl_html *html, const struct nl_error *err);

#define cleanup_plots NL_CLEANUP(nl_plots_free)

/* 1, 2 or 5 times a power of ten, at least VALUE, which is above 0: a distance between ticks. */
double nl_plot_round_up(double value);

/* The script that gnuplot gets; the caller's, NULL when out of memory. */
char *nl_plots_script(const struct nl_plot *plots, size_t n);

#endif
