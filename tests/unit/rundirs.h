/*
 * rundirs.h - for tests: making and looking at run folders.
 */
#ifndef NL_TEST_RUNDIRS_H
#define NL_TEST_RUNDIRS_H

#include "rundir.h"
#include "folder.h"

#include <sys/stat.h>

static inline void write_file(const char *folder, const char *name, const char *text)
{
    cleanup_free char *path = NULL;
    FILE *file;

    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static inline bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static inline struct nl_rundir *create(const char *name)
{
    cleanup_error struct nl_error *err = NULL;
    struct nl_rundir *rundir = NULL;

    if (nl_rundir_create(name, &rundir, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    return rundir;
}

static inline json_t *list_runs(void)
{
    json_t *runs_list = NULL;

    assert_int_equal(nl_rundir_list(&runs_list, NULL), 0);
    return runs_list;
}

#endif
