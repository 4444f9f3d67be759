/*
 * recipe.c - reading recipes: see recipe.h.
 */
#include "recipe.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define SUFFIX ".json"
#define SCHEMA "recipe.schema.json"

void nl_recipe_free(struct nl_recipe **recipe)
{
    struct nl_recipe *r = *recipe;

    if (!r)
        return;
    free(r->name);
    free(r->suite);
    free(r->kernel_package);
    nl_strv_free(r->initrd_modules);
    free(r->busybox_package);
    free(r->busybox_path);
    nl_strv_free(r->busybox_applets);
    nl_strv_free(r->packages);
    nl_strv_free(r->without);
    nl_strv_free(r->with);
    nl_strv_free(r->users);
    for (size_t i = 0; i < r->n_files; i++) {
        free(r->files[i].source);
        free(r->files[i].target);
    }
    free(r->files);
    free(r);
    *recipe = NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int nl_recipe_names(const char *folder, char ***names, struct nl_error **err)
{
    cleanup_closedir DIR *dir = opendir(folder);
    NL_CLEANUP(nl_cleanup_strvp) char **list = calloc(1, sizeof(char *));
    struct dirent *item;
    size_t n = 0;

    if (!dir)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read the recipes in %s", folder);
    while (list && (item = readdir(dir)) != NULL) {
        size_t length = strlen(item->d_name);
        char **longer;

        if (item->d_name[0] == '.' || length <= strlen(SUFFIX) ||
            strcmp(item->d_name + length - strlen(SUFFIX), SUFFIX) != 0 ||
            strcmp(item->d_name, SCHEMA) == 0)
            continue;
        longer = realloc(list, (n + 2) * sizeof(char *));
        if (!longer)
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
        list = longer;
        list[n] = strndup(item->d_name, length - strlen(SUFFIX));
        list[++n] = NULL;
    }
    if (!list)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    qsort(list, n, sizeof(char *), compare_names);
    *names = nl_steal(&list);
    return 0;
}

/* An array of non-empty strings as a vector; NULL when ARRAY is NULL. */
static int to_strv(const json_t *array, const char *what, char ***strv, struct nl_error **err)
{
    NL_CLEANUP(nl_cleanup_strvp) char **list = NULL;
    json_t *item;
    size_t i;

    if (!array)
        return 0;
    list = calloc(json_array_size(array) + 1, sizeof(char *));
    if (!list)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (!json_is_array(array))
        return nl_fail(err, NL_EXIT_REQUEST, "%s: must be an array of strings", what);
    json_array_foreach(array, i, item)
    {
        const char *text = json_string_value(item);

        if (!text || !*text)
            return nl_fail(err, NL_EXIT_REQUEST, "%s[%zu]: must be a string, not empty", what, i);
        list[i] = strdup(text);
        if (!list[i])
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    *strv = nl_steal(&list);
    return 0;
}

static int unpack_file(struct nl_recipe_file *file, const char *folder, json_t *json,
                       struct nl_error **err)
{
    const char *source, *target, *mode = "0644";
    json_error_t why;
    char *end;

    if (json_unpack_ex(json, &why, 0, "{s:s, s:s, s?s !}", "source", &source, "target", &target,
                       "mode", &mode) < 0)
        return nl_fail(err, NL_EXIT_REQUEST, "disk.files: %s", why.text);
    if (*target != '/')
        return nl_fail(err, NL_EXIT_REQUEST, "disk.files: target %s must be an absolute path",
                       target);
    file->mode = (int)strtol(mode, &end, 8);
    if (*end || file->mode < 0 || file->mode > 07777)
        return nl_fail(err, NL_EXIT_REQUEST, "disk.files: mode %s is not an octal mode", mode);
    file->target = strdup(target);
    if (asprintf(&file->source, "%s/%s", folder, source) < 0)
        file->source = NULL;
    if (!file->source || !file->target)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (access(file->source, R_OK) < 0)
        return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "disk.files: %s", file->source);
    return 0;
}

static int unpack_files(struct nl_recipe *recipe, const char *folder, const json_t *files,
                        struct nl_error **err)
{
    json_t *item;
    size_t i;

    if (!files)
        return 0;
    if (!json_is_array(files))
        return nl_fail(err, NL_EXIT_REQUEST, "disk.files: must be an array");
    recipe->files = calloc(json_array_size(files) + 1, sizeof(*recipe->files));
    if (!recipe->files)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    recipe->n_files = json_array_size(files);
    json_array_foreach(files, i,
                       item) if (unpack_file(&recipe->files[i], folder, item, err) < 0) return -1;
    return 0;
}

static int unpack_disk(struct nl_recipe *recipe, const char *folder, json_t *disk,
                       struct nl_error **err)
{
    json_t *packages = NULL, *without = NULL, *with = NULL, *files = NULL;
    json_t *users = NULL;
    cleanup_json json_t *none = json_array();
    json_error_t why;

    if (!disk)
        return 0;
    if (json_unpack_ex(disk, &why, 0, "{s:i, s:o, s?o, s?o, s?o, s?o !}", "size_mib",
                       &recipe->disk_mib, "packages", &packages, "without", &without, "with", &with,
                       "users", &users, "files", &files) < 0)
        return nl_fail(err, NL_EXIT_REQUEST, "disk: %s", why.text);
    if (recipe->disk_mib < 512 || recipe->disk_mib > 1024 * 1024)
        return nl_fail(err, NL_EXIT_REQUEST, "disk.size_mib: must be 512 to 1048576");
    if (to_strv(packages, "disk.packages", &recipe->packages, err) < 0 ||
        to_strv(without ? without : none, "disk.without", &recipe->without, err) < 0 ||
        to_strv(with ? with : none, "disk.with", &recipe->with, err) < 0 ||
        to_strv(users ? users : none, "disk.users", &recipe->users, err) < 0)
        return -1;
    return unpack_files(recipe, folder, files, err);
}

static int unpack_initramfs(struct nl_recipe *recipe, json_t *initramfs, struct nl_error **err)
{
    json_t *modules = NULL, *busybox = NULL, *applets = NULL;
    const char *package = NULL, *path = NULL;
    json_error_t why;

    if (json_unpack_ex(initramfs, &why, 0, "{s:o, s?o !}", "modules", &modules, "busybox",
                       &busybox) < 0)
        return nl_fail(err, NL_EXIT_REQUEST, "initramfs: %s", why.text);
    if (to_strv(modules, "initramfs.modules", &recipe->initrd_modules, err) < 0)
        return -1;
    if (!busybox)
        return 0;
    if (json_unpack_ex(busybox, &why, 0, "{s:s, s:s, s:o !}", "package", &package, "path", &path,
                       "applets", &applets) < 0)
        return nl_fail(err, NL_EXIT_REQUEST, "initramfs.busybox: %s", why.text);
    recipe->busybox_package = strdup(package);
    recipe->busybox_path = strdup(path);
    if (!recipe->busybox_package || !recipe->busybox_path)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    return to_strv(applets, "initramfs.busybox.applets", &recipe->busybox_applets, err);
}

static int unpack(struct nl_recipe *recipe, const char *folder, json_t *json, struct nl_error **err)
{
    const char *about, *suite, *package, *schema;
    json_t *initramfs, *disk = NULL;
    json_error_t why;

    if (json_unpack_ex(json, &why, 0, "{s?s, s:s, s:s, s:{s:s !}, s:o, s?o, s?{s:i !} !}",
                       "$schema", &schema, "about", &about, "suite", &suite, "kernel", "package",
                       &package, "initramfs", &initramfs, "disk", &disk, "scratch", "size_mib",
                       &recipe->scratch_mib) < 0)
        return nl_fail(err, NL_EXIT_REQUEST, "%s", why.text);
    recipe->suite = strdup(suite);
    recipe->kernel_package = strdup(package);
    if (!recipe->suite || !recipe->kernel_package)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (recipe->scratch_mib < 0 || recipe->scratch_mib > 1024 * 1024)
        return nl_fail(err, NL_EXIT_REQUEST, "scratch.size_mib: must be 0 to 1048576");
    if (unpack_initramfs(recipe, initramfs, err) < 0)
        return -1;
    return unpack_disk(recipe, folder, disk, err);
}

static int fail_unknown(const char *folder, const char *name, struct nl_error **err)
{
    NL_CLEANUP(nl_cleanup_strvp) char **names = NULL;
    cleanup_free char *known = NULL;
    size_t size = 0;
    FILE *list;

    if (nl_recipe_names(folder, &names, err) < 0)
        return -1;
    nl_fail(err, NL_EXIT_REQUEST, "there is no image called '%s'", name);
    list = open_memstream(&known, &size);
    if (!list)
        return -1;
    for (size_t i = 0; names && names[i]; i++)
        fprintf(list, "%s%s", i ? ", " : "", names[i]);
    fclose(list);
    return nl_hint(err, "known images: %s", known);
}

int nl_recipe_load(const char *folder, const char *name, struct nl_recipe **result,
                   struct nl_error **err)
{
    cleanup_recipe struct nl_recipe *recipe = calloc(1, sizeof(*recipe));
    cleanup_free char *path = NULL;
    cleanup_json json_t *json = NULL;
    json_error_t why;

    if (!recipe || asprintf(&path, "%s/%s" SUFFIX, folder, name) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (strchr(name, '/') || *name == '.' || access(path, F_OK) < 0)
        return fail_unknown(folder, name, err);
    json = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    if (!json)
        return nl_fail(err, NL_EXIT_REQUEST, "%s:%d: %s", path, why.line, why.text);
    recipe->name = strdup(name);
    if (!recipe->name)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (unpack(recipe, folder, json, err) < 0)
        return nl_wrap(err, "%s", path);
    *result = nl_steal(&recipe);
    return 0;
}
