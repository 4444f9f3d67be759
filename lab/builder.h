/*
 * builder.h - the inside of nestlab-builder: one function per layer of an image.
 */
#ifndef NL_BUILDER_H
#define NL_BUILDER_H

#include "image-plan.h"
#include "process.h"

#include <archive.h>

struct builder {
    struct nl_store *store;
    struct nl_image_request request;
    struct nl_plan *plan;
};

/* Every layer is made by a function like this: fill FOLDER; the caller locks, commits and cleans
   up. It must write image.json last. LOG is a file for what programs say. */
typedef int builder_layer(struct builder *builder, const char *folder, const char *log,
                          struct nl_error **err);

builder_layer builder_make_debian_kernel, builder_make_user_kernel, builder_make_busybox,
    builder_make_scratch, builder_make_debian, builder_make_system, builder_make_debs,
    builder_make_image;

/* FORMAT..., the caller's; NULL: out of memory. */
char *builder_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Run a program, showing the last line of its log as progress. */
int builder_run(const struct nl_process *process, struct nl_error **err);

/* Write FOLDER/NAME as JSON and drop the reference to JSON. */
int builder_write_json(const char *folder, const char *name, json_t *json, struct nl_error **err);

/* A work folder outside the store: one that mmdebstrap's other users can reach, as a folder below a
   home cannot be, and with a name short enough for sockets. It is noted in the entry's FOLDER and
   removed with it. The caller's. */
int builder_outside(const char *folder, char **path, struct nl_error **err);

/* The text of the file at PATH; the caller's. */
int builder_read_text(const char *path, char **text, struct nl_error **err);

/* builder-apt.c: ask apt, with caches and lists of nestlab's own. */

/* Which versions there are of what RECIPE asks for, into the store's resolved/. */
int builder_resolve(struct builder *builder, const struct nl_recipe *recipe, struct nl_error **err);

/* Download the package NAME of that VERSION into FOLDER; FILE gets its path, the caller's. */
int builder_download(struct builder *builder, const char *name, const char *version,
                     const char *folder, const char *log, char **file, struct nl_error **err);

/* The store's folder for apt's work on that suite, with all that apt wants in it; the caller's. */
int builder_apt_folders(const struct nl_store *store, const char *suite, char **root,
                        struct nl_error **err);

/* builder-sources.c */

/* Copy from IN, a sources.list or (STANZAS) deb822 sources, what is of the suite's main and its
   updates; returns how many entries. */
int builder_filter_sources(FILE *in, FILE *out, bool stanzas, const char *suite);

/* The files with the machine's own apt sources for the recipe's suite, NULL-terminated, the
 * caller's. */
int builder_sources(const struct nl_store *store, const char *suite, char ***files,
                    struct nl_error **err);

/* builder-archive.c: libarchive. */

/* Archive errors as ours; returns -1. */
int builder_archive_fail(struct archive *archive, const char *what, struct nl_error **err);

/* Unpack from the Debian package DEB what WANTED (called with a path without leading "./") says
   goes to the path that it returns, which the callee allocates; NULL: not wanted. */
typedef char *builder_wanted(const char *path, void *data);
int builder_unpack_deb(const char *deb, builder_wanted *wanted, void *data, struct nl_error **err);

/* Decompress LENGTH bytes (gzip, xz, zstd, lz4, bzip2, lzma, or not compressed at all) into a new
 * file. */
int builder_decompress(const void *bytes, size_t length, const char *path, struct nl_error **err);

/* The content of the file at PATH, decompressed; the caller's. */
int builder_read_decompressed(const char *path, char **bytes, size_t *length,
                              struct nl_error **err);

/* Pack the tree under FOLDER into the tar file TAR, all of it root's, below PREFIX. */
int builder_pack_tree(const char *folder, const char *prefix, const char *tar,
                      struct nl_error **err);

/* The versions of the packages in the root file system tar TAR: an object, a new reference. */
int builder_tar_manifest(const char *tar, json_t **manifest, struct nl_error **err);

/* "Package"/"Version" of the installed ones in the text of a dpkg status file. New reference. */
json_t *builder_dpkg_manifest(const char *status);

/* builder-bzimage.c */

/* Extract the uncompressed kernel to VMLINUX. 1: there, 0: this kernel has none that can be entered
   by PVH (no file is left). */
int builder_extract_vmlinux(const char *bzimage, const char *vmlinux, struct nl_error **err);

#endif
