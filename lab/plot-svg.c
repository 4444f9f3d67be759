/*
 * plot-svg.c - from gnuplot's SVG to the page: see plot-svg.h.
 *
 * What is written is made here, element by element, from numbers that were read from gnuplot's:
 * whatever else is in its file (styles, definitions, links, titles) has no way into the page. Style
 * attributes would not work there anyway, by its policy.
 */
#include "plot-svg.h"
#include "cleanup.h"
#include "printable.h"

#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 32
#define LABEL_COLUMNS 40

/* What an element inherits from those around it. */
struct context {
    double x, y; /* where its origin is */
    double width;
    int colour; /* enum nl_colour; -1: none of the page's */
    const char *anchor;
    unsigned depth;
};

struct writer {
    struct nl_html *html;
    const struct nl_plot *plot;
};

static xmlChar *attribute(xmlNode *node, const char *name)
{
    return xmlGetProp(node, BAD_CAST name); /* of any name space */
}

static bool is_element(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

static void xml_free(xmlChar **text)
{
    if (*text)
        xmlFree(*text);
}
#define cleanup_xml NL_CLEANUP(xml_free)

/* "rgb(  1,   7,   3)" */
static int read_colour(xmlNode *node, const char *name, int inherited)
{
    cleanup_xml xmlChar *text = attribute(node, name);
    int red, green, number;

    if (!text)
        return inherited;
    if (sscanf((const char *)text, "rgb(%d,%d,%d)", &red, &green, &number) != 3 ||
        red != NL_PLOT_COLOUR_RED || green != NL_PLOT_COLOUR_GREEN || number < 0 ||
        number >= NL_COLOUR_SERIES + NL_COLOUR_N_SERIES)
        return -1;
    return number;
}

static double read_number(xmlNode *node, const char *name, double inherited)
{
    cleanup_xml xmlChar *text = attribute(node, name);
    double value;

    return text && sscanf((const char *)text, "%lf", &value) == 1 && isfinite(value) ? value
                                                                                     : inherited;
}

static void read_translation(xmlNode *node, struct context *context)
{
    cleanup_xml xmlChar *text = attribute(node, "transform");
    double x, y;

    if (text && sscanf((const char *)text, "translate(%lf,%lf)", &x, &y) == 2) {
        context->x += x;
        context->y += y;
    }
}

static const char *read_anchor(xmlNode *node, const char *inherited)
{
    static const char *const known[] = {"start", "middle", "end"};
    cleanup_xml xmlChar *text = attribute(node, "text-anchor");

    for (size_t i = 0; text && i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp((const char *)text, known[i]) == 0)
            return known[i];
    return inherited;
}

/* Coordinates and, of a path, the letters of straight lines. */
static bool is_geometry(const xmlChar *text, const char *letters)
{
    const char *s = (const char *)text;

    while (*s && (strchr("0123456789+-., \n\t", *s) || strchr(letters, *s)))
        s++;
    return *s == '\0';
}

static void write_path(const struct writer *to, xmlNode *node, const struct context *context)
{
    cleanup_xml xmlChar *d = attribute(node, "d");
    int colour = read_colour(node, "stroke", context->colour);

    /* A path that only moves draws nothing: gnuplot leaves many. */
    if (!d || colour < 0 || !is_geometry(d, "MLZz") || !strchr((const char *)d, 'L'))
        return;
    nl_html_open(to->html, "path", NULL);
    nl_html_attribute(to->html, "class", "colour-%d", colour);
    nl_html_attribute(to->html, "color", "%s", nl_html_colour((unsigned)colour));
    nl_html_attribute(to->html, "d", "%s", (const char *)d);
    nl_html_attribute(to->html, "fill", "none");
    nl_html_attribute(to->html, "stroke", "currentColor");
    nl_html_attribute(to->html, "stroke-width", "%g", context->width);
    nl_html_close(to->html);
}

static void write_area(const struct writer *to, xmlNode *node, const struct context *context)
{
    cleanup_xml xmlChar *points = attribute(node, "points");
    int colour = read_colour(node, "fill", context->colour);

    if (!points || colour < 0 || !is_geometry(points, ""))
        return;
    nl_html_open(to->html, "polygon", NULL);
    nl_html_attribute(to->html, "class", "colour-%d", colour);
    nl_html_attribute(to->html, "color", "%s", nl_html_colour((unsigned)colour));
    nl_html_attribute(to->html, "points", "%s", (const char *)points);
    nl_html_attribute(to->html, "fill", "currentColor");
    nl_html_close(to->html);
}

/* gnuplot draws dots by links to shapes; ids would be there once for each plot of a page. */
static void write_dot(const struct writer *to, xmlNode *node, const struct context *context)
{
    cleanup_xml xmlChar *shape = attribute(node, "href");
    cleanup_xml xmlChar *transform = attribute(node, "transform");
    int colour = read_colour(node, "color", context->colour);
    bool hollow = shape && strcmp((const char *)shape, "#gpPt5") == 0;
    double x, y, radius;

    if (!transform || colour < 0 ||
        sscanf((const char *)transform, "translate(%lf,%lf) scale(%lf)", &x, &y, &radius) != 3)
        return;
    nl_html_open(to->html, "circle", NULL);
    nl_html_attribute(to->html, "class", "colour-%d%s", colour, hollow ? " hollow" : "");
    nl_html_attribute(to->html, "color", "%s", nl_html_colour((unsigned)colour));
    nl_html_attribute(to->html, "cx", "%g", x);
    nl_html_attribute(to->html, "cy", "%g", y);
    nl_html_attribute(to->html, "r", "%g", radius);
    nl_html_attribute(to->html, "fill", "%s", hollow ? "none" : "currentColor");
    if (hollow) {
        nl_html_attribute(to->html, "stroke", "currentColor");
        nl_html_attribute(to->html, "stroke-width", "%g", context->width);
    }
    nl_html_close(to->html);
}

static const char *tick_label(const struct nl_plot_tick *ticks, size_t n, int index)
{
    return ticks && index >= 0 && (size_t)index < n ? ticks[index].label : NULL;
}

/* "100", "10k", "2.5M": labels are narrow. */
static char *number_label(double number, const char *suffix)
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    char *text = NULL;
    size_t i = 0;

    while (fabs(number) >= (i == 0 ? 1e4 : 1e3) && i + 1 < sizeof(units) / sizeof(units[0])) {
        number /= 1000;
        i++;
    }
    return asprintf(&text, "%.4g%s%s", number, units[i], suffix) < 0 ? NULL : text;
}

/* The text that a place holder stands for; NULL: it is none of ours. The caller's. */
static char *resolve(const struct nl_plot *plot, const char *held)
{
    const char *label = NULL;
    char letter[2], end;
    double number;
    int index;

    if (sscanf(held, "~%1[xyb]%d%c", letter, &index, &end) == 3 && end == '~') {
        label = *letter == 'x'   ? tick_label(plot->x.ticks, plot->x.n_ticks, index)
                : *letter == 'y' ? tick_label(plot->y.ticks, plot->y.n_ticks, index)
                                 : tick_label(plot->beside, plot->n_beside, index);
        return label ? nl_printable(label, LABEL_COLUMNS) : NULL;
    }
    if (sscanf(held, "~%1[XY]%lf%c", letter, &number, &end) == 3 && end == '~') {
        const char *suffix = *letter == 'X' ? plot->x.suffix : plot->y.suffix;

        return number_label(number, suffix ? suffix : "");
    }
    return NULL;
}

static void write_label(const struct writer *to, xmlNode *node, const struct context *context)
{
    cleanup_xml xmlChar *held = xmlNodeGetContent(node);
    cleanup_free char *text = held ? resolve(to->plot, (const char *)held) : NULL;

    if (!text || context->colour < 0)
        return;
    nl_html_open(to->html, "text", NULL);
    nl_html_attribute(to->html, "class", "colour-%d", context->colour);
    nl_html_attribute(to->html, "color", "%s", nl_html_colour((unsigned)context->colour));
    nl_html_attribute(to->html, "x", "%g", context->x);
    nl_html_attribute(to->html, "y", "%g", context->y);
    nl_html_attribute(to->html, "text-anchor", "%s", context->anchor);
    nl_html_attribute(to->html, "font-size", "12");
    nl_html_attribute(to->html, "fill", "currentColor");
    nl_html_text(to->html, text);
    nl_html_close(to->html);
}

/* The series that this group is of, if it has a name to show. */
static const struct nl_plot_series *named_series(const struct nl_plot *plot, xmlNode *group)
{
    cleanup_xml xmlChar *id = attribute(group, "id");
    const struct nl_plot_series *series = NULL;
    size_t number;

    if (id && sscanf((const char *)id, "gnuplot_plot_%zu", &number) == 1)
        series = nl_plot_shown(plot, number);
    return series && series->name ? series : NULL;
}

static void write_children(const struct writer *to, xmlNode *node, const struct context *context);

static void write_group(const struct writer *to, xmlNode *node, const struct context *context)
{
    const struct nl_plot_series *series = named_series(to->plot, node);

    if (series) {
        nl_html_open(to->html, "g", NULL);
        nl_html_leaf(to->html, "title", NULL, series->name);
    }
    write_children(to, node, context);
    if (series)
        nl_html_close(to->html);
}

static const struct {
    const char *name;
    void (*write)(const struct writer *to, xmlNode *node, const struct context *context);
} elements[] = {
    {"g", write_group}, {"path", write_path},  {"polygon", write_area},
    {"use", write_dot}, {"text", write_label},
};

static void write_children(const struct writer *to, xmlNode *node, const struct context *context)
{
    struct context inner = *context;

    if (++inner.depth > DEPTH_MAX)
        return;
    inner.width = read_number(node, "stroke-width", context->width);
    inner.colour = read_colour(node, "stroke", context->colour);
    inner.colour = read_colour(node, "fill", inner.colour);
    inner.anchor = read_anchor(node, context->anchor);
    read_translation(node, &inner);
    for (xmlNode *child = node->children; child; child = child->next)
        for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++)
            if (is_element(child, elements[i].name))
                elements[i].write(to, child, &inner);
}

void nl_plot_svg_write(struct nl_html *html, const struct nl_plot *plot, xmlNode *root)
{
    const struct writer to = {.html = html, .plot = plot};
    const struct context context = {.width = 1, .colour = -1, .anchor = "start"};

    write_children(&to, root, &context);
}
