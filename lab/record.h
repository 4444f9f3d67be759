/*
 * record.h - JSON objects to C structures and back, by tables that say for each key its type, its
 * range, what is allowed and its default.
 */
#ifndef NL_RECORD_H
#define NL_RECORD_H

#include "json-place.h"

#include <stdbool.h>

enum nl_field_type {
    NL_FIELD_IGNORED,    /* a string that is accepted and forgotten */
    NL_FIELD_TEXT,       /* char * */
    NL_FIELD_BOOL,       /* bool */
    NL_FIELD_INT,        /* int */
    NL_FIELD_NUMBER,     /* double */
    NL_FIELD_TEXTS,      /* char **, NULL-terminated; NULL when empty */
    NL_FIELD_INTS,       /* int * and size_t */
    NL_FIELD_RECORD,     /* a structure inside the structure */
    NL_FIELD_RECORDS,    /* pointer to structures, and size_t */
    NL_FIELD_PARAMETERS, /* json_t *: object of objects of strings; NULL when empty */
    NL_FIELD_OBJECT,     /* json_t *: any object, for its owner to look into; NULL when absent */
    NL_FIELD_TYPES
};

/* What a TEXT, or every one of TEXTS, names on this machine; stored as an absolute path. */
enum nl_path_kind {
    NL_PATH_NONE,   /* not a path */
    NL_PATH_FILE,   /* a readable regular file */
    NL_PATH_FOLDER, /* a folder */
    NL_PATH_DEB,    /* a readable regular file whose name ends in .deb */
};

struct nl_record;

struct nl_field {
    const char *key;
    enum nl_field_type type;
    enum nl_path_kind path;      /* TEXT, TEXTS */
    size_t offset;               /* of the member in the structure */
    size_t count_offset;         /* INTS, RECORDS: of the size_t with the number of elements */
    double low, high;            /* INT, NUMBER, INTS: the least and the greatest value */
    size_t min_count, max_count; /* TEXTS, INTS, RECORDS: elements; max_count 0: NL_COUNT_MAX */
    size_t max_length;           /* TEXT, TEXTS: bytes; 0: NL_TEXT_MAX */
    const char *const *choices;  /* TEXT: the only values allowed, NULL-terminated */
    const char *pattern;         /* TEXT, TEXTS: POSIX extended expression for the whole string */
    const char *allowed;         /* ... and what it means, in words */
    const char *word;            /* TEXTS: a string that may stand in place of the array */
    int (*inspect)(const char *path,
                   struct nl_error **err); /* TEXT, a path: what the file must be */
    const struct nl_record *record;        /* RECORD, RECORDS */
    const char *fallback;                  /* the default as JSON; NULL: zero, NULL or empty */
    bool required;
    bool unique; /* TEXTS: no element twice */
};

#define NL_TEXT_MAX 1024
#define NL_COUNT_MAX 256

struct nl_record {
    const char *what; /* "a layer" */
    size_t size;
    const struct nl_field *fields; /* ends with a key of NULL */
};

/* Fill the zeroed structure INTO from OBJECT. Whatever happens, release INTO afterwards. */
int nl_record_decode(const struct nl_record *record, const struct nl_json_place *at,
                     const json_t *object, void *into, struct nl_error **err);

/* One field of INTO from VALUE: a TEXT or a plain value is replaced, TEXTS are added to, and the
   others must be empty before. */
int nl_field_decode(const struct nl_field *field, const struct nl_json_place *at,
                    const json_t *value, void *into, struct nl_error **err);

/* The field of that key; NULL: there is none. */
const struct nl_field *nl_record_field(const struct nl_record *record, const char *key);

/* Say that RECORD at AT has no key KEY: which one may be meant, where KEY belongs. Returns -1. */
int nl_record_fail_unknown(const struct nl_record *record, const struct nl_json_place *at,
                           const char *key, struct nl_error **err);

/* The structure as JSON that decodes to the same; what is NULL and empty records are
   left out. New reference; NULL when out of memory. */
json_t *nl_record_encode(const struct nl_record *record, const void *from);

/* Free everything in the structure, not the structure, and zero the fields. */
void nl_record_release(const struct nl_record *record, void *what);

#endif
