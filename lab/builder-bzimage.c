/*
 * builder-bzimage.c - what is in a bzImage: its release, and the kernel itself, uncompressed.
 *
 * Offsets are of the x86 boot protocol (the kernel's Documentation/arch/x86/boot.rst). An
 * uncompressed kernel with a PVH entry is started by QEMU directly: in a nested guest,
 * decompression alone costs seconds.
 */
#include "builder.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define HEADER_MAGIC 0x202 /* "HdrS", then the protocol's version */
#define SETUP_SECTORS 0x1f1
#define KERNEL_VERSION 0x20e
#define PAYLOAD_OFFSET 0x248
#define PAYLOAD_LENGTH 0x24c
#define HEADER_END 0x250
#define PROTOCOL_WITH_PAYLOAD 0x0208

#define XEN_ELFNOTE_PHYS32_ENTRY 18

struct mapped {
    const unsigned char *bytes;
    size_t length;
};

static void unmap(struct mapped *file)
{
    if (file->bytes)
        munmap((void *)file->bytes, file->length);
}

static int map_file(const char *path, struct mapped *file, struct nl_error **err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *bytes;

    if (fd < 0 || fstat(fd, &st) < 0)
        return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "cannot read %s", path);
    if (st.st_size == 0)
        return nl_fail(err, NL_EXIT_REQUEST, "%s is empty", path);
    bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot map %s", path);
    file->bytes = bytes;
    file->length = (size_t)st.st_size;
    return 0;
}

static uint32_t le32(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t le16(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8;
}

static int map_bzimage(const char *path, struct mapped *file, struct nl_error **err)
{
    if (map_file(path, file, err) < 0)
        return -1;
    if (file->length < HEADER_END || memcmp(file->bytes + HEADER_MAGIC, "HdrS", 4) != 0) {
        nl_fail(err, NL_EXIT_REQUEST, "%s is not an x86 kernel image", path);
        return nl_hint(err, "give the bzImage (arch/x86/boot/bzImage), not vmlinux");
    }
    return 0;
}

int builder_kernel_release(const char *path, char **release, struct nl_error **err)
{
    __attribute__((cleanup(unmap))) struct mapped file = {0};
    cleanup_free char *said = NULL;
    size_t offset, length;

    if (map_bzimage(path, &file, err) < 0)
        return -1;
    offset = le16(file.bytes + KERNEL_VERSION) + 0x200;
    if (offset == 0x200 || offset >= file.length)
        return nl_fail(err, NL_EXIT_REQUEST, "%s does not say its version", path);
    length = strnlen((const char *)file.bytes + offset, file.length - offset);
    said = strndup((const char *)file.bytes + offset, length);
    if (!said)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    said[strcspn(said, " ")] = '\0';
    /* It becomes part of paths. */
    if (!*said || strchr(said, '/') || *said == '.')
        return nl_fail(err, NL_EXIT_REQUEST, "%s does not say its version", path);
    *release = nl_steal(&said);
    return 0;
}

/* Is there the note that says where PVH enters, among the notes at BYTES? */
static bool notes_have_pvh(const unsigned char *bytes, size_t length)
{
    while (length >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        size_t name_size, size;

        memcpy(&note, bytes, sizeof(note));
        name_size = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size = sizeof(note) + name_size + (((size_t)note.n_descsz + 3) & ~(size_t)3);
        if (size > length)
            return false;
        if (note.n_type == XEN_ELFNOTE_PHYS32_ENTRY && note.n_namesz == 4 &&
            memcmp(bytes + sizeof(note), "Xen", 4) == 0)
            return true;
        bytes += size;
        length -= size;
    }
    return false;
}

static bool elf_has_pvh(const struct mapped *file)
{
    Elf64_Ehdr header;

    if (file->length < sizeof(header))
        return false;
    memcpy(&header, file->bytes, sizeof(header));
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof(Elf64_Phdr))
        return false;
    for (size_t i = 0; i < header.e_phnum; i++) {
        uint64_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
        Elf64_Phdr segment;

        if (at > file->length || file->length - at < sizeof(segment))
            return false;
        memcpy(&segment, file->bytes + at, sizeof(segment));
        if (segment.p_type == PT_NOTE && segment.p_offset <= file->length &&
            segment.p_filesz <= file->length - segment.p_offset &&
            notes_have_pvh(file->bytes + segment.p_offset, segment.p_filesz))
            return true;
    }
    return false;
}

int builder_extract_vmlinux(const char *bzimage, const char *vmlinux, struct nl_error **err)
{
    __attribute__((cleanup(unmap))) struct mapped file = {0}, elf = {0};
    cleanup_error struct nl_error *why = NULL;
    size_t sectors, start, length;

    if (map_bzimage(bzimage, &file, err) < 0)
        return -1;
    if (le16(file.bytes + HEADER_MAGIC + 4) < PROTOCOL_WITH_PAYLOAD)
        return 0;
    sectors = file.bytes[SETUP_SECTORS] ? file.bytes[SETUP_SECTORS] : 4;
    start = (sectors + 1) * 512 + (size_t)le32(file.bytes + PAYLOAD_OFFSET);
    length = le32(file.bytes + PAYLOAD_LENGTH);
    if (length < 8 || start > file.length || length > file.length - start)
        return nl_fail(err, NL_EXIT_REQUEST, "%s is cut short", bzimage);
    /* Except for gzip, whose own last word it is, the kernel's build appends the uncompressed size.
     */
    if (memcmp(file.bytes + start, "\x1f\x8b", 2) != 0)
        length -= 4;
    if (builder_decompress(file.bytes + start, length, vmlinux, &why) < 0 ||
        map_file(vmlinux, &elf, &why) < 0 || !elf_has_pvh(&elf)) {
        unlink(vmlinux);
        return nl_interrupt_check(err) < 0 ? -1 : 0;
    }
    return 1;
}
