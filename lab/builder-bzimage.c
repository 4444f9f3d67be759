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
#include <string.h>

#define HEADER_VERSION 0x206
#define SETUP_SECTORS 0x1f1
#define PAYLOAD_OFFSET 0x248
#define PAYLOAD_LENGTH 0x24c
#define PROTOCOL_WITH_PAYLOAD 0x0208

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
    return 1;
}
