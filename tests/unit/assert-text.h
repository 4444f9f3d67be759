/*
 * assert-text.h - for tests: what a text has in it and what it has not, shown where that is wrong.
 */
#ifndef NL_TEST_ASSERT_TEXT_H
#define NL_TEST_ASSERT_TEXT_H

#include <string.h>

static inline void assert_has(const char *text, const char *wanted)
{
    if (!strstr(text, wanted))
        fail_msg("\"%s\" is not in:\n%s", wanted, text);
}

static inline void assert_has_not(const char *text, const char *unwanted)
{
    if (strstr(text, unwanted))
        fail_msg("\"%s\" is in:\n%s", unwanted, text);
}

#endif
