/*
 * builder-initrd.c - the last layer: the initramfs with the agent as init, and the finished image's
 * folder; and the two small layers, busybox and the scratch disk.
 */
#include "builder.h"
#include "modules.h"
#include "progress.h"

#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define TOOL_TIMEOUT_S 120.0

static void free_writer(struct archive **archive)
{
    archive_write_free(*archive);
}

/* An entry of the initramfs; PATH without a leading slash. DATA is the content, or a link's target.
 */
static int add(struct archive *cpio, const char *path, mode_t mode, const char *data, size_t length,
               struct nl_error **err)
{
    struct archive_entry *entry = archive_entry_new();
    int rc;

    if (!entry)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    archive_entry_set_pathname(entry, path);
    archive_entry_set_mode(entry, mode);
    if (S_ISDIR(mode))
        archive_entry_set_nlink(entry, 2);
    if (S_ISCHR(mode))
        archive_entry_set_rdev(entry, makedev(5, 1)); /* the console, the only device made here */
    if (S_ISLNK(mode))
        archive_entry_set_symlink(entry, data);
    archive_entry_set_size(entry, S_ISREG(mode) ? (la_int64_t)length : 0);
    rc = archive_write_header(cpio, entry);
    if (rc >= ARCHIVE_WARN && S_ISREG(mode) &&
        archive_write_data(cpio, data, length) != (la_ssize_t)length)
        rc = ARCHIVE_FATAL;
    archive_entry_free(entry);
    return rc < ARCHIVE_WARN ? builder_archive_fail(cpio, path, err) : 0;
}

/* The file at SOURCE, decompressed if it is compressed. */
static int add_file(struct archive *cpio, const char *path, mode_t mode, const char *source,
                    struct nl_error **err)
{
    cleanup_free char *bytes = NULL;
    size_t length = 0;

    if (builder_read_decompressed(source, &bytes, &length, err) < 0)
        return -1;
    return add(cpio, path, S_IFREG | mode, bytes, length, err);
}

/* "lib/modules/NAME.ko" for a module file of any compression. */
static char *module_target(const char *path)
{
    const char *base = strrchr(path, '/');
    const char *end;

    base = base ? base + 1 : path;
    end = strstr(base, ".ko");
    return builder_text("lib/modules/%.*s.ko", (int)(end ? end - base : (long)strlen(base)), base);
}

static int add_modules(struct archive *cpio, const char *folder, char *const *names,
                       struct nl_error **err)
{
    NL_CLEANUP(nl_cleanup_strvp) char **paths = NULL;
    cleanup_free char *list = NULL;
    size_t size = 0;
    FILE *out;

    if (folder && nl_modules_resolve(folder, names, &paths, err) < 0)
        return -1;
    out = open_memstream(&list, &size);
    if (!out)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    for (char **path = paths; path && *path; path++) {
        cleanup_free char *source = builder_text("%s/%s", folder, *path);
        cleanup_free char *target = module_target(*path);

        if (!source || !target || add_file(cpio, target, 0644, source, err) < 0) {
            fclose(out);
            return *err ? -1 : nl_fail(err, NL_EXIT_LAB, "out of memory");
        }
        fprintf(out, "/%s\n", target);
    }
    fclose(out);
    return add(cpio, "etc/nestlab/modules", S_IFREG | 0644, list, size, err);
}

static int add_busybox(struct archive *cpio, const struct builder *builder, struct nl_error **err)
{
    cleanup_free char *source =
        nl_store_name(builder->store, "images/%s/busybox", builder->plan->busybox);

    if (!source)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (add_file(cpio, "bin/busybox", 0755, source, err) < 0)
        return -1;
    for (char **name = builder->plan->recipe->busybox_applets; *name; name++) {
        cleanup_free char *path = builder_text("bin/%s", *name);

        if (!path || add(cpio, path, S_IFLNK | 0777, "busybox", 0, err) < 0)
            return -1;
    }
    return 0;
}

/* Not compressed: in a nested guest copying is cheaper than decompressing. */
static int write_initrd(const struct builder *builder, const char *path, const char *modules,
                        struct nl_error **err)
{
    static const char *const folders[] = {"bin", "dev",         "etc",  "etc/nestlab",
                                          "lib", "lib/modules", "proc", "root",
                                          "run", "sys",         "tmp"};
    NL_CLEANUP(free_writer) struct archive *cpio = archive_write_new();

    if (!cpio)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    archive_write_set_format_cpio_newc(cpio);
    if (archive_write_open_filename(cpio, path) != ARCHIVE_OK)
        return builder_archive_fail(cpio, path, err);
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (add(cpio, folders[i], S_IFDIR | 0755, NULL, 0, err) < 0)
            return -1;
    if (add(cpio, "dev/console", S_IFCHR | 0600, NULL, 0, err) < 0 ||
        add_file(cpio, "init", 0755, builder->store->agent, err) < 0 ||
        add_modules(cpio, modules, builder->plan->recipe->initrd_modules, err) < 0)
        return -1;
    if (builder->plan->busybox && add_busybox(cpio, builder, err) < 0)
        return -1;
    return archive_write_close(cpio) < ARCHIVE_WARN ? builder_archive_fail(cpio, path, err) : 0;
}

/* FOLDER/NAME, a link to the file of that name in the entry DIGEST: relative, so that a store
 * moves. */
static int link_file(const struct nl_store *store, const char *folder, const char *digest,
                     const char *name, const char *as, struct nl_error **err)
{
    cleanup_free char *source = nl_store_name(store, "images/%s/%s", digest, name);
    cleanup_free char *target = builder_text("../%s/%s", digest, name);
    cleanup_free char *link = builder_text("%s/%s", folder, as);

    if (!source || !target || !link)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (access(source, F_OK) < 0)
        return 0;
    if (symlink(target, link) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make %s", link);
    return 0;
}

static json_t *load_about(const struct nl_store *store, const char *digest, const char *name)
{
    cleanup_free char *path = nl_store_name(store, "images/%s/%s", digest, name);

    return path ? json_load_file(path, 0, NULL) : NULL;
}

static int write_manifest(const struct builder *builder, const char *folder, const json_t *kernel,
                          struct nl_error **err)
{
    const struct nl_plan *plan = builder->plan;
    const char *disk = nl_plan_disk(plan);
    cleanup_json json_t *manifest = disk ? load_about(builder->store, disk, "manifest.json") : NULL;
    const char *package = json_string_value(json_object_get(kernel, "package"));

    if (!manifest)
        manifest = json_object();
    if (package)
        json_object_set(manifest, package, json_object_get(kernel, "version"));
    if (plan->recipe->busybox_package)
        json_object_set(manifest, plan->recipe->busybox_package,
                        json_object_get(json_object_get(plan->resolved, "versions"),
                                        plan->recipe->busybox_package));
    return builder_write_json(folder, "manifest.json", json_incref(manifest), err);
}

static int link_parts(const struct builder *builder, const char *folder, struct nl_error **err)
{
    const struct nl_plan *plan = builder->plan;
    const struct nl_store *store = builder->store;
    const char *disk = nl_plan_disk(plan);

    if (link_file(store, folder, plan->kernel, "kernel", "kernel", err) < 0 ||
        link_file(store, folder, plan->kernel, "vmlinux", "vmlinux", err) < 0)
        return -1;
    if (disk && link_file(store, folder, disk, "disk.qcow2", "disk.qcow2", err) < 0)
        return -1;
    if (plan->scratch &&
        link_file(store, folder, plan->scratch, "disk.qcow2", "scratch.qcow2", err) < 0)
        return -1;
    return 0;
}

int builder_make_image(struct builder *builder, const char *folder, const char *log,
                       struct nl_error **err)
{
    const struct nl_plan *plan = builder->plan;
    cleanup_json json_t *kernel = load_about(builder->store, plan->kernel, "image.json");
    const char *release = json_string_value(json_object_get(kernel, "kernel_release"));
    cleanup_free char *modules = NULL, *initrd = builder_text("%s/initrd", folder);
    struct stat st;

    (void)log;
    if (!release || !initrd)
        return nl_fail(err, NL_EXIT_LAB, "the store's kernel layer %s is damaged", plan->kernel);
    if (json_is_true(json_object_get(kernel, "modules")))
        modules = nl_store_name(builder->store, "images/%s/modules/lib/modules/%s", plan->kernel,
                                release);
    if (write_initrd(builder, initrd, modules, err) < 0 || link_parts(builder, folder, err) < 0 ||
        write_manifest(builder, folder, kernel, err) < 0)
        return -1;
    if (stat(initrd, &st) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "%s", initrd);
    return builder_write_json(
        folder, "image.json",
        json_pack("{s:s, s:s, s:s, s:s, s:I, s:{s:s, s:s?, s:s?, s:s?, s:s?, s:s?}}", "layer",
                  "image", "recipe", plan->recipe->name, "digest", plan->image, "kernel_release",
                  release, "initrd_bytes", (json_int_t)st.st_size, "layers", "kernel", plan->kernel,
                  "debian", plan->debian, "system", plan->system, "debs", plan->debs, "busybox",
                  plan->busybox, "scratch", plan->scratch),
        err);
}

/* Where the one file that is wanted from a package goes. */
struct wanted_file {
    const char *path;
    const char *target;
};

static char *wanted_file(const char *path, void *data)
{
    const struct wanted_file *file = data;

    return strcmp(path, file->path) == 0 ? strdup(file->target) : NULL;
}

int builder_make_busybox(struct builder *builder, const char *folder, const char *log,
                         struct nl_error **err)
{
    const struct nl_recipe *recipe = builder->plan->recipe;
    const char *version = json_string_value(json_object_get(
        json_object_get(builder->plan->resolved, "versions"), recipe->busybox_package));
    cleanup_free char *target = builder_text("%s/busybox", folder);
    struct wanted_file file = {recipe->busybox_path, target};
    cleanup_free char *deb = NULL;

    if (!target || !version)
        return nl_fail(err, NL_EXIT_LAB, "apt did not say which busybox there is");
    if (builder_download(builder, recipe->busybox_package, version, folder, log, &deb, err) < 0 ||
        builder_unpack_deb(deb, wanted_file, &file, err) < 0)
        return -1;
    unlink(deb);
    if (access(target, F_OK) < 0)
        return nl_fail(err, NL_EXIT_REQUEST, "%s: there is no %s in it", recipe->busybox_package,
                       recipe->busybox_path);
    return builder_write_json(folder, "image.json",
                              json_pack("{s:s, s:s, s:s}", "layer", "busybox", "package",
                                        recipe->busybox_package, "version", version),
                              err);
}

int builder_make_scratch(struct builder *builder, const char *folder, const char *log,
                         struct nl_error **err)
{
    cleanup_free char *raw = builder_text("%s/disk.raw", folder);
    cleanup_free char *disk = builder_text("%s/disk.qcow2", folder);
    cleanup_free char *size = builder_text("%dM", builder->plan->recipe->scratch_mib);
    /* The kernel would otherwise go on initializing it while a benchmark measures. */
    const char *mkfs[] = {"mke2fs", "-q",
                          "-t",     "ext4",
                          "-L",     "nestlab-scratch",
                          "-E",     "lazy_itable_init=0,lazy_journal_init=0",
                          raw,      size,
                          NULL};
    const char *convert[] = {"qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, disk, NULL};
    struct nl_process make = {.argv = mkfs, .log = log, .timeout = TOOL_TIMEOUT_S};
    struct nl_process pack = {.argv = convert, .log = log, .timeout = TOOL_TIMEOUT_S};

    if (!raw || !disk || !size)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (nl_process_run(&make, NULL, err) < 0 || nl_process_run(&pack, NULL, err) < 0)
        return -1;
    unlink(raw);
    return builder_write_json(folder, "image.json", json_pack("{s:s}", "layer", "scratch"), err);
}
