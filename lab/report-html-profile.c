/*
 * report-html-profile.c - profiles in the report's page: the functions that execute most of an
 * operation's instructions, and the layers that they are in.
 */
#include "cleanup.h"
#include "dig.h"
#include "figure.h"
#include "report-html.h"

#define PROFILES_MAX 40
#define ROWS_MAX 25

bool nl_page_has_profiles(const json_t *document)
{
    size_t l, i;
    json_t *layer, *metered;

    json_array_foreach(json_object_get(document, "layers"), l, layer)
    {
        json_array_foreach(json_object_get(layer, "metered"), i, metered)
        {
            if (nl_dig(metered, "profile"))
                return true;
        }
    }
    return false;
}

static void write_row(struct nl_html *html, double instructions, double operations, double all,
                      const char *layer, const char *module, const char *function)
{
    nl_html_open(html, "tr", NULL);
    nl_html_row_heading(html, function);
    nl_html_cell(html, NULL, "%s", module);
    nl_html_cell(html, NULL, "%s", layer);
    nl_html_cell(html, "number", "%s", nl_figure_fixed(instructions / operations, 1).text);
    nl_html_cell(html, "number", "%.1f %%", 100 * instructions / all);
    nl_html_close(html);
}

static void write_rows(const struct nl_page *page, const json_t *functions, double operations,
                       double all)
{
    static const char *const headings[] = {"Function",      "In",     "Executed by",
                                           ">Instructions", ">Share", NULL};
    double shown = 0;
    char others[64];
    size_t i;
    json_t *function;

    nl_html_table(page->html, "Instructions of one operation, by function", headings);
    json_array_foreach(functions, i, function)
    {
        double instructions = nl_dig_number(function, "instructions", 0);

        if (i == ROWS_MAX)
            break;
        shown += instructions;
        write_row(page->html, instructions, operations, all, nl_dig_string(function, "layer", "?"),
                  nl_dig_string(function, "module", "?"), nl_dig_string(function, "function", "?"));
    }
    if (json_array_size(functions) > ROWS_MAX) {
        snprintf(others, sizeof(others), "%zu others", json_array_size(functions) - ROWS_MAX);
        write_row(page->html, all - shown, operations, all, "", "", others);
    }
    nl_html_table_end(page->html);
}

/* One profile is open, of several each is folded away. */
static void write_profile(const struct nl_page *page, size_t layer, const json_t *metered,
                          bool fold)
{
    const json_t *functions = json_object_get(nl_dig(metered, "profile"), "functions");
    double operations = nl_dig_number(metered, "profile.operations", 0);
    cleanup_free char *title = NULL;
    double all = 0;
    size_t i;
    json_t *function;

    json_array_foreach(functions, i, function) all += nl_dig_number(function, "instructions", 0);
    if (asprintf(&title, "%s at %s: %.0f undisturbed operations",
                 nl_dig_string(metered, "name", "?"), nl_page_layer_name(page->document, layer),
                 operations) < 0)
        return;
    if (fold)
        nl_html_details(page->html, title);
    else
        nl_html_section(page->html, 3, NULL, title, NULL);
    if (operations > 0 && all > 0)
        write_rows(page, functions, operations, all);
    else
        nl_html_leaf(page->html, "p", NULL, "No operation was undisturbed.");
    nl_html_close(page->html);
}

void nl_page_profiles(const struct nl_page *page)
{
    const json_t *layers = json_object_get(page->document, "layers");
    size_t seen = 0;

    for (size_t l = 0; l < nl_page_layers(page->document); l++) {
        size_t i;
        json_t *metered;

        json_array_foreach(json_object_get(json_array_get(layers, l), "metered"), i, metered)
        {
            if (nl_dig(metered, "profile") && seen++ < PROFILES_MAX)
                write_profile(page, l, metered, seen > 1);
        }
    }
    nl_html_leaf(page->html, "p", "note",
                 "All functions are in the document, and in the .folded file beside it, which "
                 "flame graph programs read.");
}
