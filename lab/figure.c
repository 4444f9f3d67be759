/*
 * figure.c - numbers as people read them: see figure.h.
 */
#include "figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* SMALL and up to GREAT are printed with DIGITS after the point. */
static struct nl_figure print(double value, int digits, double small, double great)
{
    struct nl_figure figure;
    double size = fabs(value);

    if (isnan(value))
        snprintf(figure.text, sizeof(figure.text), "not known");
    else if (isinf(value))
        snprintf(figure.text, sizeof(figure.text), value > 0 ? ">1e308" : "<-1e308");
    else if (size >= great || (size > 0 && size < small))
        snprintf(figure.text, sizeof(figure.text), "%.3g", value);
    else
        snprintf(figure.text, sizeof(figure.text), "%.*f", digits, value);
    return figure;
}

struct nl_figure nl_figure(double value)
{
    double size = fabs(value);

    return print(value, size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3, 0.001, 1e7);
}

struct nl_figure nl_figure_fixed(double value, int digits)
{
    return print(value, digits, 0, 1e15);
}

struct nl_figure nl_figure_change(double value, int digits)
{
    struct nl_figure figure = nl_figure_fixed(value, digits), change = {"+"};

    if (!isfinite(value) || signbit(value))
        return figure;
    memcpy(change.text + 1, figure.text, sizeof(change.text) - 2);
    change.text[sizeof(change.text) - 1] = '\0';
    return change;
}

struct nl_figure nl_figure_per_operation(double n)
{
    return nl_figure_fixed(n, n < 100 ? 2 : 0);
}

struct nl_figure nl_figure_factor(double value)
{
    return print(value, 3, 0.001, 1e6);
}
