/*
 * work-tally.c - rows that are whole, and others: see work-tally.h.
 */
#include "work-tally.h"
#include "dig.h"
#include "protocol.h"

#include <stdio.h>
#include <stdlib.h>

/* Of each row the first that is true of it counts. */
void nl_work_tally_add(struct nl_work_tally *tally, const json_t *row)
{
    size_t samples = json_array_size(nl_dig(row, "samples"));

    tally->rows++;
    if (nl_dig(row, "skipped"))
        tally->skipped++;
    else if (samples < NL_PROTOCOL_SAMPLES_MIN)
        tally->few++;
    else if (nl_dig(row, "undisturbed") && nl_dig_integer(row, "undisturbed", 0) == 0)
        tally->disturbed++;
    else if (nl_dig(row, "short"))
        tally->brief++;
}

void nl_work_tally_failed(struct nl_work_tally *tally)
{
    tally->rows++;
    tally->failed++;
}

char *nl_work_tally_text(const struct nl_work_tally *tally)
{
    const struct {
        size_t n;
        const char *words;
    } parts[] = {
        {tally->brief, "with fewer samples than asked for"},
        {tally->few, "with too few samples to judge by"},
        {tally->disturbed, "disturbed all the time"},
        {tally->skipped, "skipped"},
        {tally->failed, "without a result"},
    };
    size_t whole = tally->rows, size = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        abort();
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        whole -= parts[i].n;
    fprintf(out, "%zu row%s", tally->rows, tally->rows == 1 ? "" : "s");
    if (tally->rows > 0 && whole == tally->rows)
        fputs(tally->rows == 1 ? ", whole" : ", all whole", out);
    else if (tally->rows > 0)
        fprintf(out, ": %zu whole", whole);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (parts[i].n > 0)
            fprintf(out, ", %zu %s", parts[i].n, parts[i].words);
    if (fclose(out) != 0)
        abort();
    return text;
}
