/*
 * kernel-files.h - a kernel of the user's own as files: its release, and the folder of its modules.
 */
#ifndef NL_KERNEL_FILES_H
#define NL_KERNEL_FILES_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>

/* A file in memory, read only; nl_unmap() is the cleanup function. */
struct nl_mapped {
    const unsigned char *bytes;
    size_t length;
};

int nl_map_file(const char *path, struct nl_mapped *file, struct nl_error **err);
void nl_unmap(struct nl_mapped *file);
#define cleanup_mapped NL_CLEANUP(nl_unmap)

/* As nl_map_file, for a bzImage: its header is there (up to NL_BZIMAGE_HEADER_END). */
#define NL_BZIMAGE_HEADER_END 0x250
int nl_map_bzimage(const char *path, struct nl_mapped *file, struct nl_error **err);

/* Is the file at PATH a bzImage, and as long as its header says? */
int nl_kernel_check(const char *path, struct nl_error **err);

static inline uint32_t nl_le16(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t nl_le32(const unsigned char *p)
{
    return nl_le16(p) | nl_le16(p + 2) << 16;
}

/* What `uname -r` will say of the bzImage in the file at PATH; the caller's. */
int nl_kernel_release(const char *path, char **release, struct nl_error **err);

/* The folder lib/modules/RELEASE that the user means with GIVEN: itself, or one in it. The
 * caller's. */
int nl_kernel_modules(const char *given, const char *release, char **path, struct nl_error **err);

#endif
