/*
 * recipe.h - a recipe: what an image is made of. The only place that knows the JSON shape of
 * recipes (images/recipe.schema.json).
 */
#ifndef NL_RECIPE_H
#define NL_RECIPE_H

#include "error.h"

/* A file of the recipe's folder that goes into the guest's disk. */
struct nl_recipe_file {
    char *source; /* absolute path */
    char *target; /* absolute path in the guest */
    int mode;
};

struct nl_recipe {
    char *name;
    char *suite;          /* of Debian: "bookworm" */
    char *kernel_package; /* "linux-image-cloud-amd64" */

    char **initrd_modules;  /* NULL-terminated; loaded by the agent as init */
    char *busybox_package;  /* NULL: no busybox in the initramfs */
    char *busybox_path;     /* in that package: "bin/busybox" */
    char **busybox_applets; /* symbolic links to make beside it; NULL without busybox */

    int disk_mib;    /* 0: no disk */
    char **packages; /* NULL-terminated; NULL without a disk */
    char **without;  /* dpkg's path-exclude patterns; may be empty, NULL without a disk */
    char **with;     /* path-include patterns, taken back from the above; likewise */
    char **users;    /* system users to add, locked; likewise */
    struct nl_recipe_file *files;
    size_t n_files;

    int scratch_mib; /* an empty ext4 disk for disk benchmarks; 0: none */
};

/* Load FOLDER/NAME.json. Errors are the request's: a wrong name lists the known ones. */
int nl_recipe_load(const char *folder, const char *name, struct nl_recipe **recipe,
                   struct nl_error **err);
void nl_recipe_free(struct nl_recipe **recipe);
#define cleanup_recipe NL_CLEANUP(nl_recipe_free)

/* Names of the recipes in FOLDER, sorted, NULL-terminated, the caller's. */
int nl_recipe_names(const char *folder, char ***names, struct nl_error **err);

#endif
