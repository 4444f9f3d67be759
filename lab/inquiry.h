/*
 * inquiry.h - evidence in, findings out: the engine of `nestlab diagnose` and of a run's findings.
 *
 *   nl_inquiry_new -> nl_inquiry_path, _document, _text, _file, in any order
 *   -> nl_inquiry_conclude -> nl_inquiry_findings, _evidence
 *
 * All evidence is untrusted. What cannot be read is remembered, with the reason, and the rest goes
 * on.
 */
#ifndef NL_INQUIRY_H
#define NL_INQUIRY_H

#include "evidence.h"
#include "rules.h"

struct nl_inquiry;

/* RULES are borrowed. NULL when out of memory. */
struct nl_inquiry *nl_inquiry_new(struct nl_rules *rules);
void nl_inquiry_free(struct nl_inquiry **inquiry);
#define cleanup_inquiry NL_CLEANUP(nl_inquiry_free)

/* Read PATH: a file, a folder, an archive, "-". Fails only where PATH itself cannot be read. */
int nl_inquiry_path(struct nl_inquiry *inquiry, const char *path, struct nl_error **err);

/* A file as evidence of layer LAYER (or NL_LAYER_UNKNOWN); nothing happens if it is not there. */
void nl_inquiry_file(struct nl_inquiry *inquiry, const char *path, const char *name, int layer);

/* LINES of TEXT as evidence of KINDS, of layer LAYER (or NL_LAYER_UNKNOWN). */
void nl_inquiry_text(struct nl_inquiry *inquiry, const char *name, const char *what, unsigned kinds,
                     int layer, const char *text);

/* The logs, facts and messages of a run's document, layer by layer. NAME is where it is from. */
void nl_inquiry_document(struct nl_inquiry *inquiry, const char *name, const json_t *document);

/* All has been read: work out layers, which one piece of evidence may tell of another. */
void nl_inquiry_conclude(struct nl_inquiry *inquiry);

/* Findings of at least MIN, worst first, then from the outermost layer: docs/diagnose.md describes
   the array's elements. New reference. */
json_t *nl_inquiry_findings(const struct nl_inquiry *inquiry, enum nl_severity min);

/* What was read, and what was not. New references. */
json_t *nl_inquiry_evidence(const struct nl_inquiry *inquiry);
json_t *nl_inquiry_unread(const struct nl_inquiry *inquiry);

/* Pieces of evidence that are of a known kind, and things that should have been read and were not.
 */
size_t nl_inquiry_recognised(const struct nl_inquiry *inquiry);
size_t nl_inquiry_failed(const struct nl_inquiry *inquiry);

#endif
