/*
 * evidence-archive.c - tar archives and compressed files: see evidence-source.h.
 *
 * libarchive reads them as they come; only formats and filters that it handles itself are on, since
 * for some others it would run programs.
 */
#include "evidence-source.h"
#include "guest-text.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>

#define BLOCK_SIZE (64UL << 10)

struct reader {
    struct nl_stream *stream;
    const char *head; /* not handed to libarchive yet */
    size_t head_length;
    char block[BLOCK_SIZE];
};

/* One file of an archive. */
struct entry_stream {
    struct nl_stream stream;
    struct nl_source *source;
    struct archive *archive;
    const char *block; /* libarchive's, not handed on yet */
    size_t length;
};

bool nl_archive_is(const char *bytes, size_t length)
{
    static const struct {
        size_t at, length;
        const char *magic;
    } magics[] = {
        {0, 3, "\x1f\x8b\x08"}, /* gzip */
        {0, 6,
         "\xfd"
         "7zXZ\0"},                 /* xz */
        {0, 4, "\x28\xb5\x2f\xfd"}, /* zstd */
        {0, 4, "\x04\x22\x4d\x18"}, /* lz4 */
        {0, 4, "LZIP"},
        {0, 2, "\x1f\x9d"},     /* compress */
        {0, 3, "\x5d\x00\x00"}, /* lzma */
        {257, 5, "ustar"},
    };

    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
        if (length >= magics[i].at + magics[i].length &&
            memcmp(bytes + magics[i].at, magics[i].magic, magics[i].length) == 0)
            return true;
    /* bzip2: a text may begin with BZh as well. */
    return length >= 10 && memcmp(bytes, "BZh", 3) == 0 && memcmp(bytes + 4, "1AY&SY", 6) == 0;
}

static la_ssize_t give_bytes(struct archive *archive, void *context, const void **buffer)
{
    struct reader *reader = context;
    ssize_t n;

    if (reader->head_length) {
        *buffer = reader->head;
        n = (ssize_t)reader->head_length;
        reader->head_length = 0;
        return n;
    }
    *buffer = reader->block;
    n = reader->stream->read(reader->stream, reader->block, sizeof(reader->block));
    if (n < 0)
        archive_set_error(archive, EIO, "%s",
                          reader->stream->why ? reader->stream->why : "cannot be read");
    return n;
}

static ssize_t read_entry(struct nl_stream *stream, char *buffer, size_t size)
{
    struct entry_stream *entry = (struct entry_stream *)stream;
    struct nl_source_limits *limits = entry->source->limits;

    /* Holes of a sparse file are not written out: they may be larger than any disk. */
    while (entry->length == 0) {
        const void *block;
        la_int64_t offset;
        int rc = archive_read_data_block(entry->archive, &block, &entry->length, &offset);

        if (rc == ARCHIVE_EOF)
            return 0;
        if (rc < ARCHIVE_WARN) {
            const char *why = archive_error_string(entry->archive);

            free(stream->why);
            stream->why = nl_guest_text(why ? why : "broken", strlen(why ? why : "broken"));
            return -1;
        }
        entry->block = block;
    }
    if (limits->unpacked_bytes == 0) {
        free(stream->why);
        stream->why = strdup("more data than an archive may hold: the rest was not read");
        return -1;
    }
    size = size < entry->length ? size : entry->length;
    size = size < limits->unpacked_bytes ? size : (size_t)limits->unpacked_bytes;
    memcpy(buffer, entry->block, size);
    entry->block += size;
    entry->length -= size;
    limits->unpacked_bytes -= size;
    return (ssize_t)size;
}

/* "OUTER/PATH"; a compressed file is not a folder, and keeps its own name. */
static char *entry_name(const char *outer, struct archive *archive, struct archive_entry *entry)
{
    const char *path = archive_entry_pathname(entry);
    cleanup_free char *printable = NULL;
    char *name = NULL;

    if (archive_format(archive) == ARCHIVE_FORMAT_RAW)
        return strdup(outer);
    if (!path)
        path = archive_entry_pathname_utf8(entry);
    while (path && path[0] == '.' && path[1] == '/')
        path += 2;
    printable = nl_guest_text(path ? path : "unnamed", strlen(path ? path : "unnamed"));
    return asprintf(&name, "%s/%.4096s", outer, printable) < 0 ? NULL : name;
}

static void read_one(struct nl_source *source, const char *outer, struct archive *archive,
                     struct archive_entry *entry, unsigned in_archives)
{
    cleanup_free char *name = entry_name(outer, archive, entry);
    struct entry_stream stream = {{read_entry, NULL}, source, archive, NULL, 0};

    if (!name || archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry))
        return;
    /* As it came: nothing was unpacked, and would begin like an archive again. */
    if (archive_format(archive) == ARCHIVE_FORMAT_RAW &&
        archive_filter_code(archive, 0) == ARCHIVE_FILTER_NONE) {
        source->sink->left_out(source->sink->context, name,
                               "a broken archive: only its beginning is one's", true);
        return;
    }
    nl_source_stream(source, name, &stream.stream, in_archives);
    free(stream.stream.why);
}

static struct archive *open_archive(struct reader *reader)
{
    struct archive *archive = archive_read_new();

    if (!archive)
        return NULL;
    archive_read_support_filter_gzip(archive);
    archive_read_support_filter_bzip2(archive);
    archive_read_support_filter_xz(archive);
    archive_read_support_filter_lzma(archive);
    archive_read_support_filter_zstd(archive);
    archive_read_support_filter_lz4(archive);
    archive_read_support_filter_lzip(archive);
    archive_read_support_filter_compress(archive);
    archive_read_support_format_tar(archive);
    archive_read_support_format_gnutar(archive);
    archive_read_support_format_empty(archive);
    archive_read_support_format_raw(archive);
    archive_read_open(archive, reader, NULL, give_bytes, NULL);
    return archive;
}

static void tell_broken(const struct nl_source *source, const char *name, struct archive *archive)
{
    const char *why = archive_error_string(archive);
    cleanup_free char *printable =
        nl_guest_text(why ? why : "broken", strlen(why ? why : "broken"));
    cleanup_free char *text = NULL;

    if (asprintf(&text, "a broken archive: %s", printable) < 0)
        text = NULL;
    source->sink->left_out(source->sink->context, name, text ? text : "a broken archive", true);
}

static void read_entries(struct nl_source *source, const char *name, struct archive *archive,
                         unsigned in_archives)
{
    const struct nl_source_sink *sink = source->sink;
    struct archive_entry *entry;
    bool any = false;
    int rc;

    while ((rc = archive_read_next_header(archive, &entry)) >= ARCHIVE_WARN && rc != ARCHIVE_EOF) {
        if (source->limits->entries == 0 || source->limits->unpacked_bytes == 0) {
            sink->left_out(sink->context, name,
                           "more files or data than an archive may hold: the rest was not read",
                           true);
            return;
        }
        source->limits->entries--;
        any = true;
        read_one(source, name, archive, entry, in_archives);
    }
    if (rc != ARCHIVE_EOF)
        tell_broken(source, name, archive);
    else if (!any)
        sink->left_out(sink->context, name, "an archive with nothing in it", false);
}

void nl_archive_read(struct nl_source *source, const char *name, const char *head, size_t length,
                     struct nl_stream *stream, unsigned in_archives)
{
    const struct nl_source_sink *sink = source->sink;
    cleanup_free struct reader *reader = malloc(sizeof(*reader));
    struct archive *archive;

    if (in_archives > source->limits->archive_depth) {
        sink->left_out(sink->context, name, "archives inside archives, too deep", true);
        return;
    }
    if (!reader) {
        sink->left_out(sink->context, name, "out of memory", true);
        return;
    }
    reader->stream = stream;
    reader->head = head;
    reader->head_length = length;
    archive = open_archive(reader);
    if (archive)
        read_entries(source, name, archive, in_archives);
    archive_read_free(archive);
}
