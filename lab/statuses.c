/*
 * statuses.c - how several runs ended: see statuses.h.
 */
#include "statuses.h"

#include <stdlib.h>

/* The worst first. */
static const struct meaning {
    enum nl_exit status;
    const char *words;
} meanings[] = {
    {NL_EXIT_INTERRUPTED, "interrupted"},
    {NL_EXIT_CHECK_FAILED, "a check failed"},
    {NL_EXIT_REQUEST, "the request was wrong"},
    {NL_EXIT_LAB, "the lab could not do it"},
    {NL_EXIT_PASSED, "passed"},
};

#define N_MEANINGS (sizeof(meanings) / sizeof(meanings[0]))
#define LAB (N_MEANINGS - 2)
#define PASSED (N_MEANINGS - 1)

static size_t meaning_of(int status)
{
    for (size_t i = 0; i < N_MEANINGS; i++)
        if (status == (int)meanings[i].status)
            return i;
    return LAB;
}

enum nl_exit nl_status_worse(int a, int b)
{
    size_t first = meaning_of(a), second = meaning_of(b);

    return meanings[first < second ? first : second].status;
}

enum nl_exit nl_statuses_worst(const struct nl_status_of *runs, size_t n)
{
    enum nl_exit worst = NL_EXIT_PASSED;

    for (size_t i = 0; i < n; i++)
        if (runs[i].ran)
            worst = nl_status_worse((int)worst, runs[i].status);
    return worst;
}

/* The scenarios that ended with MEANING, or (RAN false) that were not run. */
static void list(FILE *out, const char *before, const struct nl_status_of *runs, size_t n, bool ran,
                 size_t meaning)
{
    bool first = true;

    for (size_t i = 0; i < n; i++) {
        if (runs[i].ran != ran || (ran && meaning_of(runs[i].status) != meaning))
            continue;
        fprintf(out, "%s%s", first ? before : ", ", runs[i].scenario);
        first = false;
    }
}

char *nl_statuses_why(const struct nl_status_of *runs, size_t n)
{
    size_t worst = meaning_of((int)nl_statuses_worst(runs, n)), passed = 0, size = 0;
    char *text = NULL;
    FILE *out;

    if (worst == PASSED)
        return NULL;
    out = open_memstream(&text, &size);
    if (!out)
        abort();
    fprintf(out, "exit status %d, %s", (int)meanings[worst].status, meanings[worst].words);
    list(out, ": ", runs, n, true, worst);
    for (size_t i = worst + 1; i < PASSED; i++) {
        char before[64];

        snprintf(before, sizeof(before), "; %s: ", meanings[i].words);
        list(out, before, runs, n, true, i);
    }
    list(out, "; not run: ", runs, n, false, 0);
    for (size_t i = 0; i < n; i++)
        passed += runs[i].ran && meaning_of(runs[i].status) == PASSED;
    fprintf(out, "; %zu of %zu passed", passed, n);
    if (fclose(out) != 0)
        abort();
    return text;
}
