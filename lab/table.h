/*
 * table.h - a small table for a terminal: cells are collected, columns take the width they need.
 */
#ifndef NL_TABLE_H
#define NL_TABLE_H

#include <stdio.h>

struct nl_table;

/* ALIGN has a letter for each column: 'l' left, 'r' right. NULL when out of memory; everything
   below takes NULL. */
struct nl_table *nl_table_new(const char *align);

/* The next cell, in rows from the left; what it quotes is made printable and cut to 40 columns. */
void nl_table_cell(struct nl_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Print it, each line indented by two, the columns two apart, no blanks at a line's end; HEADING is
   put around the first row ("" or an escape sequence) with PLAIN after it. Frees the table. */
void nl_table_print(struct nl_table *table, FILE *out, const char *heading, const char *plain);

#endif
