/*
 * rules-cache.h - the rules' patterns as Hyperscan compiled them, kept between runs: compiling some
 * hundreds takes more than a second.
 */
#ifndef NL_RULES_CACHE_H
#define NL_RULES_CACHE_H

#include <hs/hs.h>

/* What the database for the patterns TEXTS (N of them, with FLAGS each) depends on, the caller's;
   NULL: it cannot be told, so nothing is kept. */
char *nl_rules_cache_key(const char *const *texts, const unsigned *flags, unsigned n);

/* The database kept for KEY, the caller's, or NULL. */
hs_database_t *nl_rules_cache_load(const char *key);

/* Keep DATABASE for KEY in place of the one before. Best effort: what cannot be kept is compiled
   again. */
void nl_rules_cache_save(const char *key, const hs_database_t *database);

#endif
