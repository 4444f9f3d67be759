/*
 * builder-kernel.c - the kernel layer: kernel, vmlinux and modules/lib/modules/RELEASE, from a
 * Debian package or from a user's build.
 */
#include "builder.h"
#include "kernel-files.h"
#include "progress.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define DEPMOD_TIMEOUT_S 120.0
#define COPY_TIMEOUT_S 600.0

/* The kernel and its modules go into FOLDER. */
static char *wanted_of_kernel(const char *path, void *data)
{
    const char *folder = data;

    if (strncmp(path, "boot/vmlinuz-", strlen("boot/vmlinuz-")) == 0)
        return builder_text("%s/kernel", folder);
    if (strncmp(path, "usr/lib/modules/", strlen("usr/lib/modules/")) == 0)
        path += strlen("usr/");
    if (strncmp(path, "lib/modules/", strlen("lib/modules/")) == 0)
        return builder_text("%s/modules/%s", folder, path);
    return NULL;
}

/* The folder of modules in the layer; NULL if it has none. */
static char *modules_of(const char *folder, const char *release)
{
    cleanup_free char *path = builder_text("%s/modules/lib/modules/%s", folder, release);

    return path && access(path, F_OK) == 0 ? nl_steal(&path) : NULL;
}

/* What all kernels need once kernel and modules are in FOLDER. */
static int finish(const char *folder, const char *log, const char *package, const char *version,
                  struct nl_error **err)
{
    cleanup_free char *kernel = builder_text("%s/kernel", folder);
    cleanup_free char *vmlinux = builder_text("%s/vmlinux", folder);
    cleanup_free char *base = builder_text("%s/modules", folder);
    cleanup_free char *release = NULL, *modules = NULL;
    int pvh;

    if (!kernel || !vmlinux || !base)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (nl_kernel_release(kernel, &release, err) < 0)
        return -1;
    modules = modules_of(folder, release);
    if (!modules && access(base, F_OK) == 0) {
        nl_fail(err, NL_EXIT_REQUEST, "the modules are not those of the kernel, which is %s",
                release);
        return nl_hint(err, "give the modules of the same build: lib/modules/%s", release);
    }
    if (modules) {
        const char *argv[] = {"depmod", "-b", base, release, NULL};
        struct nl_process depmod = {.argv = argv, .log = log, .timeout = DEPMOD_TIMEOUT_S};

        nl_progress_update("depmod %s", release);
        if (builder_run(&depmod, err) < 0)
            return -1;
    }
    nl_progress_update("extracting vmlinux");
    pvh = builder_extract_vmlinux(kernel, vmlinux, err);
    if (pvh < 0)
        return -1;
    return builder_write_json(folder, "image.json",
                              json_pack("{s:s, s:s, s:b, s:b, s:s?, s:s?}", "layer", "kernel",
                                        "kernel_release", release, "vmlinux", pvh, "modules",
                                        modules != NULL, "package", package, "version", version),
                              err);
}

static int unpack_kernel(const char *deb, const char *folder, struct nl_error **err)
{
    cleanup_free char *kernel = builder_text("%s/kernel", folder);

    nl_progress_update("unpacking");
    if (builder_unpack_deb(deb, wanted_of_kernel, (void *)folder, err) < 0)
        return -1;
    if (kernel && access(kernel, F_OK) == 0)
        return 0;
    nl_fail(err, NL_EXIT_REQUEST, "%s: there is no boot/vmlinuz-* in it", deb);
    return nl_hint(err, "give a kernel's package, such as linux-image-VERSION_..._amd64.deb");
}

int builder_make_debian_kernel(struct builder *builder, const char *folder, const char *log,
                               struct nl_error **err)
{
    const char *package = NULL, *version = NULL;
    cleanup_free char *deb = NULL;

    json_unpack(builder->plan->resolved, "{s:{s:s, s:s}}", "kernel", "package", &package, "version",
                &version);
    if (builder_download(builder, package, version, folder, log, &deb, err) < 0 ||
        unpack_kernel(deb, folder, err) < 0)
        return -1;
    unlink(deb);
    return finish(folder, log, package, version, err);
}

static int copy_modules(const char *given, const char *folder, const char *log,
                        struct nl_error **err)
{
    cleanup_free char *kernel = builder_text("%s/kernel", folder);
    cleanup_free char *target = builder_text("%s/modules/lib/modules", folder);
    cleanup_free char *release = NULL, *source = NULL;
    const char *make[] = {"mkdir", "-p", "--", target, NULL};
    struct nl_process mkdir_process = {.argv = make};

    if (!kernel || !target)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (nl_kernel_release(kernel, &release, err) < 0 ||
        nl_kernel_modules(given, release, &source, err) < 0 ||
        nl_process_run(&mkdir_process, NULL, err) < 0)
        return -1;

    const char *argv[] = {"cp",   "-a", "--no-preserve=ownership", "--reflink=auto", "--", source,
                          target, NULL};
    struct nl_process copy = {.argv = argv, .log = log, .timeout = COPY_TIMEOUT_S};

    nl_progress_update("copying modules");
    return builder_run(&copy, err);
}

int builder_make_user_kernel(struct builder *builder, const char *folder, const char *log,
                             struct nl_error **err)
{
    const struct nl_kernel_spec *kernel = builder->request.kernel;
    cleanup_free char *target = builder_text("%s/kernel", folder);
    const char *argv[] = {"cp", "--", kernel->image, target, NULL};
    struct nl_process copy = {.argv = argv, .log = log};

    if (kernel->deb) {
        if (unpack_kernel(kernel->deb, folder, err) < 0)
            return -1;
    } else if (nl_process_run(&copy, NULL, err) < 0 ||
               (kernel->modules && copy_modules(kernel->modules, folder, log, err) < 0)) {
        return -1;
    }
    return finish(folder, log, NULL, NULL, err);
}
