/*
 * table.c - a small table for a terminal: see table.h.
 */
#include "table.h"
#include "cleanup.h"
#include "printable.h"

#include <stdarg.h>
#include <string.h>

#define CELL_COLUMNS 40

struct nl_table {
    char *align;
    char **cells;
    size_t n;
    size_t room;
};

struct nl_table *nl_table_new(const char *align)
{
    struct nl_table *table = calloc(1, sizeof(*table));

    if (!table)
        return NULL;
    table->align = strdup(align);
    if (!table->align) {
        free(table);
        return NULL;
    }
    return table;
}

void nl_table_cell(struct nl_table *table, const char *format, ...)
{
    cleanup_free char *text = NULL;
    va_list args;
    int rc;

    if (!table)
        return;
    if (table->n == table->room) {
        size_t room = table->room ? table->room * 2 : 64;
        char **bigger = realloc(table->cells, room * sizeof(*bigger));

        if (!bigger)
            return;
        table->cells = bigger;
        table->room = room;
    }
    va_start(args, format);
    rc = vasprintf(&text, format, args);
    va_end(args);
    if (rc < 0)
        text = NULL;
    table->cells[table->n++] = nl_printable(text, CELL_COLUMNS);
}

static const char *cell_text(const struct nl_table *table, size_t i)
{
    return i < table->n && table->cells[i] ? table->cells[i] : "";
}

static size_t column_width(const struct nl_table *table, size_t column)
{
    size_t width = 0;

    for (size_t i = column; i < table->n; i += strlen(table->align)) {
        size_t columns = nl_columns(cell_text(table, i));

        width = columns > width ? columns : width;
    }
    return width;
}

static void print_row(const struct nl_table *table, size_t first, const size_t *widths, FILE *out)
{
    size_t columns = strlen(table->align);
    size_t owed = 2; /* blanks are printed only when something follows them */

    for (size_t column = 0; column < columns; column++) {
        const char *text = cell_text(table, first + column);
        size_t padding = widths[column] - nl_columns(text);

        if (table->align[column] == 'r')
            owed += padding;
        if (*text) {
            fprintf(out, "%*s%s", (int)owed, "", text);
            owed = 0;
        }
        owed += 2 + (*text && table->align[column] == 'r' ? 0 : padding);
        if (!*text && table->align[column] == 'r')
            owed -= padding;
    }
}

void nl_table_print(struct nl_table *table, FILE *out, const char *heading, const char *plain)
{
    cleanup_free size_t *widths = NULL;
    size_t columns;

    if (!table)
        return;
    columns = strlen(table->align);
    widths = calloc(columns + 1, sizeof(*widths));
    for (size_t column = 0; widths && column < columns; column++)
        widths[column] = column_width(table, column);
    for (size_t i = 0; widths && i < table->n; i += columns) {
        fputs(i == 0 ? heading : "", out);
        print_row(table, i, widths, out);
        fprintf(out, "%s\n", i == 0 ? plain : "");
    }
    for (size_t i = 0; i < table->n; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table->align);
    free(table);
}
