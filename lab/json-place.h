/*
 * json-place.h - where in a JSON file a value stands, for error messages: FILE:LINE: layers[1].cpu.
 */
#ifndef NL_JSON_PLACE_H
#define NL_JSON_PLACE_H

#include "error.h"

#include <stdbool.h>

struct nl_record;

/* Where values come from. */
struct nl_json_source {
    const char *name; /* the file's name as the user wrote it, or an option such as "--cpu L1=x" */
    const char *text; /* its text, valid JSON, to find lines in; NULL: messages have no line */
    size_t length;
    bool option;        /* one value of the command line: messages have no place within it */
    const char *folder; /* absolute; what relative file names are relative to */
    const struct nl_record *whole; /* what the whole file is, to say where a key belongs; or NULL */
};

/* A value's place: a chain from the root, built on the stack while walking down. */
struct nl_json_place {
    const struct nl_json_source *source;
    const struct nl_json_place *parent; /* NULL: the root */
    const char *key;                    /* NULL: element INDEX of an array */
    size_t index;
};

static inline struct nl_json_place nl_json_root(const struct nl_json_source *source)
{
    return (struct nl_json_place){.source = source};
}

static inline struct nl_json_place nl_json_key(const struct nl_json_place *at, const char *key)
{
    return (struct nl_json_place){.source = at->source, .parent = at, .key = key};
}

static inline struct nl_json_place nl_json_index(const struct nl_json_place *at, size_t index)
{
    return (struct nl_json_place){.source = at->source, .parent = at, .index = index};
}

/* "layers[1].cpu"; "" for the root. The caller's; NULL when out of memory. */
char *nl_json_place_name(const struct nl_json_place *at);

/* The line it stands on, from 1; where the value itself is not in the text, that of the innermost
   container around it. 0: the source has no text. */
int nl_json_place_line(const struct nl_json_place *at);

/* "FILE:LINE: PLACE: MESSAGE", with NL_EXIT_REQUEST. Returns -1. */
int nl_fail_at(struct nl_error **err, const struct nl_json_place *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* TEXT in quotation marks, cut to a length that fits a message. The caller's. */
char *nl_quote(const char *text);

#endif
