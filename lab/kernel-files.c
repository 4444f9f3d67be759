/*
 * kernel-files.c - looking at a kernel's files: see kernel-files.h. Offsets are of the x86 boot
 * protocol (the kernel's Documentation/arch/x86/boot.rst).
 */
#include "kernel-files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define SETUP_SECTORS 0x1f1
#define CODE_PARAGRAPHS 0x1f4 /* of 16 bytes, after the setup sectors */
#define HEADER_MAGIC 0x202
#define KERNEL_VERSION 0x20e

void nl_unmap(struct nl_mapped *file)
{
    if (file->bytes)
        munmap((void *)file->bytes, file->length);
}

int nl_map_file(const char *path, struct nl_mapped *file, struct nl_error **err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *bytes;

    if (fd < 0 || fstat(fd, &st) < 0)
        return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "cannot read %s", path);
    if (!S_ISREG(st.st_mode) || st.st_size == 0)
        return nl_fail(err, NL_EXIT_REQUEST, "%s is empty or not a file", path);
    bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot map %s", path);
    file->bytes = bytes;
    file->length = (size_t)st.st_size;
    return 0;
}

int nl_map_bzimage(const char *path, struct nl_mapped *file, struct nl_error **err)
{
    if (nl_map_file(path, file, err) < 0)
        return -1;
    if (file->length >= NL_BZIMAGE_HEADER_END && memcmp(file->bytes + HEADER_MAGIC, "HdrS", 4) == 0)
        return 0;
    if (file->length > 4 && memcmp(file->bytes, "\177ELF", 4) == 0)
        nl_fail(err, NL_EXIT_REQUEST, "%s is an ELF file (vmlinux?), not a bzImage", path);
    else
        nl_fail(err, NL_EXIT_REQUEST, "%s is not a bzImage", path);
    return nl_hint(err, "a bzImage is an x86 kernel as it is booted: arch/x86/boot/bzImage");
}

int nl_kernel_check(const char *path, struct nl_error **err)
{
    cleanup_mapped struct nl_mapped file = {0};
    size_t sectors, whole;

    if (nl_map_bzimage(path, &file, err) < 0 || !file.bytes)
        return -1;
    /* A header without a number of setup sectors means 4. */
    sectors = file.bytes[SETUP_SECTORS] ? file.bytes[SETUP_SECTORS] : 4;
    whole = (sectors + 1) * 512 + (size_t)nl_le32(file.bytes + CODE_PARAGRAPHS) * 16;
    if (file.length >= whole)
        return 0;
    nl_fail(err, NL_EXIT_REQUEST, "%s is cut short: it has %zu bytes, and by its header %zu", path,
            file.length, whole);
    return nl_hint(err, "copy or build it again");
}

static bool is_plain(const char *text)
{
    for (; *text; text++)
        if (*text <= ' ' || *text >= 0x7f)
            return false;
    return true;
}

int nl_kernel_release(const char *path, char **release, struct nl_error **err)
{
    cleanup_mapped struct nl_mapped file = {0};
    cleanup_free char *said = NULL;
    size_t offset, length;

    if (nl_map_bzimage(path, &file, err) < 0 || !file.bytes)
        return -1;
    offset = nl_le16(file.bytes + KERNEL_VERSION) + 0x200;
    if (offset == 0x200 || offset >= file.length)
        return nl_fail(err, NL_EXIT_REQUEST, "%s does not say its version", path);
    length = strnlen((const char *)file.bytes + offset, file.length - offset);
    said = strndup((const char *)file.bytes + offset, length);
    if (!said)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    said[strcspn(said, " ")] = '\0';
    /* It becomes part of paths, messages and JSON. */
    if (!*said || strchr(said, '/') || *said == '.' || !is_plain(said))
        return nl_fail(err, NL_EXIT_REQUEST, "%s does not say its version", path);
    *release = nl_steal(&said);
    return 0;
}

int nl_kernel_modules(const char *given, const char *release, char **path, struct nl_error **err)
{
    static const char *const places[] = {"lib/modules/", "usr/lib/modules/", ""};
    static const char *const signs[] = {"modules.dep", "modules.order"};
    cleanup_free char *itself = realpath(given, NULL);
    const char *base = itself ? strrchr(itself, '/') : NULL;

    if (!itself)
        return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "%s", given);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        cleanup_free char *place = NULL;

        if (asprintf(&place, "%s/%s%s", itself, places[i], release) < 0)
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
        *path = realpath(place, NULL);
        if (*path)
            return 0;
    }
    if (base && strcmp(base + 1, release) == 0) {
        *path = nl_steal(&itself);
        return 0;
    }
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        cleanup_free char *sign = NULL;

        if (asprintf(&sign, "%s/%s", itself, signs[i]) < 0)
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
        if (access(sign, F_OK) < 0)
            continue;
        nl_fail(err, NL_EXIT_REQUEST, "%s: its name is not the kernel's release, %s", given,
                release);
        return nl_hint(err, "modules of another build do not load; if it is the same, rename it");
    }
    nl_fail(err, NL_EXIT_REQUEST, "%s: there is no lib/modules/%s in it", given, release);
    return nl_hint(err,
                   "make it with `make INSTALL_MOD_PATH=DIR INSTALL_MOD_STRIP=1 modules_install`");
}
