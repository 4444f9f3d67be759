/*
 * builder-archive.c - reading and writing archives with libarchive: see builder.h.
 */
#include "builder.h"

#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define BLOCK (1 << 18)

static void free_reader(struct archive **archive)
{
    archive_read_free(*archive);
}

static void free_writer(struct archive **archive)
{
    archive_write_free(*archive);
}

int builder_archive_fail(struct archive *archive, const char *what, struct nl_error **err)
{
    const char *why = archive_error_string(archive);

    return nl_fail(err, NL_EXIT_LAB, "%s: %s", what, why ? why : "cannot read or write it");
}

/* The data member of a .deb, as the stream that the inner archive is read from. */
struct inner {
    struct archive *outer;
    char *block;
};

static la_ssize_t read_inner(struct archive *archive, void *data, const void **bytes)
{
    struct inner *inner = data;
    la_ssize_t n = archive_read_data(inner->outer, inner->block, BLOCK);

    if (n < 0)
        archive_set_error(archive, EIO, "%s", archive_error_string(inner->outer));
    *bytes = inner->block;
    return n;
}

static const char *without_dot(const char *path)
{
    while (*path == '/' || (path[0] == '.' && path[1] == '/'))
        path++;
    return path;
}

static int copy_data(struct archive *from, struct archive *to, const char *what,
                     struct nl_error **err)
{
    for (;;) {
        const void *block;
        size_t size;
        la_int64_t offset;
        int rc = archive_read_data_block(from, &block, &size, &offset);

        if (rc == ARCHIVE_EOF)
            return 0;
        if (rc < ARCHIVE_WARN)
            return builder_archive_fail(from, what, err);
        if (archive_write_data_block(to, block, size, offset) < ARCHIVE_WARN)
            return builder_archive_fail(to, what, err);
        if (nl_interrupt_check(err) < 0)
            return -1;
    }
}

static int unpack_data(struct archive *data, const char *deb, builder_wanted *wanted, void *closure,
                       struct nl_error **err)
{
    NL_CLEANUP(free_writer) struct archive *disk = archive_write_disk_new();
    struct archive_entry *entry;
    int rc;

    /* The names come from a file that somebody gave us. */
    archive_write_disk_set_options(disk, ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_SECURE_NODOTDOT |
                                             ARCHIVE_EXTRACT_SECURE_SYMLINKS);
    while ((rc = archive_read_next_header(data, &entry)) == ARCHIVE_OK || rc == ARCHIVE_WARN) {
        const char *path = archive_entry_pathname(entry);
        cleanup_free char *target = path ? wanted(without_dot(path), closure) : NULL;

        if (!target || archive_entry_filetype(entry) == AE_IFDIR || archive_entry_hardlink(entry))
            continue;
        archive_entry_set_pathname(entry, target);
        archive_entry_set_perm(entry, 0644);
        if (archive_write_header(disk, entry) < ARCHIVE_WARN)
            return builder_archive_fail(disk, target, err);
        if (copy_data(data, disk, deb, err) < 0)
            return -1;
    }
    if (rc != ARCHIVE_EOF)
        return builder_archive_fail(data, deb, err);
    return archive_write_close(disk) < ARCHIVE_WARN ? builder_archive_fail(disk, deb, err) : 0;
}

int builder_unpack_deb(const char *deb, builder_wanted *wanted, void *closure,
                       struct nl_error **err)
{
    NL_CLEANUP(free_reader) struct archive *outer = archive_read_new();
    NL_CLEANUP(free_reader) struct archive *data = archive_read_new();
    cleanup_free char *block = malloc(BLOCK);
    struct inner inner = {.outer = outer, .block = block};
    struct archive_entry *entry;

    if (!outer || !data || !block)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    archive_read_support_format_ar(outer);
    if (archive_read_open_filename(outer, deb, BLOCK) != ARCHIVE_OK) {
        builder_archive_fail(outer, deb, err);
        return nl_hint(err, "is it a Debian package?");
    }
    while (archive_read_next_header(outer, &entry) == ARCHIVE_OK) {
        const char *name = archive_entry_pathname(entry);

        if (!name || strncmp(name, "data.tar", strlen("data.tar")) != 0)
            continue;
        archive_read_support_format_tar(data);
        archive_read_support_filter_all(data);
        if (archive_read_open(data, &inner, NULL, read_inner, NULL) != ARCHIVE_OK)
            return builder_archive_fail(data, deb, err);
        return unpack_data(data, deb, wanted, closure, err);
    }
    nl_fail(err, NL_EXIT_REQUEST, "%s: not a Debian package", deb);
    return nl_hint(err, "a Debian package is an ar archive with a data.tar in it");
}

/* Open the one stream in a file or in memory (BYTES not NULL), decompressed. */
static struct archive *open_stream(const char *path, const void *bytes, size_t length)
{
    struct archive *archive = archive_read_new();
    int rc;

    if (!archive)
        return NULL;
    archive_read_support_format_raw(archive);
    archive_read_support_format_empty(archive);
    archive_read_support_filter_all(archive);
    rc = bytes ? archive_read_open_memory(archive, bytes, length)
               : archive_read_open_filename(archive, path, BLOCK);
    if (rc == ARCHIVE_OK) {
        struct archive_entry *entry;

        rc = archive_read_next_header(archive, &entry);
    }
    if (rc == ARCHIVE_OK || rc == ARCHIVE_WARN)
        return archive;
    archive_read_free(archive);
    return NULL;
}

int builder_decompress(const void *bytes, size_t length, const char *path, struct nl_error **err)
{
    NL_CLEANUP(free_reader) struct archive *archive = open_stream(NULL, bytes, length);
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make %s", path);
    if (!archive)
        return nl_fail(err, NL_EXIT_LAB, "the compression is not known");
    if (archive_read_data_into_fd(archive, fd) < ARCHIVE_WARN)
        return builder_archive_fail(archive, "decompressing", err);
    return 0;
}

int builder_read_decompressed(const char *path, char **bytes, size_t *length, struct nl_error **err)
{
    NL_CLEANUP(free_reader) struct archive *archive = open_stream(path, NULL, 0);
    cleanup_free char *buffer = NULL;
    size_t size = 0, used = 0;

    if (!archive)
        return nl_fail(err, NL_EXIT_LAB, "cannot read %s", path);
    for (;;) {
        la_ssize_t n;

        if (used == size) {
            char *larger = realloc(buffer, size + BLOCK);

            if (!larger)
                return nl_fail(err, NL_EXIT_LAB, "out of memory");
            buffer = larger;
            size += BLOCK;
        }
        n = archive_read_data(archive, buffer + used, size - used);
        if (n < 0)
            return builder_archive_fail(archive, path, err);
        if (n == 0)
            break;
        used += (size_t)n;
    }
    *bytes = nl_steal(&buffer);
    *length = used;
    return 0;
}

/* As copy_data, into an archive: which takes its content in one piece, holes as zeros. */
static int pack_data(struct archive *from, struct archive *to, const char *what,
                     struct nl_error **err)
{
    cleanup_free char *block = malloc(BLOCK);
    la_ssize_t n;

    if (!block)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    while ((n = archive_read_data(from, block, BLOCK)) > 0)
        if (archive_write_data(to, block, (size_t)n) != n)
            return builder_archive_fail(to, what, err);
    return n < 0 ? builder_archive_fail(from, what, err) : nl_interrupt_check(err);
}

static int pack_one(struct archive *disk, struct archive *tar, const char *folder,
                    const char *prefix, struct nl_error **err)
{
    struct archive_entry *entry = archive_entry_new();
    int rc = entry ? archive_read_next_header2(disk, entry) : ARCHIVE_FATAL;
    cleanup_free char *name = NULL;

    if (rc == ARCHIVE_OK || rc == ARCHIVE_WARN) {
        archive_read_disk_descend(disk);
        name = builder_text("%s%s", prefix, archive_entry_pathname(entry) + strlen(folder));
        archive_entry_set_pathname(entry, name);
        archive_entry_set_uid(entry, 0);
        archive_entry_set_gid(entry, 0);
        archive_entry_set_uname(entry, NULL);
        archive_entry_set_gname(entry, NULL);
        rc = archive_write_header(tar, entry);
        if (rc >= ARCHIVE_WARN && archive_entry_size(entry) > 0)
            rc = pack_data(disk, tar, folder, err) < 0 ? ARCHIVE_FATAL : ARCHIVE_OK;
    }
    archive_entry_free(entry);
    if (rc == ARCHIVE_EOF)
        return 0;
    if (rc < ARCHIVE_WARN)
        return *err ? -1 : builder_archive_fail(archive_errno(tar) ? tar : disk, folder, err);
    return 1;
}

int builder_pack_tree(const char *folder, const char *prefix, const char *tar_path,
                      struct nl_error **err)
{
    NL_CLEANUP(free_reader) struct archive *disk = archive_read_disk_new();
    NL_CLEANUP(free_writer) struct archive *tar = archive_write_new();
    int rc;

    if (!disk || !tar)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    archive_write_set_format_pax_restricted(tar);
    archive_read_disk_set_symlink_physical(disk);
    archive_read_disk_set_behavior(disk, ARCHIVE_READDISK_NO_XATTR | ARCHIVE_READDISK_NO_ACL);
    if (archive_write_open_filename(tar, tar_path) != ARCHIVE_OK)
        return builder_archive_fail(tar, tar_path, err);
    if (archive_read_disk_open(disk, folder) != ARCHIVE_OK)
        return builder_archive_fail(disk, folder, err);
    do {
        rc = pack_one(disk, tar, folder, prefix, err);
    } while (rc > 0);
    if (rc < 0)
        return -1;
    return archive_write_close(tar) < ARCHIVE_WARN ? builder_archive_fail(tar, tar_path, err) : 0;
}

json_t *builder_dpkg_manifest(const char *status)
{
    json_t *manifest = json_object();
    char package[256] = "", version[256] = "";
    bool installed = false;

    while (manifest && *status) {
        size_t length = strcspn(status, "\n");

        sscanf(status, "Package: %255[^\n]", package);
        sscanf(status, "Version: %255[^\n]", version);
        if (strncmp(status, "Status: install ok installed",
                    strlen("Status: install ok installed")) == 0)
            installed = true;
        status += length + (status[length] == '\n');
        if (length > 0 && *status)
            continue;
        if (installed && package[0])
            json_object_set_new(manifest, package, json_string(version));
        package[0] = version[0] = '\0';
        installed = false;
    }
    return manifest;
}

int builder_tar_manifest(const char *path, json_t **manifest, struct nl_error **err)
{
    NL_CLEANUP(free_reader) struct archive *tar = archive_read_new();
    struct archive_entry *entry;

    if (!tar)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    archive_read_support_format_tar(tar);
    if (archive_read_open_filename(tar, path, BLOCK) != ARCHIVE_OK)
        return builder_archive_fail(tar, path, err);
    while (archive_read_next_header(tar, &entry) >= ARCHIVE_WARN) {
        size_t size = (size_t)archive_entry_size(entry);
        cleanup_free char *text = NULL;

        if (strcmp(without_dot(archive_entry_pathname(entry)), "var/lib/dpkg/status") != 0)
            continue;
        text = size < (64 << 20) ? calloc(1, size + 1) : NULL;
        if (!text || archive_read_data(tar, text, size) != (la_ssize_t)size)
            return builder_archive_fail(tar, path, err);
        *manifest = builder_dpkg_manifest(text);
        return *manifest ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    return nl_fail(err, NL_EXIT_LAB, "%s: there is no dpkg status file in it", path);
}
