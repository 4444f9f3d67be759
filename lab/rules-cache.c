/*
 * rules-cache.c - the compiled patterns in the user's cache folder: see rules-cache.h.
 *
 * One file: the key and the digest of the rest, a newline, then what hs_serialize_database() made.
 * Hyperscan itself does not notice damage to it.
 */
#include "rules-cache.h"
#include "cleanup.h"
#include "folders.h"
#include "image.h"
#include "save.h"
#include "sha256.h"

#include <stdio.h>
#include <string.h>

#define HEAD (2 * NL_SHA256_HEX + 1)
#define SIZE_MAX_MIB 256

char *nl_rules_cache_key(const char *const *texts, const unsigned *flags, unsigned n)
{
    cleanup_sha256 struct nl_sha256 *sha = nl_sha256_new();
    cleanup_error struct nl_error *ignored = NULL;
    hs_platform_info_t platform;
    char *key = NULL;

    if (hs_populate_platform(&platform) != HS_SUCCESS)
        return NULL;
    nl_sha256_text(sha, "version", hs_version());
    nl_sha256_bytes(sha, "tune", &platform.tune, sizeof(platform.tune));
    nl_sha256_bytes(sha, "features", &platform.cpu_features, sizeof(platform.cpu_features));
    for (unsigned i = 0; i < n; i++) {
        nl_sha256_text(sha, "pattern", texts[i]);
        nl_sha256_bytes(sha, "flags", &flags[i], sizeof(flags[i]));
    }
    return nl_sha256_end(sha, &key, &ignored) < 0 ? NULL : key;
}

/* What the file starts with. */
static int make_head(const char *key, const char *bytes, size_t size, char head[HEAD + 1])
{
    cleanup_sha256 struct nl_sha256 *sha = nl_sha256_new();
    cleanup_error struct nl_error *ignored = NULL;
    cleanup_free char *digest = NULL;

    nl_sha256_bytes(sha, "database", bytes, size);
    if (nl_sha256_end(sha, &digest, &ignored) < 0)
        return -1;
    snprintf(head, HEAD + 1, "%s%s\n", key, digest);
    return 0;
}

static char *cache_path(void)
{
    cleanup_error struct nl_error *ignored = NULL;
    cleanup_free char *folder = NULL;
    char *path;

    if (nl_store_default_path(&folder, &ignored) < 0 ||
        nl_make_folders(folder, NL_EXIT_LAB, &ignored) < 0 ||
        asprintf(&path, "%s/rules.hs", folder) < 0)
        return NULL;
    return path;
}

hs_database_t *nl_rules_cache_load(const char *key)
{
    cleanup_free char *path = key ? cache_path() : NULL;
    cleanup_fclose FILE *in = path ? fopen(path, "re") : NULL;
    cleanup_free char *bytes = NULL;
    char head[HEAD + 1] = "", wanted[HEAD + 1];
    hs_database_t *database = NULL;
    long size;

    if (!in || fread(head, 1, HEAD, in) != HEAD || fseek(in, 0, SEEK_END) < 0 ||
        (size = ftell(in) - (HEAD + 1)) <= 0 || size > SIZE_MAX_MIB * 1024L * 1024 ||
        fseek(in, HEAD, SEEK_SET) < 0)
        return NULL;
    bytes = malloc((size_t)size);
    if (!bytes || fread(bytes, 1, (size_t)size, in) != (size_t)size ||
        make_head(key, bytes, (size_t)size, wanted) < 0 || strcmp(head, wanted) != 0 ||
        hs_deserialize_database(bytes, (size_t)size, &database) != HS_SUCCESS)
        return NULL;
    return database;
}

void nl_rules_cache_save(const char *key, const hs_database_t *database)
{
    cleanup_error struct nl_error *ignored = NULL;
    cleanup_free char *path = key ? cache_path() : NULL;
    cleanup_free char *text = NULL;
    char *bytes = NULL;
    size_t size = 0;

    if (!path || hs_serialize_database(database, &bytes, &size) != HS_SUCCESS)
        return;
    text = malloc(HEAD + size + 1);
    if (text && make_head(key, bytes, size, text) == 0) {
        memcpy(text + HEAD, bytes, size);
        text[HEAD + size] = '\n';
        nl_save(path, text, HEAD + size + 1, &ignored);
    }
    free(bytes);
}
