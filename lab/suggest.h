/*
 * suggest.h - "did you mean": the known word nearest to one that is not known.
 */
#ifndef NL_SUGGEST_H
#define NL_SUGGEST_H

/* The nearest of WORDS (NULL-terminated), or NULL when none is near enough to be what was meant. */
const char *nl_suggest(const char *word, const char *const *words);

#endif
