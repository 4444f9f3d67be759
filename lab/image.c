/*
 * image.c - the image store: see image.h. What is missing is made by nestlab-builder, a program of
 * its own, so that the runner needs neither libguestfs nor mmdebstrap.
 */
#include "image.h"
#include "folders.h"
#include "image-plan.h"
#include "paths.h"
#include "process.h"
#include "progress.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define BUILD_TIMEOUT_S 3600.0
#define BUILD_GRACE_S 9.0
#define ANSWER_LIMIT 65536
/* Removing images takes no longer. */
#define LOCK_S 60.0

char *nl_store_name(const struct nl_store *store, const char *format, ...)
{
    cleanup_free char *name = NULL;
    char *path = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&name, format, args) < 0)
        name = NULL;
    va_end(args);
    if (!name || asprintf(&path, "%s/%s", store->path, name) < 0)
        return NULL;
    return path;
}

int nl_store_find_program(const char *name, char **path, struct nl_error **err)
{
    static const char *const beside[] = {".", "..", "../..", "../libexec/nestlab"};
    char binary[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", binary, sizeof(binary) - 1);
    char *slash;

    if (n < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read /proc/self/exe");
    binary[n] = '\0';
    slash = strrchr(binary, '/');
    *(slash ? slash : binary) = '\0';
    for (size_t i = 0; i <= sizeof(beside) / sizeof(beside[0]); i++) {
        bool last = i == sizeof(beside) / sizeof(beside[0]);
        cleanup_free char *candidate = NULL;

        if (asprintf(&candidate, "%s/%s/%s", last ? NL_PREFIX : binary,
                     last ? "libexec/nestlab" : beside[i], name) < 0)
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
        if (access(candidate, X_OK) == 0) {
            *path = realpath(candidate, NULL);
            return *path ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
        }
    }
    nl_fail(err, NL_EXIT_LAB, "cannot find the program %s", name);
    return nl_hint(err, "build it with `make`; it is looked for beside %s and in %s", binary,
                   NL_PREFIX "/libexec/nestlab");
}

static int make_folders(const char *path, struct nl_error **err)
{
    if (nl_make_folders(path, NL_EXIT_LAB, err) < 0)
        return nl_hint(err, "choose another place for images with --store DIR");
    return 0;
}

int nl_store_default_path(char **path, struct nl_error **err)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int n;

    if (cache && *cache == '/') {
        n = asprintf(path, "%s/nestlab", cache);
    } else if (home && *home == '/') {
        n = asprintf(path, "%s/.cache/nestlab", home);
    } else {
        nl_fail(err, NL_EXIT_REQUEST, "there is no place for images: HOME is not set");
        return nl_hint(err, "set HOME, or give --store DIR");
    }
    return n < 0 ? nl_fail(err, NL_EXIT_LAB, "out of memory") : 0;
}

static int prepare(struct nl_store *store, struct nl_error **err)
{
    static const char *const folders[] = {"images", "resolved", "tmp", "logs"};

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        cleanup_free char *folder = nl_store_name(store, "%s", folders[i]);

        if (!folder)
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
        if (make_folders(folder, err) < 0)
            return -1;
    }
    return nl_store_load_keys(store, err);
}

/* GIVEN made absolute. */
static int absolute(const char *given, char **path, struct nl_error **err)
{
    *path = realpath(given, NULL);
    return *path ? 0 : nl_fail_errno(err, NL_EXIT_REQUEST, errno, "%s", given);
}

int nl_store_open(const char *path, const char *recipes, const char *agent,
                  struct nl_store **result, struct nl_error **err)
{
    cleanup_store struct nl_store *store = calloc(1, sizeof(*store));
    cleanup_free char *where = NULL;

    if (!store)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (path)
        where = strdup(path);
    else if (nl_store_default_path(&where, err) < 0)
        return -1;
    if (!where)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (make_folders(where, err) < 0 || absolute(where, &store->path, err) < 0)
        return -1;
    if ((recipes ? absolute(recipes, &store->recipes, err)
                 : nl_data_path("images", &store->recipes, err)) < 0)
        return -1;
    if ((agent ? absolute(agent, &store->agent, err)
               : nl_store_find_program("nestlab-agent", &store->agent, err)) < 0)
        return -1;
    if (prepare(store, err) < 0)
        return nl_wrap(err, "store %s", store->path);
    *result = nl_steal(&store);
    return 0;
}

void nl_store_close(struct nl_store **store)
{
    struct nl_store *s = *store;

    if (!s)
        return;
    free(s->path);
    free(s->recipes);
    free(s->agent);
    free(s->client_key);
    free(s->client_public);
    free(s->host_key_file);
    free(s->host_key);
    free(s);
    *store = NULL;
}

const char *nl_store_path(const struct nl_store *store)
{
    return store->path;
}

const char *nl_store_agent(const struct nl_store *store)
{
    return store->agent;
}

const char *nl_store_client_key(const struct nl_store *store)
{
    return store->client_key;
}

const char *nl_store_host_key(const struct nl_store *store)
{
    return store->host_key;
}

int nl_store_recipes(struct nl_store *store, char ***names, struct nl_error **err)
{
    return nl_recipe_names(store->recipes, names, err);
}

void nl_image_free(struct nl_image **image)
{
    struct nl_image *i = *image;

    if (!i)
        return;
    free(i->recipe);
    free(i->digest);
    free(i->disk);
    free(i->kernel);
    free(i->vmlinux);
    free(i->initrd);
    free(i->scratch);
    free(i->kernel_release);
    json_decref(i->about);
    nl_cleanup_closep(&i->hold);
    free(i);
    *image = NULL;
}

/* The absolute path of the image's file NAME (links to other entries followed); *PATH stays NULL if
   there is none and it is not REQUIRED. */
static int find_file(const struct nl_store *store, const char *digest, const char *name,
                     bool required, char **path, struct nl_error **err)
{
    cleanup_free char *link = nl_store_name(store, "images/%s/%s", digest, name);
    struct stat st;

    if (!link)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (!required && lstat(link, &st) < 0 && errno == ENOENT)
        return 0;
    *path = realpath(link, NULL);
    if (*path)
        return 0;
    nl_fail_errno(err, NL_EXIT_LAB, errno, "%s", link);
    return nl_hint(err, "the store is damaged; remove %s/images/%s to have it made again",
                   store->path, digest);
}

/* It is in use from now on, and as long as this process holds the descriptor: for
   nl_store_collect(). In somebody else's store the time of its use cannot be set. */
static int hold(const struct nl_store *store, const char *digest)
{
    cleanup_free char *folder = nl_store_name(store, "images/%s", digest);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0 && (futimens(fd, NULL) == 0 || errno == EPERM || errno == EACCES))
        flock(fd, LOCK_SH | LOCK_NB);
    return fd;
}

static int load_image(const struct nl_store *store, const char *digest, struct nl_image **result,
                      struct nl_error **err)
{
    cleanup_image struct nl_image *image = calloc(1, sizeof(*image));
    cleanup_free char *about = nl_store_name(store, "images/%s/image.json", digest);
    const char *recipe, *release;
    json_error_t why;

    if (!image || !about)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    image->hold = -1;
    image->about = json_load_file(about, 0, &why);
    if (!image->about || json_unpack_ex(image->about, &why, 0, "{s:s, s:s}", "recipe", &recipe,
                                        "kernel_release", &release) < 0) {
        nl_fail(err, NL_EXIT_LAB, "%s: %s", about, why.text);
        return nl_hint(err, "the store is damaged; remove that folder to have it made again");
    }
    image->hold = hold(store, digest);
    image->recipe = strdup(recipe);
    image->digest = strdup(digest);
    image->kernel_release = strdup(release);
    if (!image->recipe || !image->digest || !image->kernel_release)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (find_file(store, digest, "disk.qcow2", false, &image->disk, err) < 0 ||
        find_file(store, digest, "scratch.qcow2", false, &image->scratch, err) < 0 ||
        find_file(store, digest, "vmlinux", false, &image->vmlinux, err) < 0 ||
        find_file(store, digest, "kernel", true, &image->kernel, err) < 0 ||
        find_file(store, digest, "initrd", true, &image->initrd, err) < 0)
        return -1;
    *result = nl_steal(&image);
    return 0;
}

/* The request as the builder reads it. */
static char *request_text(const struct nl_image_request *request, bool refresh)
{
    const struct nl_kernel_spec none = {0};
    const struct nl_kernel_spec *kernel = request->kernel ? request->kernel : &none;
    cleanup_json json_t *debs = json_array();
    cleanup_json json_t *json = NULL;

    for (char *const *d = request->debs; d && *d; d++)
        json_array_append_new(debs, json_string(*d));
    json = json_pack("{s:s, s:b, s:b, s:O, s:{s:s*, s:s*, s:s*}}", "recipe", request->recipe,
                     "refresh", refresh, "quiet", nl_progress_is_quiet(), "debs", debs, "kernel",
                     "image", kernel->image, "modules", kernel->modules, "deb", kernel->deb);
    return json ? json_dumps(json, JSON_COMPACT) : NULL;
}

static double patience(const struct nl_image_request *request)
{
    double left = request->deadline ? nl_deadline_left_ms(request->deadline) / 1000.0 : 0;

    if (!request->deadline || left > BUILD_TIMEOUT_S)
        return BUILD_TIMEOUT_S;
    /* 0 would mean the usual. */
    return left > 0.1 ? left : 0.1;
}

/* Let the builder make it; DIGEST gets the image's digest. */
static int ask_builder(const struct nl_store *store, const struct nl_image_request *request,
                       bool refresh, char **digest, struct nl_error **err)
{
    cleanup_free char *builder = NULL, *text = request_text(request, refresh), *answer = NULL;
    const char *said = NULL, *message = NULL, *hint = NULL;
    cleanup_json json_t *json = NULL;
    int status = NL_EXIT_LAB;

    if (!text)
        return nl_fail(err, NL_EXIT_LAB, "cannot put the request for an image into words");
    if (nl_store_find_program("nestlab-builder", &builder, err) < 0)
        return -1;

    const char *argv[] = {builder,        "--store", store->path,  "--recipes",
                          store->recipes, "--agent", store->agent, NULL};
    struct nl_process process = {.argv = argv,
                                 .input = text,
                                 .output_limit = ANSWER_LIMIT,
                                 .timeout = patience(request),
                                 .grace = BUILD_GRACE_S,
                                 .inherit_error = true};

    if (nl_process_run(&process, &answer, err) < 0)
        return -1;
    json = json_loads(answer, 0, NULL);
    if (json_unpack(json, "{s?s, s?s, s?s, s?i}", "digest", &said, "message", &message, "hint",
                    &hint, "status", &status) < 0 ||
        (!said && !message))
        return nl_fail(err, NL_EXIT_LAB, "nestlab-builder gave no answer");
    if (message) {
        nl_fail(err, (enum nl_exit)status, "%s", message);
        return hint ? nl_hint(err, "%s", hint) : -1;
    }
    *digest = strdup(said);
    return *digest ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
}

int nl_image_ensure(struct nl_store *store, const struct nl_image_request *request, bool refresh,
                    struct nl_image **image, bool *built, struct nl_error **err)
{
    cleanup_plan struct nl_plan *plan = NULL;
    cleanup_free char *digest = NULL;
    cleanup_close int lock = -1;
    bool there;

    if (nl_store_lock(store, false, nl_deadline_in(LOCK_S), &lock, err) < 0 ||
        nl_plan_make(store, request, &plan, err) < 0)
        return -1;
    there = plan && nl_entry_exists(store, plan->image);
    if (built)
        *built = false;
    if (there && !refresh)
        return load_image(store, plan->image, image, err);
    if (nl_store_clean(store, err) < 0)
        return -1;
    if (ask_builder(store, request, refresh, &digest, err) < 0 || !digest)
        return nl_wrap(err, "image %s", request->recipe);
    /* apt may have answered what it answered before. */
    if (built)
        *built = !there || strcmp(plan->image, digest) != 0;
    return load_image(store, digest, image, err);
}
