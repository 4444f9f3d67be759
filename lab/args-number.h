/*
 * args-number.h - an option that takes a number.
 */
#ifndef NL_ARGS_NUMBER_H
#define NL_ARGS_NUMBER_H

#include <argp.h>

/* TEXT as OPTION ("--alpha") takes it: a number from LOW to HIGH, else argp_error(), which names
   them. */
double nl_args_number(const struct argp_state *state, const char *option, const char *text,
                      double low, double high);

#endif
