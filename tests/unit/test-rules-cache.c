/*
 * test-rules-cache.c - compiled patterns come back for the same key, and only whole.
 */
#include "folder.h"
#include "rules-cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const texts[] = {"entry failed", "lockup"};
static const unsigned flags[] = {HS_FLAG_SINGLEMATCH, HS_FLAG_SINGLEMATCH};
static const unsigned ids[] = {0, 1};

static hs_database_t *compile(void)
{
    hs_database_t *database = NULL;
    hs_compile_error_t *wrong = NULL;

    assert_int_equal(hs_compile_multi(texts, flags, ids, 2, HS_MODE_BLOCK, NULL, &database, &wrong),
                     HS_SUCCESS);
    return database;
}

static int note(unsigned id, unsigned long long from, unsigned long long to, unsigned flag,
                void *context)
{
    (void)from, (void)to, (void)flag;
    *(unsigned *)context |= 1U << id;
    return 0;
}

static void keeps_what_was_compiled(void **state)
{
    char *key = nl_rules_cache_key(texts, flags, 2), *other = nl_rules_cache_key(texts, flags, 1);
    hs_database_t *made = compile(), *kept;
    hs_scratch_t *scratch = NULL;
    unsigned found = 0;

    (void)state;
    setenv("XDG_CACHE_HOME", base, 1);
    assert_string_not_equal(key, other);
    assert_null(nl_rules_cache_load(key));
    nl_rules_cache_save(key, made);
    assert_null(nl_rules_cache_load(other));
    kept = nl_rules_cache_load(key);
    assert_non_null(kept);
    assert_int_equal(hs_alloc_scratch(kept, &scratch), HS_SUCCESS);
    assert_int_equal(hs_scan(kept, "soft lockup", 11, 0, scratch, note, &found), HS_SUCCESS);
    assert_int_equal(found, 2);
    hs_free_scratch(scratch);
    hs_free_database(kept);
    hs_free_database(made);
    free(key);
    free(other);
}

static void takes_no_damaged_file(void **state)
{
    char *key = nl_rules_cache_key(texts, flags, 2), *path = in_base("nestlab/rules.hs");
    hs_database_t *made = compile();
    FILE *file;

    (void)state;
    setenv("XDG_CACHE_HOME", base, 1);
    nl_rules_cache_save(key, made);
    file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, -20, SEEK_END);
    fputs("damaged", file);
    fclose(file);
    assert_null(nl_rules_cache_load(key));
    assert_int_equal(truncate(path, 70), 0);
    assert_null(nl_rules_cache_load(key));
    assert_null(nl_rules_cache_load(NULL));
    hs_free_database(made);
    free(path);
    free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(keeps_what_was_compiled),
        IN_FOLDER(takes_no_damaged_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
