/*
 * comparison-text.h - for tests: a comparison as a user reads it.
 */
#ifndef NL_TEST_COMPARISON_TEXT_H
#define NL_TEST_COMPARISON_TEXT_H

#include "compare.h"

/* The caller's. */
static inline char *text_of(const json_t *comparison)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    nl_compare_text(comparison, out, false);
    fclose(out);
    return text;
}

#endif
