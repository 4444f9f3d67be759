/*
 * args-number.c - an option that takes a number: see args-number.h.
 */
#include "args-number.h"

#include <stdlib.h>

double nl_args_number(const struct argp_state *state, const char *option, const char *text,
                      double low, double high)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || !(value >= low && value <= high))
        argp_error(state, "%s %s: is no number from %g to %g", option, text, low, high);
    return value;
}
