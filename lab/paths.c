/*
 * paths.c - finding data files: see paths.h.
 */
#include "paths.h"

#include <limits.h>
#include <string.h>

/* Seen from the folder of the running binary, nearest first. */
static const char *const beside_binary[] = {"..", "../share/nestlab", "../..", "../../.."};

/* BASE/RELATIVE if it exists, made absolute; else NULL. */
static char *existing(const char *base, const char *between, const char *relative)
{
    cleanup_free char *path = NULL;

    if (asprintf(&path, "%s/%s/%s", base, between, relative) < 0)
        return NULL;
    return realpath(path, NULL);
}

static char *beside(const char *relative)
{
    char binary[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", binary, sizeof(binary) - 1);
    char *path = NULL;
    char *slash;

    if (n <= 0)
        return NULL;
    binary[n] = '\0';
    slash = strrchr(binary, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    for (size_t i = 0; !path && i < sizeof(beside_binary) / sizeof(beside_binary[0]); i++)
        path = existing(binary, beside_binary[i], relative);
    return path;
}

int nl_data_path(const char *relative, char **path, struct nl_error **err)
{
    const char *override = getenv("NESTLAB_DATA");

    *path = override && *override ? existing(override, ".", relative) : beside(relative);
    if (!*path && !(override && *override))
        *path = existing(NL_PREFIX, "share/nestlab", relative);
    if (*path)
        return 0;
    nl_fail(err, NL_EXIT_LAB, "cannot find nestlab's data file %s", relative);
    return nl_hint(err, "install nestlab with `make install`, or set NESTLAB_DATA to the folder "
                        "that holds scenarios/ and images/");
}
