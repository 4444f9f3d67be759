/*
 * document-set.c - several documents at once: see document-set.h.
 */
#include "document-set.h"
#include "dig.h"
#include "document.h"

#include <errno.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>

/* A run's documents are one folder down; nobody means a whole file system. */
#define DEPTH_MAX 8

static bool wanted(const FTSENT *entry, bool any_name)
{
    size_t length = strlen(entry->fts_name);

    if (entry->fts_info != FTS_F)
        return false;
    if (!any_name)
        return strcmp(entry->fts_name, "document.json") == 0;
    return entry->fts_level == 1 && length > 5 &&
           strcmp(entry->fts_name + length - 5, ".json") == 0;
}

static int append(char ***paths, size_t *n, const char *path)
{
    char **bigger = realloc(*paths, (*n + 2) * sizeof(*bigger));

    if (!bigger)
        return -1;
    *paths = bigger;
    bigger[*n] = strdup(path);
    bigger[*n + 1] = NULL;
    return bigger[(*n)++] ? 0 : -1;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int walk(const char *folder, bool any_name, char ***paths, struct nl_error **err)
{
    char *const roots[] = {(char *)folder, NULL};
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV | FTS_COMFOLLOW, by_name);
    FTSENT *entry;
    size_t n = 0;
    int rc = 0;

    if (!fts)
        return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "cannot read %s", folder);
    while (rc == 0 && (entry = fts_read(fts))) {
        if (entry->fts_info == FTS_D && entry->fts_level >= (any_name ? 1 : DEPTH_MAX))
            fts_set(fts, entry, FTS_SKIP);
        else if (entry->fts_info == FTS_DNR)
            rc = nl_fail_errno(err, NL_EXIT_REQUEST, entry->fts_errno, "cannot read %s",
                               entry->fts_path);
        else if (wanted(entry, any_name) && append(paths, &n, entry->fts_path) < 0)
            rc = nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    fts_close(fts);
    return rc;
}

int nl_document_paths(const char *path, char ***paths, struct nl_error **err)
{
    cleanup_strv char **found = NULL;
    struct stat status;
    size_t n = 0;

    if (strcmp(path, "-") == 0 || stat(path, &status) < 0 || !S_ISDIR(status.st_mode))
        return append(paths, &n, path) < 0 ? nl_fail(err, NL_EXIT_LAB, "out of memory") : 0;
    if (walk(path, false, &found, err) < 0 || (!found && walk(path, true, &found, err) < 0))
        return -1;
    if (!found) {
        nl_fail(err, NL_EXIT_REQUEST, "%s holds no document", path);
        return nl_hint(err, "looked for document.json in it and in its folders, then for *.json");
    }
    *paths = nl_steal(&found);
    return 0;
}

static int add_document(struct nl_document_set *set, const char *path, struct nl_error **err)
{
    cleanup_json json_t *document = NULL;
    const char *id;
    json_t **documents;
    char **paths;

    if (nl_document_load(path, &document, err) < 0)
        return -1;
    id = nl_dig_string(document, "run.id", "");
    for (size_t i = 0; i < set->n; i++) {
        if (!nl_dig_is(set->documents[i], "run.id", id))
            continue;
        nl_fail(err, NL_EXIT_REQUEST, "%s and %s are the same run, %s", set->paths[i], path, id);
        return nl_hint(err, "every run counts once: leave one of them out");
    }
    documents = realloc(set->documents, (set->n + 1) * sizeof(*documents));
    if (documents)
        set->documents = documents;
    paths = realloc(set->paths, (set->n + 1) * sizeof(*paths));
    if (paths)
        set->paths = paths;
    if (!documents || !paths || !(paths[set->n] = strdup(path)))
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    documents[set->n++] = nl_steal(&document);
    return 0;
}

int nl_document_set_add(struct nl_document_set *set, const char *path, struct nl_error **err)
{
    cleanup_strv char **paths = NULL;

    if (nl_document_paths(path, &paths, err) < 0)
        return -1;
    for (char **each = paths; each && *each; each++)
        if (add_document(set, *each, err) < 0)
            return -1;
    return 0;
}

void nl_document_set_free(struct nl_document_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        json_decref(set->documents[i]);
        free(set->paths[i]);
    }
    free(set->documents);
    free(set->paths);
    *set = (struct nl_document_set){0};
}
