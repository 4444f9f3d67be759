/*
 * evidence-source.h - where evidence comes from: files, folders, archives of any compression,
 * standard input. Nothing is unpacked to disk, no link inside a folder is followed, and nothing but
 * regular files is opened there.
 */
#ifndef NL_EVIDENCE_SOURCE_H
#define NL_EVIDENCE_SOURCE_H

#include "error.h"

#include <stdbool.h>

/* Who gets what is read. Names are printable: "case.tar.xz/proc/cpuinfo". */
struct nl_source_sink {
    void *context;
    void (*begin)(void *context, const char *name);
    void (*bytes)(void *context, const char *bytes, size_t length);
    /* CUT says why it was not read to its end, NULL if it was. */
    void (*end)(void *context, const char *cut);
    /* Something that was not read. UNREAD: it should have been (no permission, a broken archive),
       and not left out because of what it is. */
    void (*left_out)(void *context, const char *name, const char *why, bool unread);
};

/* What a hostile archive or folder may cost. */
struct nl_source_limits {
    size_t entries;                    /* files and folders, of all PATHs */
    unsigned long long unpacked_bytes; /* out of archives */
    unsigned folder_depth;
    unsigned archive_depth; /* archives inside archives */
};

extern const struct nl_source_limits nl_source_usual_limits;

/* Read PATH ("-": standard input) into SINK. Fails only where PATH itself cannot be read; what is
   wrong inside goes to left_out(). LIMITS are used up: several calls share them. */
int nl_source_read(const char *path, struct nl_source_limits *limits,
                   const struct nl_source_sink *sink, struct nl_error **err);

/* ---- For evidence-archive.c ---- */

/* Bytes that come one after the other. Returns how many, 0 at the end, -1 after setting WHY. */
struct nl_stream {
    ssize_t (*read)(struct nl_stream *stream, char *buffer, size_t size);
    char *why; /* the caller's to free */
};

struct nl_source {
    struct nl_source_limits *limits;
    const struct nl_source_sink *sink;
};

/* Read STREAM as evidence, or as an archive if it is one; IN_ARCHIVES archives are around it. */
void nl_source_stream(struct nl_source *source, const char *name, struct nl_stream *stream,
                      unsigned in_archives);

/* Do these first bytes of a file begin an archive or a compressed file that can be read? */
bool nl_archive_is(const char *bytes, size_t length);

/* The first bytes an archive has to be recognised by. */
#define NL_ARCHIVE_HEAD 512

/* Read all that is in the archive; HEAD has its first bytes, already taken from STREAM. */
void nl_archive_read(struct nl_source *source, const char *name, const char *head, size_t length,
                     struct nl_stream *stream, unsigned in_archives);

#endif
