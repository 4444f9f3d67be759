/*
 * fuzz-builder.c - libFuzzer target: any bytes as what users and packages give an image: a bzImage,
 * the files that depmod writes, a table of packages, sources of apt.
 *
 * A first byte with bit 0 gives a bzImage its header, with bit 1 the right magic of a payload.
 */
#include "builder.h"
#include "kernel-files.h"
#include "modules.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz-builder-XXXXXX";
static char dep[64], builtin[64], vmlinux[64];

static void remove_all(void)
{
    unlink(dep);
    unlink(builtin);
    unlink(vmlinux);
    rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    if (!mkdtemp(folder))
        abort();
    snprintf(dep, sizeof(dep), "%s/modules.dep", folder);
    snprintf(builtin, sizeof(builtin), "%s/modules.builtin", folder);
    snprintf(vmlinux, sizeof(vmlinux), "%s/vmlinux", folder);
    atexit(remove_all);
    return 0;
}

static void put(const char *path, const uint8_t *bytes, size_t length)
{
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || (length && write(fd, bytes, length) != (ssize_t)length))
        abort();
}

/* What becomes part of paths is a name. */
static void check_release(const char *path)
{
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *release = NULL;

    if (nl_kernel_release(path, &release, &err) < 0)
        return;
    if (!*release || strchr(release, '/') || *release == '.')
        abort();
    for (const char *at = release; *at; at++)
        if (*at <= ' ' || *at >= 0x7f)
            abort();
}

static void take_kernel(uint8_t *image, size_t size, uint8_t right)
{
    cleanup_close int fd = memfd_create("bzimage", MFD_CLOEXEC);
    cleanup_error struct nl_error *err = NULL;
    char path[64];
    int rc;

    if (right & 1 && size > 0x206)
        memcpy(image + 0x202, "HdrS", 4);
    if (right & 2 && size > 0x410)
        memcpy(image + 0x400, "\x1f\x8b\x08", 3);
    if (fd < 0 || (size && write(fd, image, size) != (ssize_t)size))
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    check_release(path);
    nl_kernel_check(path, NULL);
    rc = builder_extract_vmlinux(path, vmlinux, &err);
    if (rc > 1 || (rc < 0) != (err != NULL) || (rc == 1) != (access(vmlinux, F_OK) == 0))
        abort();
    unlink(vmlinux);
}

static void take_modules(const uint8_t *data, size_t size)
{
    char *names[] = {"kvm-amd", "virtio_blk", NULL};
    cleanup_error struct nl_error *err = NULL;
    cleanup_strv char **paths = NULL;

    put(dep, data, size / 2);
    put(builtin, data + size / 2, size - size / 2);
    if ((nl_modules_resolve(folder, names, &paths, &err) == 0) != (paths != NULL))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = strndup((const char *)data, size);
    cleanup_json json_t *manifest = text ? builder_dpkg_manifest(text) : NULL;
    cleanup_fclose FILE *in = size ? fmemopen((void *)data, size, "r") : NULL;
    cleanup_fclose FILE *out = fopen("/dev/null", "w");
    cleanup_free uint8_t *image = malloc(size + 1);

    if (!json_is_object(manifest) || !out || !image)
        abort();
    if (!in)
        return 0;
    builder_filter_sources(in, out, data[0] & 1, "bookworm");
    take_modules(data + 1, size - 1);
    memcpy(image, data + 1, size - 1);
    take_kernel(image, size - 1, data[0]);
    return 0;
}
