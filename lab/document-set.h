/*
 * document-set.h - several documents at once: named one by one, or found in a folder.
 */
#ifndef NL_DOCUMENT_SET_H
#define NL_DOCUMENT_SET_H

#include "error.h"

struct nl_document_set {
    json_t **documents;
    char **paths;
    size_t n;
};

/* Add the document at PATH (as nl_document_load), or those of a folder: every document.json in it
   and in the folders inside it, as runs leave them; if there is none, every *.json of the folder
   itself. In the order of their names; symbolic links are not followed. A run that is there already
   is an error: it would count twice. */
int nl_document_set_add(struct nl_document_set *set, const char *path, struct nl_error **err);

void nl_document_set_free(struct nl_document_set *set);
#define cleanup_document_set NL_CLEANUP(nl_document_set_free)

/* The paths of the documents that PATH stands for: those in a folder, as above, sorted, else PATH
   itself, be it there or not; the caller's (nl_strv_free). */
int nl_document_paths(const char *path, char ***paths, struct nl_error **err);

#endif
