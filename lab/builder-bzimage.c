/*
 * builder-bzimage.c - taking the kernel itself, uncompressed, out of a bzImage.
 *
 * Offsets are of the x86 boot protocol (the kernel's Documentation/arch/x86/boot.rst). An
 * uncompressed kernel with a PVH entry is started by QEMU directly: in a nested guest,
 * decompression alone costs seconds.
 */
#include "builder.h"
#include "kernel-files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/param.h>

#define HEADER_VERSION 0x206
#define SETUP_SECTORS 0x1f1
#define PAYLOAD_OFFSET 0x248
#define PAYLOAD_LENGTH 0x24c
#define PROTOCOL_WITH_PAYLOAD 0x0208

#define PAGE 4096

#define XEN_ELFNOTE_PHYS32_ENTRY 18

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

static bool elf_has_pvh(const struct nl_mapped *file)
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

/* Length of BYTES without the zeros at the end, in whole pages. */
static size_t without_zeros(const unsigned char *bytes, size_t length)
{
    size_t used = length;

    while (used > 0 && bytes[used - 1] == 0)
        used--;
    used = (used + PAGE - 1) & ~(size_t)(PAGE - 1);
    return used < length ? used : length;
}

/* Debian's kernel ends in 12 MB of zeros (its .bss and scratch space), which every nested QEMU
   would read and copy. A loader makes zeros itself where a segment's memory is larger than its file
   part. The section headers are not needed to boot. */
static int cut_zeros(const char *path, const struct nl_mapped *elf, struct nl_error **err)
{
    cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);
    uint64_t end = sizeof(Elf64_Ehdr);
    Elf64_Ehdr header;

    memcpy(&header, elf->bytes, sizeof(header));
    for (size_t i = 0; fd >= 0 && i < header.e_phnum; i++) {
        uint64_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
        Elf64_Phdr segment;

        memcpy(&segment, elf->bytes + at, sizeof(segment));
        if (segment.p_offset > elf->length || segment.p_filesz > elf->length - segment.p_offset)
            return nl_fail(err, NL_EXIT_REQUEST, "the kernel's ELF file is damaged");
        if (segment.p_type == PT_LOAD)
            segment.p_filesz = without_zeros(elf->bytes + segment.p_offset, segment.p_filesz);
        if (pwrite(fd, &segment, sizeof(segment), (off_t)at) != sizeof(segment))
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write %s", path);
        end = MAX(end, MAX(at + sizeof(segment), segment.p_offset + segment.p_filesz));
    }
    header.e_shoff = 0;
    header.e_shnum = header.e_shstrndx = 0;
    if (fd < 0 || pwrite(fd, &header, sizeof(header), 0) != sizeof(header) ||
        ftruncate(fd, (off_t)end) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write %s", path);
    return 0;
}

int builder_extract_vmlinux(const char *bzimage, const char *vmlinux, struct nl_error **err)
{
    cleanup_mapped struct nl_mapped file = {0}, elf = {0};
    cleanup_error struct nl_error *why = NULL;
    size_t sectors, start, length;

    if (nl_map_bzimage(bzimage, &file, err) < 0)
        return -1;
    if (nl_le16(file.bytes + HEADER_VERSION) < PROTOCOL_WITH_PAYLOAD)
        return 0;
    sectors = file.bytes[SETUP_SECTORS] ? file.bytes[SETUP_SECTORS] : 4;
    start = (sectors + 1) * 512 + (size_t)nl_le32(file.bytes + PAYLOAD_OFFSET);
    length = nl_le32(file.bytes + PAYLOAD_LENGTH);
    if (length < 8 || start > file.length || length > file.length - start)
        return nl_fail(err, NL_EXIT_REQUEST, "%s is cut short", bzimage);
    /* Except for gzip, whose own last word it is, the kernel's build appends the uncompressed size.
     */
    if (memcmp(file.bytes + start, "\x1f\x8b", 2) != 0)
        length -= 4;
    if (builder_decompress(file.bytes + start, length, vmlinux, &why) < 0 ||
        nl_map_file(vmlinux, &elf, &why) < 0 || !elf_has_pvh(&elf)) {
        unlink(vmlinux);
        return nl_interrupt_check(err) < 0 ? -1 : 0;
    }
    return cut_zeros(vmlinux, &elf, err) < 0 ? -1 : 1;
}
