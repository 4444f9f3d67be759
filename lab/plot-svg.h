/*
 * plot-svg.h - what the files of plot.h share: running gnuplot, and from its SVG to the page, where
 * only what is known is taken over.
 */
#ifndef NL_PLOT_SVG_H
#define NL_PLOT_SVG_H

#include "plot.h"

#include <libxml/tree.h>

/* Place holders that plot-script.c gives gnuplot instead of texts: a letter and an index. A label
   that is none of these is left out. */
#define NL_PLOT_HOLD_X "~x%d~"      /* label of a tick */
#define NL_PLOT_HOLD_Y "~y%d~"      /* label of a tick */
#define NL_PLOT_HOLD_BESIDE "~b%d~" /* label beside */
/* Numbers of ticks, which gnuplot makes itself. */
#define NL_PLOT_HOLD_X_NUMBER "~X%g~"
#define NL_PLOT_HOLD_Y_NUMBER "~Y%g~"

/* A colour of the page as gnuplot's: red and green tell it from all others. */
#define NL_PLOT_COLOUR_FORMAT "#0107%02x"
#define NL_PLOT_COLOUR_RED 0x01
#define NL_PLOT_COLOUR_GREEN 0x07

/* gnuplot's dots are this large at "pointsize 1", in letters of 12 pixels. */
#define NL_PLOT_POINT_RADIUS 4.5

/* What gnuplot prints for SCRIPT, one SVG after the other; the caller's. */
int nl_plot_run(const char *script, char **output, struct nl_error **err);

/* The series that gnuplot drew as its NUMBERth, from 1: one without a point that can be shown is
   left out of the script. NULL: there is none. */
const struct nl_plot_series *nl_plot_shown(const struct nl_plot *plot, size_t number);

/* Write the content of the picture of PLOT, which is open. */
void nl_plot_svg_write(struct nl_html *html, const struct nl_plot *plot, xmlNode *root);

#endif
