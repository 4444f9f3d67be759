/*
 * html.h - HTML pages that are also XML: elements through libxml2's writer, so that no text,
 * whoever wrote it, can become markup.
 *
 * A page is one file without scripts and without links to elsewhere, under a content security
 * policy that allows nothing but its own style sheet (html-style.c), by hash: style attributes do
 * not work. All functions take NULL for `html`. What cannot be written is remembered and makes
 * nl_html_finish() return NULL.
 */
#ifndef NL_HTML_H
#define NL_HTML_H

#include <stdbool.h>
#include <stddef.h>

struct nl_html;

/* A page with an open <body>. NULL when out of memory. */
struct nl_html *nl_html_new(const char *title);

/* Close all that is open. The page is the caller's; frees HTML. NULL when out of memory. */
char *nl_html_finish(struct nl_html *html);

/* Start an element of class CLASS (NULL: none); attributes may follow, then its content. */
void nl_html_open(struct nl_html *html, const char *name, const char *class);
void nl_html_attribute(struct nl_html *html, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void nl_html_close(struct nl_html *html);

/* Text; what hides or reorders text is made visible (printable.h). */
void nl_html_text(struct nl_html *html, const char *text);
void nl_html_format(struct nl_html *html, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* An element with nothing but text in it. */
void nl_html_leaf(struct nl_html *html, const char *name, const char *class, const char *text);

/* <pre> with TEXT's lines as they are, without the first ones if they are more than LIMIT bytes. */
void nl_html_pre(struct nl_html *html, const char *text, size_t limit);

/* A section with a heading of LEVEL 2 or 3 and, if NOTE is not NULL, a paragraph below it. ID
   (NULL: none) is what links lead to. To be closed. */
void nl_html_section(struct nl_html *html, int level, const char *id, const char *title,
                     const char *note);

/* Something folded away under SUMMARY; a printer shows it. To be closed. */
void nl_html_details(struct nl_html *html, const char *summary);

/* A table with a caption in a box of its own that scrolls where it is too wide, and its row of
   headings, NULL-terminated; ">L0" is the heading "L0" of a column of numbers. */
void nl_html_table(struct nl_html *html, const char *caption, const char *const *headings);
void nl_html_table_end(struct nl_html *html);
/* In a row (element tr): the cell that names it, and one of class CLASS. */
void nl_html_row_heading(struct nl_html *html, const char *text);
void nl_html_cell(struct nl_html *html, const char *class, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A term and its description, in a dl; nothing where TEXT is NULL or empty. */
void nl_html_term(struct nl_html *html, const char *term, const char *text);

/* An inline picture: <svg> with a title and a description for those who do not see it, in HTML's
   pixels; the style sheet makes it smaller where there is less room. To be closed. */
void nl_html_picture(struct nl_html *html, const char *class, double width, double height,
                     const char *title, const char *description);

/* A picture that says nothing that the text beside it does not: hidden from those who do not see
   it. To be closed. */
void nl_html_ornament(struct nl_html *html, const char *class, double width, double height);

/* A number that the page has not used yet, to make ids of. */
unsigned nl_html_number(struct nl_html *html);

/* The classes "colour-N" of pictures: what they mean is in the style sheet, for light and dark. */
enum nl_colour {
    NL_COLOUR_TEXT,
    NL_COLOUR_RULE,
    NL_COLOUR_QUIET,
    NL_COLOUR_SERIES, /* and the NL_COLOUR_N_SERIES - 1 that follow: one for each layer or phase */
    NL_COLOUR_N_SERIES = 8,
};

/* The colour of the series INDEX: they come again after NL_COLOUR_N_SERIES. */
static inline unsigned nl_colour_series(size_t index)
{
    return NL_COLOUR_SERIES + (unsigned)(index % NL_COLOUR_N_SERIES);
}

/* The style sheet: no '<' and no '&', so that it is the same in HTML and in XML. */
extern const char nl_html_style[];

/* For pages shown where a server forbids style sheets: the colour's value in light, "#RRGGBB". */
const char *nl_html_colour(unsigned colour);

#endif
