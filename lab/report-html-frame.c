/*
 * report-html-frame.c - what all pages that are made of sections have: links to them, lines below
 * tables, and a foot.
 */
#include "report-html.h"

static bool is_present(const struct nl_page_section *section, const json_t *document)
{
    const json_t *value = section->key ? json_object_get(document, section->key) : NULL;

    if (section->present && !section->present(document))
        return false;
    return !section->key || json_is_object(value) || json_array_size(value) > 0;
}

static void write_contents(const struct nl_page *page, const struct nl_page_section *sections,
                           size_t n)
{
    struct nl_html *html = page->html;

    nl_html_open(html, "nav", NULL);
    nl_html_attribute(html, "aria-label", "Sections");
    nl_html_open(html, "ul", NULL);
    for (size_t i = 0; i < n; i++) {
        if (!is_present(&sections[i], page->document))
            continue;
        nl_html_open(html, "li", NULL);
        nl_html_open(html, "a", NULL);
        nl_html_attribute(html, "href", "#%s", sections[i].id);
        nl_html_text(html, sections[i].title);
        nl_html_close(html);
        nl_html_close(html);
    }
    nl_html_close(html);
    nl_html_close(html);
}

void nl_page_sections(const struct nl_page *page, const struct nl_page_section *sections, size_t n)
{
    write_contents(page, sections, n);
    nl_html_open(page->html, "main", NULL);
    for (size_t i = 0; i < n; i++) {
        if (!is_present(&sections[i], page->document))
            continue;
        nl_html_section(page->html, 2, sections[i].id, sections[i].title, NULL);
        sections[i].write(page);
        nl_html_close(page->html);
    }
    nl_html_close(page->html);
}

void nl_page_lines(const struct nl_page *page, const json_t *lines)
{
    size_t i;
    json_t *line;

    if (json_array_size(lines) == 0)
        return;
    nl_html_open(page->html, "ul", "note");
    json_array_foreach(lines, i, line)
        nl_html_leaf(page->html, "li", NULL, json_is_string(line) ? json_string_value(line) : "");
    nl_html_close(page->html);
}

char *nl_page_finish(const struct nl_page *page, const char *more)
{
    nl_html_open(page->html, "footer", NULL);
    nl_html_format(page->html, "Made by nestlab %s%s", NL_VERSION, more);
    nl_html_close(page->html);
    return nl_html_finish(page->html);
}
