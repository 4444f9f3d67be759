/*
 * figure.h - numbers as people read them, whatever a document holds.
 *
 * The text is in the value, so that it can be made where it is printed: nl_figure(ns).text.
 */
#ifndef NL_FIGURE_H
#define NL_FIGURE_H

struct nl_figure {
    char text[32];
};

/* Four significant digits, without an exponent where people would not write one. */
struct nl_figure nl_figure(double value);

/* DIGITS (at most 6) after the point; from 1e15 on with an exponent, since a double has no more
   digits that mean something. Of both: what is beyond all doubles, as a sum may be, is ">1e308",
   and what is no number "not known". */
struct nl_figure nl_figure_fixed(double value, int digits);

/* The same of a change, with its sign. */
struct nl_figure nl_figure_change(double value, int digits);

/* How often something happens in an operation. */
struct nl_figure nl_figure_per_operation(double n);

/* How many times something is another: three digits after the point where that says anything. */
struct nl_figure nl_figure_factor(double value);

#endif
