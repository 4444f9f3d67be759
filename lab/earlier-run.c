/*
 * earlier-run.c - an output folder that holds the results of an earlier run: see earlier-run.h.
 */
#include "earlier-run.h"
#include "dig.h"
#include "document.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <string.h>
#include <sys/stat.h>

#define DOCUMENT "document.json"

/* What a run names its files, but for the document. Not as the document says: nobody vouches for
   it. */
static const char names[] = "^(report\\.html|junit\\.xml|libvirt\\.log|"
                            "L[0-9]{1,2}-((console|kernel|qemu)\\.log|hang\\.txt)|"
                            "profile-[a-z0-9-]+-L[0-9]{1,2}\\.folded)$";

static bool is_file(int folder, const char *name)
{
    struct stat st;

    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

/* The id of the run whose document is in FOLDER, which DIR reads; NULL: there is none. */
static char *find_id(DIR *dir, const char *folder)
{
    cleanup_error struct nl_error *ignored = NULL;
    cleanup_json json_t *document = NULL;
    cleanup_free char *path = NULL;

    if (!is_file(dirfd(dir), DOCUMENT) || asprintf(&path, "%s/" DOCUMENT, folder) < 0 ||
        nl_document_load(path, &document, &ignored) < 0)
        return NULL;
    return strdup(nl_dig_string(document, "run.id", "?"));
}

static int remove_file(DIR *dir, const char *folder, const char *name, struct nl_error **err)
{
    if (!is_file(dirfd(dir), name) || unlinkat(dirfd(dir), name, 0) == 0)
        return 0;
    nl_fail_errno(err, NL_EXIT_REQUEST, errno, "cannot remove %s/%s, which is of an earlier run",
                  folder, name);
    return nl_hint(err, "name another folder");
}

/* The document last: as long as it is there, who tries again goes on where this ended. */
static int remove_files(DIR *dir, const char *folder, const regex_t *of_run, struct nl_error **err)
{
    struct dirent *entry;

    while ((entry = readdir(dir)))
        if (regexec(of_run, entry->d_name, 0, NULL, 0) == 0 &&
            remove_file(dir, folder, entry->d_name, err) < 0)
            return -1;
    return remove_file(dir, folder, DOCUMENT, err);
}

int nl_earlier_run_remove(const char *folder, char **id, struct nl_error **err)
{
    cleanup_closedir DIR *dir = opendir(folder);
    cleanup_free char *found = dir ? find_id(dir, folder) : NULL;
    regex_t of_run;
    int rc;

    *id = NULL;
    /* One that cannot be listed can be written to all the same, and nothing is known of it. */
    if (!found)
        return 0;
    if (regcomp(&of_run, names, REG_EXTENDED | REG_NOSUB) != 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    rc = remove_files(dir, folder, &of_run, err);
    regfree(&of_run);
    if (rc == 0)
        *id = nl_steal(&found);
    return rc;
}
