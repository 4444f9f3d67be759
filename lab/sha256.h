/*
 * sha256.h - SHA-256 over a list of named parts, for names of things that depend on their content.
 *
 * Every part goes in with its name and length, so that no two different lists of parts can run
 * together into the same bytes.
 */
#ifndef NL_SHA256_H
#define NL_SHA256_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NL_SHA256_HEX 64

struct nl_sha256;

struct nl_sha256 *nl_sha256_new(void); /* NULL: out of memory; the functions below then fail */
void nl_sha256_free(struct nl_sha256 **sha);
#define cleanup_sha256 NL_CLEANUP(nl_sha256_free)

void nl_sha256_bytes(struct nl_sha256 *sha, const char *name, const void *bytes, size_t length);

/* TEXT NULL is told apart from "". */
void nl_sha256_text(struct nl_sha256 *sha, const char *name, const char *text);

/* The content of the file at PATH (its name does not count). */
int nl_sha256_file(struct nl_sha256 *sha, const char *name, const char *path,
                   struct nl_error **err);

/* The digest in hex, the caller's; ends the computation. */
int nl_sha256_end(struct nl_sha256 *sha, char **hex, struct nl_error **err);

#endif
