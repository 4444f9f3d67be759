/*
 * image-plan.c - the layers of an image and their digests: see image-plan.h.
 */
#include "image-plan.h"
#include "kernel-files.h"
#include "sha256.h"

#include <errno.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>

/* Goes into a layer's digest; raise it when the builder makes something else of the same input. */
static const struct {
    const char *layer;
    const char *format;
} formats[] = {
    {"resolved", "1"}, {"kernel", "2"},  {"user-kernel", "2"}, {"debian", "1"}, {"system", "1"},
    {"debs", "1"},     {"busybox", "1"}, {"scratch", "1"},     {"image", "1"},
};

void nl_plan_free(struct nl_plan **plan)
{
    struct nl_plan *p = *plan;

    if (!p)
        return;
    nl_recipe_free(&p->recipe);
    json_decref(p->resolved);
    free(p->debian_kernel);
    free(p->kernel);
    free(p->debian);
    free(p->system);
    free(p->debs);
    free(p->busybox);
    free(p->scratch);
    free(p->image);
    free(p);
    *plan = NULL;
}

bool nl_request_has_kernel(const struct nl_image_request *request)
{
    return request->kernel && (request->kernel->image || request->kernel->deb);
}

const char *nl_plan_disk(const struct nl_plan *plan)
{
    return plan->debs ? plan->debs : plan->system;
}

static void add_strv(struct nl_sha256 *sha, const char *name, char *const *strv)
{
    for (; strv && *strv; strv++)
        nl_sha256_text(sha, name, *strv);
}

static struct nl_sha256 *start(const char *layer)
{
    struct nl_sha256 *sha = nl_sha256_new();

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcmp(formats[i].layer, layer) != 0)
            continue;
        nl_sha256_text(sha, "layer", layer);
        nl_sha256_text(sha, "format", formats[i].format);
    }
    return sha;
}

int nl_plan_packages(const struct nl_recipe *recipe, char ***names, struct nl_error **err)
{
    size_t n = 0;
    char **list;

    for (char **p = recipe->packages; p && *p; p++)
        n++;
    list = calloc(n + 3, sizeof(char *));
    if (!list)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    n = 0;
    list[n++] = strdup(recipe->kernel_package);
    if (recipe->busybox_package)
        list[n++] = strdup(recipe->busybox_package);
    for (char **p = recipe->packages; p && *p; p++)
        list[n++] = strdup(*p);
    *names = list;
    return 0;
}

int nl_plan_asked(const struct nl_recipe *recipe, char **key, struct nl_error **err)
{
    cleanup_sha256 struct nl_sha256 *sha = start("resolved");
    NL_CLEANUP(nl_cleanup_strvp) char **names = NULL;

    if (nl_plan_packages(recipe, &names, err) < 0)
        return -1;
    nl_sha256_text(sha, "suite", recipe->suite);
    add_strv(sha, "package", names);
    return nl_sha256_end(sha, key, err);
}

/* What is kept of apt's answer, or NULL if nothing is, or it answers another question. */
static int load_resolved(const struct nl_store *store, const struct nl_recipe *recipe,
                         json_t **resolved, struct nl_error **err)
{
    cleanup_free char *path = nl_store_name(store, "resolved/%s.json", recipe->name);
    cleanup_free char *asked = NULL;
    cleanup_json json_t *json = path ? json_load_file(path, 0, NULL) : NULL;
    const char *was;

    *resolved = NULL;
    if (nl_plan_asked(recipe, &asked, err) < 0)
        return -1;
    was = json_string_value(json_object_get(json, "asked"));
    if (was && strcmp(was, asked) == 0)
        *resolved = nl_steal(&json);
    return 0;
}

static const char *version_of(const struct nl_plan *plan, const char *package)
{
    return json_string_value(json_object_get(json_object_get(plan->resolved, "versions"), package));
}

static int digest_debian_kernel(struct nl_plan *plan, struct nl_error **err)
{
    cleanup_sha256 struct nl_sha256 *sha = start("kernel");
    const char *package = NULL, *version = NULL;

    if (json_unpack(plan->resolved, "{s:{s:s, s:s}}", "kernel", "package", &package, "version",
                    &version) < 0)
        return nl_fail(err, NL_EXIT_LAB, "the store's record of what apt said is damaged");
    nl_sha256_text(sha, "suite", plan->recipe->suite);
    nl_sha256_text(sha, "package", package);
    nl_sha256_text(sha, "version", version);
    return nl_sha256_end(sha, &plan->debian_kernel, err);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void free_fts(FTS **fts)
{
    if (*fts)
        fts_close(*fts);
}

/* A folder of modules can be gigabytes, so its files count by name, size and time, not by content.
 */
static int add_tree(struct nl_sha256 *sha, const char *folder, struct nl_error **err)
{
    char *const paths[] = {(char *)folder, NULL};
    NL_CLEANUP(free_fts) FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    size_t skip = strlen(folder);
    FTSENT *entry;

    if (!fts)
        return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "cannot read %s", folder);
    while ((entry = fts_read(fts)) != NULL) {
        char facts[96];

        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS)
            return nl_fail_errno(err, NL_EXIT_REQUEST, entry->fts_errno, "cannot read %s",
                                 entry->fts_path);
        if (entry->fts_info != FTS_F && entry->fts_info != FTS_SL)
            continue;
        snprintf(facts, sizeof(facts), "%lld %lld.%09ld", (long long)entry->fts_statp->st_size,
                 (long long)entry->fts_statp->st_mtim.tv_sec, entry->fts_statp->st_mtim.tv_nsec);
        nl_sha256_text(sha, entry->fts_path + skip, facts);
    }
    return 0;
}

/* A bzImage and its modules, which have to be of the same release. */
static int add_image(struct nl_sha256 *sha, const struct nl_kernel_spec *kernel,
                     struct nl_error **err)
{
    cleanup_free char *release = NULL, *modules = NULL;

    if (nl_kernel_release(kernel->image, &release, err) < 0 ||
        nl_sha256_file(sha, "image", kernel->image, err) < 0)
        return -1;
    if (!kernel->modules)
        return 0;
    if (nl_kernel_modules(kernel->modules, release, &modules, err) < 0)
        return -1;
    return add_tree(sha, modules, err);
}

static int digest_kernel(struct nl_plan *plan, const struct nl_image_request *request,
                         struct nl_error **err)
{
    const struct nl_kernel_spec *kernel = request->kernel;
    cleanup_sha256 struct nl_sha256 *sha = start("user-kernel");

    if (!nl_request_has_kernel(request)) {
        if (kernel && kernel->modules)
            return nl_fail(err, NL_EXIT_REQUEST, "a modules folder needs its kernel image too");
        plan->kernel = strdup(plan->debian_kernel);
        return plan->kernel ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    if (kernel->image && kernel->deb)
        return nl_fail(err, NL_EXIT_REQUEST, "a kernel is an image or a .deb, not both");
    if (kernel->deb && nl_sha256_file(sha, "deb", kernel->deb, err) < 0)
        return nl_wrap(err, "kernel");
    if (kernel->image && add_image(sha, kernel, err) < 0)
        return nl_wrap(err, "kernel");
    return nl_sha256_end(sha, &plan->kernel, err);
}

static int digest_debian(struct nl_plan *plan, struct nl_error **err)
{
    const struct nl_recipe *recipe = plan->recipe;
    cleanup_sha256 struct nl_sha256 *sha = start("debian");
    char size[32];

    snprintf(size, sizeof(size), "%d", recipe->disk_mib);
    nl_sha256_text(sha, "size", size);
    nl_sha256_text(sha, "suite", recipe->suite);
    for (char **p = recipe->packages; *p; p++) {
        nl_sha256_text(sha, "package", *p);
        nl_sha256_text(sha, "version", version_of(plan, *p));
    }
    add_strv(sha, "without", recipe->without);
    add_strv(sha, "with", recipe->with);
    return nl_sha256_end(sha, &plan->debian, err);
}

static int digest_system(struct nl_plan *plan, const struct nl_store *store, struct nl_error **err)
{
    const struct nl_recipe *recipe = plan->recipe;
    cleanup_sha256 struct nl_sha256 *sha = start("system");

    nl_sha256_text(sha, "debian", plan->debian);
    nl_sha256_text(sha, "kernel", plan->kernel);
    nl_sha256_text(sha, "client-key", store->client_public);
    nl_sha256_text(sha, "host-key", store->host_key);
    add_strv(sha, "user", recipe->users);
    for (size_t i = 0; i < recipe->n_files; i++) {
        char mode[16];

        snprintf(mode, sizeof(mode), "%o", (unsigned int)recipe->files[i].mode);
        nl_sha256_text(sha, "target", recipe->files[i].target);
        nl_sha256_text(sha, "mode", mode);
        if (nl_sha256_file(sha, "content", recipe->files[i].source, err) < 0)
            return -1;
    }
    return nl_sha256_end(sha, &plan->system, err);
}

static int digest_debs(struct nl_plan *plan, char *const *debs, struct nl_error **err)
{
    cleanup_sha256 struct nl_sha256 *sha = start("debs");

    nl_sha256_text(sha, "system", plan->system);
    for (; *debs; debs++)
        if (nl_sha256_file(sha, "deb", *debs, err) < 0)
            return nl_wrap(err, "debs");
    return nl_sha256_end(sha, &plan->debs, err);
}

static int digest_disk(struct nl_plan *plan, const struct nl_store *store,
                       const struct nl_image_request *request, struct nl_error **err)
{
    bool has_debs = request->debs && request->debs[0];

    if (plan->recipe->disk_mib == 0) {
        if (has_debs)
            return nl_fail(err, NL_EXIT_REQUEST, "image %s has no disk to install packages on",
                           plan->recipe->name);
        return 0;
    }
    if (digest_debian(plan, err) < 0 || digest_system(plan, store, err) < 0)
        return -1;
    return has_debs ? digest_debs(plan, request->debs, err) : 0;
}

static int digest_small(struct nl_plan *plan, struct nl_error **err)
{
    const struct nl_recipe *recipe = plan->recipe;

    if (recipe->busybox_package) {
        cleanup_sha256 struct nl_sha256 *sha = start("busybox");

        nl_sha256_text(sha, "package", recipe->busybox_package);
        nl_sha256_text(sha, "version", version_of(plan, recipe->busybox_package));
        nl_sha256_text(sha, "path", recipe->busybox_path);
        if (nl_sha256_end(sha, &plan->busybox, err) < 0)
            return -1;
    }
    if (recipe->scratch_mib > 0) {
        cleanup_sha256 struct nl_sha256 *sha = start("scratch");
        char size[32];

        snprintf(size, sizeof(size), "%d", recipe->scratch_mib);
        nl_sha256_text(sha, "size", size);
        if (nl_sha256_end(sha, &plan->scratch, err) < 0)
            return -1;
    }
    return 0;
}

static int digest_image(struct nl_plan *plan, const struct nl_store *store, struct nl_error **err)
{
    cleanup_sha256 struct nl_sha256 *sha = start("image");

    nl_sha256_text(sha, "recipe", plan->recipe->name);
    nl_sha256_text(sha, "kernel", plan->kernel);
    nl_sha256_text(sha, "disk", nl_plan_disk(plan));
    nl_sha256_text(sha, "busybox", plan->busybox);
    nl_sha256_text(sha, "scratch", plan->scratch);
    add_strv(sha, "module", plan->recipe->initrd_modules);
    add_strv(sha, "applet", plan->recipe->busybox_applets);
    if (nl_sha256_file(sha, "agent", store->agent, err) < 0)
        return -1;
    return nl_sha256_end(sha, &plan->image, err);
}

int nl_plan_make(const struct nl_store *store, const struct nl_image_request *request,
                 struct nl_plan **result, struct nl_error **err)
{
    cleanup_plan struct nl_plan *plan = calloc(1, sizeof(*plan));

    *result = NULL;
    if (!plan)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (nl_recipe_load(store->recipes, request->recipe, &plan->recipe, err) < 0 ||
        load_resolved(store, plan->recipe, &plan->resolved, err) < 0)
        return -1;
    if (!plan->resolved)
        return 0;
    if (digest_debian_kernel(plan, err) < 0 || digest_kernel(plan, request, err) < 0 ||
        digest_disk(plan, store, request, err) < 0 || digest_small(plan, err) < 0 ||
        digest_image(plan, store, err) < 0)
        return nl_wrap(err, "image %s", request->recipe);
    *result = nl_steal(&plan);
    return 0;
}
