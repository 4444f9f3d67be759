/*
 * suggest.c - "did you mean": see suggest.h.
 */
#include "suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Longer words are not worth a suggestion; this bounds the table on the stack. */
#define WORD_MAX 40

static size_t least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours, case
   ignored. Both words are at most WORD_MAX long. */
static size_t distance(const char *a, const char *b)
{
    size_t table[WORD_MAX + 1][WORD_MAX + 1];
    size_t n = strlen(a), m = strlen(b);

    for (size_t i = 0; i <= n; i++)
        table[i][0] = i;
    for (size_t j = 0; j <= m; j++)
        table[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            int ca = tolower((unsigned char)a[i - 1]), cb = tolower((unsigned char)b[j - 1]);
            table[i][j] =
                least(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (ca != cb));
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
                cb == tolower((unsigned char)a[i - 2]) && table[i - 2][j - 2] + 1 < table[i][j])
                table[i][j] = table[i - 2][j - 2] + 1;
        }
    }
    return table[n][m];
}

/* "memory" for "memory_mib": the unit left out. */
static bool lacks_unit(const char *word, const char *known)
{
    size_t length = strlen(word);

    return strncmp(word, known, length) == 0 && known[length] == '_';
}

const char *nl_suggest(const char *word, const char *const *words)
{
    size_t length = strlen(word);
    const char *best = NULL;
    /* A third of the word may be wrong, and one letter of a short one. */
    size_t limit = length / 3 > 1 ? length / 3 : 1;

    if (length == 0 || length > WORD_MAX)
        return NULL;
    for (; *words; words++) {
        if (strlen(*words) > WORD_MAX)
            continue;
        if (lacks_unit(word, *words))
            return *words;
        size_t d = distance(word, *words);
        /* As many edits as letters would make any short word a suggestion. */
        if (d <= limit && d < strlen(*words)) {
            best = *words;
            if (d == 0)
                break;
            limit = d - 1;
        }
    }
    return best;
}
