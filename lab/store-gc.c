/*
 * store-gc.c - which entries of the store nobody needs any more, and removing them: see image.h.
 *
 * Needed is what the recipes of today come to, what was used of late, what a run holds, and what
 * all these are made of. The store is locked against lookups and builds meanwhile.
 */
#include "dig.h"
#include "image-plan.h"
#include "rundir-guests.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define LOCK_S 2.0

struct item {
    char *name;   /* of its folder in images/: a digest */
    json_t *json; /* its image.json, or NULL */
    time_t used;
    bool kept, gone;
};

struct collection {
    const struct nl_store *store;
    struct item *items;
    size_t n;
};

static void free_collection(struct collection *collection)
{
    for (size_t i = 0; i < collection->n; i++) {
        free(collection->items[i].name);
        json_decref(collection->items[i].json);
    }
    free(collection->items);
}

int nl_store_lock(const struct nl_store *store, bool alone, nl_deadline deadline, int *lock,
                  struct nl_error **err)
{
    cleanup_free char *folder = nl_store_name(store, "images");
    cleanup_close int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot open %s/images", store->path);
    while (flock(fd, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot lock %s", folder);
        if (nl_deadline_left_ms(deadline) == 0) {
            nl_fail(err, NL_EXIT_LAB, "another nestlab is using the store %s", store->path);
            return nl_hint(err, "try again when it has its images");
        }
        if (nl_sleep(0.05, err) < 0)
            return -1;
    }
    *lock = nl_steal_fd(&fd);
    return 0;
}

static int add_item(struct collection *collection, const char *name, struct nl_error **err)
{
    cleanup_free char *folder = nl_store_name(collection->store, "images/%s", name);
    cleanup_free char *about = nl_store_name(collection->store, "images/%s/image.json", name);
    struct item *grown =
        reallocarray(collection->items, collection->n + 1, sizeof(*collection->items));
    struct stat st;

    if (grown)
        collection->items = grown;
    if (!grown || !folder || !about)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (lstat(folder, &st) < 0 || !S_ISDIR(st.st_mode))
        return 0;
    grown[collection->n] = (struct item){
        .name = strdup(name), .json = json_load_file(about, 0, NULL), .used = st.st_mtime};
    if (!grown[collection->n].name)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    collection->n++;
    return 0;
}

static int read_items(struct collection *collection, struct nl_error **err)
{
    cleanup_free char *folder = nl_store_name(collection->store, "images");
    cleanup_closedir DIR *dir = folder ? opendir(folder) : NULL;
    struct dirent *entry;

    if (!dir)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read %s/images",
                             collection->store->path);
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.' && add_item(collection, entry->d_name, err) < 0)
            return -1;
    return 0;
}

/* Does JSON hold the string NAME anywhere? An image.json names what the entry is made of. */
static bool mentions(json_t *json, const char *name)
{
    const char *key;
    json_t *value;
    size_t i;

    if (json_is_string(json))
        return strcmp(json_string_value(json), name) == 0;
    json_array_foreach(json, i, value)
    {
        if (mentions(value, name))
            return true;
    }
    json_object_foreach(json, key, value)
    {
        if (mentions(value, name))
            return true;
    }
    return false;
}

static void keep(struct collection *collection, const char *name)
{
    for (size_t i = 0; name && i < collection->n; i++)
        if (strcmp(collection->items[i].name, name) == 0)
            collection->items[i].kept = true;
}

static int keep_plans(struct collection *collection, struct nl_error **err)
{
    cleanup_strv char **recipes = NULL;

    if (nl_recipe_names(collection->store->recipes, &recipes, err) < 0)
        return -1;
    for (char **recipe = recipes; *recipe; recipe++) {
        struct nl_image_request request = {.recipe = *recipe};
        cleanup_plan struct nl_plan *plan = NULL;

        if (nl_plan_make(collection->store, &request, &plan, err) < 0)
            return -1;
        /* A recipe that apt was never asked about has no images. */
        if (!plan)
            continue;
        const char *const parts[] = {plan->image,   plan->kernel, plan->debian_kernel,
                                     plan->debian,  plan->system, plan->debs,
                                     plan->busybox, plan->scratch};
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
            keep(collection, parts[i]);
    }
    return 0;
}

/* A run holds a lock on the folder of each image that it uses. */
static bool is_held(const struct collection *collection, const struct item *item)
{
    cleanup_free char *folder = nl_store_name(collection->store, "images/%s", item->name);
    cleanup_close int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0;
}

/* What is kept needs what it is made of, and that what it is made of. */
static void keep_needed(struct collection *collection)
{
    bool more = true;

    while (more) {
        more = false;
        for (size_t i = 0; i < collection->n; i++)
            for (size_t k = 0; collection->items[i].kept && k < collection->n; k++) {
                struct item *other = &collection->items[k];

                if (other->kept || !mentions(collection->items[i].json, other->name))
                    continue;
                other->kept = true;
                more = true;
            }
    }
}

/* To be removed, and nothing that is still there is made of it. */
static bool is_next(const struct collection *collection, size_t index)
{
    const struct item *item = &collection->items[index];

    if (item->kept || item->gone)
        return false;
    for (size_t i = 0; i < collection->n; i++)
        if (i != index && !collection->items[i].gone &&
            mentions(collection->items[i].json, item->name))
            return false;
    return true;
}

/* First out of images/, so that what is half removed is no entry; tmp/ is cleaned by every build.
 */
static int remove_item(const struct collection *collection, const struct item *item,
                       struct nl_error **err)
{
    cleanup_free char *from = nl_store_name(collection->store, "images/%s", item->name);
    cleanup_free char *to = nl_store_name(collection->store, "tmp/%s.gc", item->name);

    if (!from || !to)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (rename(from, to) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot move %s", from);
    return nl_remove_tree(to, err);
}

static int take_out(struct collection *collection, struct item *item, bool dry_run, json_t *removed,
                    struct nl_error **err)
{
    cleanup_free char *folder = nl_store_name(collection->store, "images/%s", item->name);
    long long bytes = folder ? nl_rundir_tree(folder, false, err) : -1;

    item->gone = true;
    if (bytes < 0 || (!dry_run && remove_item(collection, item, err) < 0))
        return -1;
    json_array_append_new(removed,
                          json_pack("{s:s, s:s, s:f, s:I}", "image", item->name, "what",
                                    nl_dig_string(item->json, "recipe",
                                                  nl_dig_string(item->json, "layer", "unfinished")),
                                    "unused_days", difftime(time(NULL), item->used) / 86400,
                                    "bytes", (json_int_t)bytes));
    return 0;
}

int nl_store_collect(struct nl_store *store, double older_s, bool dry_run, json_t **removed,
                     struct nl_error **err)
{
    NL_CLEANUP(free_collection) struct collection collection = {.store = store};
    cleanup_json json_t *list = json_array();
    cleanup_close int lock = -1;
    bool more = true;
    int rc = 0;

    if (nl_store_lock(store, true, nl_deadline_in(LOCK_S), &lock, err) < 0 ||
        read_items(&collection, err) < 0 || keep_plans(&collection, err) < 0)
        return -1;
    for (size_t i = 0; i < collection.n; i++)
        if (difftime(time(NULL), collection.items[i].used) < older_s ||
            is_held(&collection, &collection.items[i]))
            collection.items[i].kept = true;
    keep_needed(&collection);
    while (more && rc == 0) {
        more = false;
        for (size_t i = 0; i < collection.n && rc == 0; i++) {
            if (!is_next(&collection, i))
                continue;
            more = true;
            rc = take_out(&collection, &collection.items[i], dry_run, list, err);
        }
    }
    *removed = nl_steal(&list);
    return rc;
}
