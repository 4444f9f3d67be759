/*
 * document-tables.h - the shape of a document as tables, for document-shape.c. What they say is
 * what docs/document.schema.json says.
 */
#ifndef NL_DOCUMENT_TABLES_H
#define NL_DOCUMENT_TABLES_H

/* Types, a bit each. */
enum {
    OBJECT = 1 << 0,
    ARRAY = 1 << 1,
    STRING = 1 << 2,
    NUMBER = 1 << 3,
    BOOLEAN = 1 << 4,
    NONE = 1 << 5, /* null */
    NEEDED = 1 << 6,
};

/* One member of an object, or (KEY NULL in ITEMS) an array's element. */
struct shape {
    const char *key;
    int types;
    const struct shape *members; /* of an object; ends with an entry of no types */
    const struct shape *items;   /* of an array: one entry */
    const char *const *values;   /* allowed strings, or NULL: any */
};

extern const struct shape nl_document_whole;

#endif
