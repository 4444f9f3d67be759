/*
 * plot-script.c - plots as a script for gnuplot: fixed words and numbers. See plot.h.
 */
#include "plot-svg.h"
#include "plot.h"

#include <stdarg.h>

/* Of labels, in letters: gnuplot leaves room for marks that are not drawn. */
#define OFFSET_X "0,0.4"
#define OFFSET_Y "0,0"

#define ROOM 1e300 /* beyond it gnuplot's own arithmetic overflows */

static const struct kind {
    unsigned columns;
    const char *log; /* which of them are x or y */
    const char *words;
} kinds[] = {
    [NL_PLOT_POINTS] = {2, "xy", "using 1:2 with points pt 7"},
    [NL_PLOT_HOLLOW] = {2, "xy", "using 1:2 with points pt 6"},
    [NL_PLOT_LINE] = {2, "xy", "using 1:2 with lines"},
    [NL_PLOT_STEPS] = {2, "xy", "using 1:2 with fsteps"},
    [NL_PLOT_INTERVALS_X] = {3, "xxy", "using 1:3:($2-$1):(0) with vectors nohead"},
    [NL_PLOT_INTERVALS_Y] = {3, "xyy", "using 1:2:(0):($3-$2) with vectors nohead"},
    [NL_PLOT_BOXES] = {4, "xxyy", "using 1:3:1:2:3:4 with boxxyerror fs solid 1.0 noborder"},
};

void nl_plot_add(struct nl_plot_series *series, ...)
{
    unsigned columns = kinds[series->kind].columns;
    va_list numbers;

    /* Room for 2, 4, 8, ... points. */
    if (series->n < 2 || (series->n & (series->n - 1)) == 0) {
        size_t room = series->n < 2 ? 2 : 2 * series->n;
        double *more = reallocarray(series->values, room * columns, sizeof(double));

        series->failed |= !more;
        if (!more)
            return;
        series->values = more;
    }
    va_start(numbers, series);
    for (unsigned i = 0; i < columns; i++)
        series->values[series->n * columns + i] = va_arg(numbers, double);
    va_end(numbers);
    series->n++;
}

static bool can_be_shown(const struct nl_plot *plot, const struct nl_plot_series *series,
                         const double *point)
{
    const struct kind *kind = &kinds[series->kind];

    for (unsigned i = 0; i < kind->columns; i++) {
        const struct nl_plot_axis *axis = kind->log[i] == 'x' ? &plot->x : &plot->y;

        if (!isfinite(point[i]) || fabs(point[i]) > ROOM || (axis->log && point[i] <= 0))
            return false;
    }
    return true;
}

static bool is_shown(const struct nl_plot *plot, const struct nl_plot_series *series)
{
    unsigned columns = kinds[series->kind].columns;

    for (size_t i = 0; i < series->n; i++)
        if (can_be_shown(plot, series, series->values + i * columns))
            return true;
    return false;
}

const struct nl_plot_series *nl_plot_shown(const struct nl_plot *plot, size_t number)
{
    for (size_t i = 0; i < plot->n_series; i++)
        if (is_shown(plot, &plot->series[i]) && --number == 0)
            return &plot->series[i];
    return NULL;
}

static void write_data(FILE *out, const struct nl_plot *plot, size_t index)
{
    const struct nl_plot_series *series = &plot->series[index];
    unsigned columns = kinds[series->kind].columns;

    fprintf(out, "$d%zu << END\n", index);
    for (size_t i = 0; i < series->n; i++) {
        const double *point = series->values + i * columns;

        if (!can_be_shown(plot, series, point))
            continue;
        for (unsigned k = 0; k < columns; k++)
            fprintf(out, "%.12g%c", point[k], k + 1 < columns ? ' ' : '\n');
    }
    fputs("END\n", out);
}

static void write_style(FILE *out, const struct nl_plot_series *series)
{
    bool dots = series->kind == NL_PLOT_POINTS || series->kind == NL_PLOT_HOLLOW;
    double size = series->size > 0 ? series->size : dots ? 3.5 : 2;

    fprintf(out, " lc rgb \"" NL_PLOT_COLOUR_FORMAT "\"", series->colour);
    if (dots)
        fprintf(out, " ps %.3f lw 1.5", size / NL_PLOT_POINT_RADIUS);
    else if (series->kind != NL_PLOT_BOXES)
        fprintf(out, " lw %.2f", size);
}

static void write_series(FILE *out, const struct nl_plot *plot)
{
    const char *before = "plot";

    for (size_t i = 0; i < plot->n_series; i++)
        write_data(out, plot, i);
    for (size_t i = 0; i < plot->n_series; i++) {
        if (!is_shown(plot, &plot->series[i]))
            continue;
        fprintf(out, "%s $d%zu %s", before, i, kinds[plot->series[i].kind].words);
        write_style(out, &plot->series[i]);
        fputs(" notitle", out);
        before = ",";
    }
    /* Axes without anything: gnuplot draws them only if there is something to plot. */
    if (*before == 'p')
        fputs("plot NaN notitle", out);
    fputc('\n', out);
}

/* An axis without any value would have no range, which is an error to gnuplot. */
static void write_range(FILE *out, char name, const struct nl_plot_axis *axis, bool values)
{
    double low = axis->low, high = axis->high;

    if (axis->log)
        fprintf(out, "set logscale %c\n", name);
    if (axis->log && low <= 0)
        low = NAN;
    if (axis->log && high <= 0)
        high = NAN;
    if (!values && isnan(low))
        low = axis->log ? 1 : 0;
    if (!values && (isnan(high) || high == low))
        high = axis->log ? low * 10 : low + 1;
    fprintf(out, "set %crange [", name);
    if (isfinite(low))
        fprintf(out, "%.12g", low);
    fputs(isfinite(low) ? ":" : "*:", out);
    if (isfinite(high) && high != low)
        fprintf(out, "%.12g]\n", high);
    else
        fputs("*]\n", out);
}

static void write_ticks(FILE *out, const char *name, const char *hold,
                        const struct nl_plot_tick *ticks, size_t n, unsigned colour)
{
    const char *before = "";

    fprintf(out,
            "set %stics scale 0 nomirror offset %s textcolor rgb \"" NL_PLOT_COLOUR_FORMAT "\" (",
            name, *name == 'x' ? OFFSET_X : OFFSET_Y, colour);
    for (size_t i = 0; ticks && i < n; i++) {
        if (!isfinite(ticks[i].at) || fabs(ticks[i].at) > ROOM)
            continue;
        fprintf(out, "%s\"", before);
        fprintf(out, hold, (int)i);
        fprintf(out, "\" %.12g", ticks[i].at);
        before = ", ";
    }
    fputs(")\n", out);
}

static void write_axis(FILE *out, char name, const struct nl_plot_axis *axis, bool values)
{
    write_range(out, name, axis, values);
    if (axis->n_ticks > 0) {
        write_ticks(out, (char[]){name, '\0'}, name == 'x' ? NL_PLOT_HOLD_X : NL_PLOT_HOLD_Y,
                    axis->ticks, axis->n_ticks, NL_COLOUR_TEXT);
    } else {
        fprintf(out,
                "set format %c \"%s\"\n"
                "set %ctics scale 0 nomirror offset %s textcolor rgb \"" NL_PLOT_COLOUR_FORMAT "\"",
                name, name == 'x' ? NL_PLOT_HOLD_X_NUMBER : NL_PLOT_HOLD_Y_NUMBER, name,
                name == 'x' ? OFFSET_X : OFFSET_Y, NL_COLOUR_QUIET);
        if (axis->step > 0 && isfinite(axis->step))
            fprintf(out, " %.12g", axis->step);
        fputc('\n', out);
    }
    if (axis->grid)
        fprintf(out, "set grid %ctics lt 1 lw 1 lc rgb \"" NL_PLOT_COLOUR_FORMAT "\"\n", name,
                NL_COLOUR_RULE);
}

static void write_plot(FILE *out, const struct nl_plot *plot)
{
    bool values = nl_plot_shown(plot, 1) != NULL;

    /* "set output" ends the picture before. */
    fprintf(out,
            "set output\n"
            "reset\n"
            "set encoding utf8\n"
            "set terminal svg size %.0f,%.0f dynamic noenhanced font \",12\"\n"
            "unset key\n"
            "set border 0\n"
            "set lmargin at screen %.4f\n"
            "set rmargin at screen %.4f\n"
            "set tmargin at screen %.4f\n"
            "set bmargin at screen %.4f\n",
            plot->width, plot->height, plot->left / plot->width, 1 - plot->right / plot->width,
            1 - plot->top / plot->height, plot->bottom / plot->height);
    write_axis(out, 'x', &plot->x, values);
    write_axis(out, 'y', &plot->y, values);
    if (plot->n_beside > 0) {
        fprintf(out, "set link y2\n");
        write_ticks(out, "y2", NL_PLOT_HOLD_BESIDE, plot->beside, plot->n_beside, NL_COLOUR_QUIET);
    }
    write_series(out, plot);
}

char *nl_plots_script(const struct nl_plot *plots, size_t n)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (size_t i = 0; i < n; i++)
        write_plot(out, &plots[i]);
    fputs("set output\n", out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
