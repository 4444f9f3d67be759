/*
 * cleanup.h - attributes that free what a function owns when it returns, so that every function
 * has one way out and no ladder of labels.
 */
#ifndef NL_CLEANUP_H
#define NL_CLEANUP_H

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NL_CLEANUP(function) __attribute__((cleanup(function)))

static inline void nl_cleanup_freep(void *p)
{
    free(*(void **)p);
}

static inline void nl_cleanup_closep(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void nl_cleanup_fclosep(FILE **file)
{
    if (*file)
        fclose(*file);
}

static inline void nl_cleanup_closedirp(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

static inline void nl_cleanup_jsonp(json_t **json)
{
    json_decref(*json);
}

/* What was written to OUT, of open_memstream(TEXT, ...), is the caller's; OUT is closed. NULL: out
   of memory, and nothing is left. */
static inline char *nl_close_text(FILE *out, char **text)
{
    if (fclose(out) == 0)
        return *text;
    free(*text);
    return NULL;
}

/* Hand a descriptor to the caller: the cleanup attribute then finds -1. */
static inline int nl_steal_fd(int *fd)
{
    int stolen = *fd;

    *fd = -1;
    return stolen;
}

/* A NULL-terminated array of strings, freed with its strings. */
static inline void nl_strv_free(char **strv)
{
    if (!strv)
        return;
    for (char **s = strv; *s; s++)
        free(*s);
    free(strv);
}

static inline void nl_cleanup_strvp(char ***strv)
{
    nl_strv_free(*strv);
}

#define cleanup_free NL_CLEANUP(nl_cleanup_freep)
#define cleanup_close NL_CLEANUP(nl_cleanup_closep)
#define cleanup_fclose NL_CLEANUP(nl_cleanup_fclosep)
#define cleanup_closedir NL_CLEANUP(nl_cleanup_closedirp)
#define cleanup_json NL_CLEANUP(nl_cleanup_jsonp)
#define cleanup_strv NL_CLEANUP(nl_cleanup_strvp)

/* Hand a value to the caller: the cleanup attribute then finds an empty variable. */
#define nl_steal(pointer)                                                                          \
    ({                                                                                             \
        __auto_type stolen_ = *(pointer);                                                          \
        *(pointer) = NULL;                                                                         \
        stolen_;                                                                                   \
    })

#endif
