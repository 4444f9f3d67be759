/*
 * csv.c - comma-separated values: see csv.h.
 */
#include "csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The characters that begin a formula somewhere: those that OWASP lists under CSV injection. */
#define FORMULA "=+-@\t\r"

static bool next_field(struct nl_csv *csv)
{
    if (!csv->out)
        return false;
    if (csv->started)
        fputc(',', csv->out);
    csv->started = true;
    return true;
}

void nl_csv_start(struct nl_csv *csv, const char *const *names, size_t n)
{
    *csv = (struct nl_csv){0};
    csv->out = open_memstream(&csv->text, &csv->length);
    for (size_t i = 0; i < n; i++)
        nl_csv_word(csv, names[i]);
    nl_csv_line(csv);
}

void nl_csv_text(struct nl_csv *csv, const char *text)
{
    if (!next_field(csv) || !text)
        return;
    fputc('"', csv->out);
    if (*text && strchr(FORMULA, *text))
        fputc('\'', csv->out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', csv->out);
        fputc(*text, csv->out);
    }
    fputc('"', csv->out);
}

void nl_csv_word(struct nl_csv *csv, const char *word)
{
    if (next_field(csv))
        fputs(word, csv->out);
}

void nl_csv_number(struct nl_csv *csv, double value)
{
    char text[40];

    if (!next_field(csv) || !isfinite(value))
        return;
    /* The shorter one where it is the same number. */
    snprintf(text, sizeof(text), "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof(text), "%.17g", value);
    fputs(text, csv->out);
}

void nl_csv_line(struct nl_csv *csv)
{
    if (csv->out)
        fputs("\r\n", csv->out);
    csv->started = false;
}

char *nl_csv_finish(struct nl_csv *csv)
{
    bool whole = csv->out && !ferror(csv->out);

    if (csv->out && fclose(csv->out) != 0)
        whole = false;
    csv->out = NULL;
    if (whole)
        return csv->text;
    free(csv->text);
    return NULL;
}
