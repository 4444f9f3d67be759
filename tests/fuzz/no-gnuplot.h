/*
 * no-gnuplot.h - for fuzzers of pages: no gnuplot is started for each of their inputs. Its scripts
 * are made all the same.
 */
#ifndef NL_FUZZ_NO_GNUPLOT_H
#define NL_FUZZ_NO_GNUPLOT_H

#include "plot-svg.h"

#include <string.h>

int nl_plot_run(const char *script, char **output, struct nl_error **err)
{
    (void)output;
    return nl_fail(err, NL_EXIT_LAB, "%zu bytes of script are not drawn", strlen(script));
}

#endif
