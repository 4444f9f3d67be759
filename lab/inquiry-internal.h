/*
 * inquiry-internal.h - what the files that make inquiry.h work share.
 */
#ifndef NL_INQUIRY_INTERNAL_H
#define NL_INQUIRY_INTERNAL_H

#include "inquiry.h"
#include "evidence-source.h"

/* One piece of evidence, read. */
struct nl_evidence {
    char *name;
    size_t origin; /* which PATH it is from */
    struct nl_identity identity;
    unsigned long lines;
    unsigned long cut_lines;
    unsigned long long bytes;
    struct nl_clues clues;
    struct nl_guess guess;
    char *cut; /* why it was not read to its end; NULL: it was */
};

/* A rule that matched in a piece of evidence; VALUES differ between findings of the same rule. */
struct nl_finding {
    size_t rule;
    size_t evidence;
    size_t next_of_rule; /* another one in the same evidence, plus 1; 0: none */
    unsigned long first, last, count;
    char *line;
    char *values;
};

/* Something that was not read. */
struct nl_unread {
    char *name;
    char *why;
    bool failed;
};

struct nl_inquiry {
    struct nl_rules *rules;
    struct nl_source_limits limits;
    size_t origin;
    struct nl_evidence *evidence;
    size_t n_evidence;
    struct nl_finding *findings;
    size_t n_findings;
    size_t lost_findings; /* beyond FINDINGS_MAX */
    struct nl_unread *unread;
    size_t n_unread;
    size_t lost_unread;
    size_t failed;
    size_t *by_rule; /* the current evidence's latest finding of a rule, plus 1 */
    /* The evidence at hand. */
    struct nl_line_cutter *cutter;
    char *head; /* its beginning until it is identified; all of XML and documents */
    size_t head_length;
    size_t head_room;
    bool identified;
    char *line; /* a line that had to be cleaned */
    char parameter_name[128];
};

/* Begin evidence that is known to be WHAT, of KINDS; lines go to nl_inquiry_line(), then
   nl_inquiry_end(). Returns -1 if there is too much of it. */
int nl_inquiry_begin(struct nl_inquiry *inquiry, const char *name,
                     const struct nl_identity *identity, int layer);
void nl_inquiry_end(struct nl_inquiry *inquiry);

/* Read STREAM, as nl_inquiry_path() reads a file. */
void nl_inquiry_stream(struct nl_inquiry *inquiry, const char *name, struct nl_stream *stream);

/* One raw line of the evidence at hand. */
void nl_inquiry_line(struct nl_inquiry *inquiry, const char *text, size_t length,
                     unsigned long number);

/* A line that is as rules want it. */
void nl_inquiry_match(struct nl_inquiry *inquiry, const struct nl_line *line);

void nl_inquiry_not_read(struct nl_inquiry *inquiry, const char *name, const char *why,
                         bool failed);

/* A document's text; remembers why, if it is none. */
void nl_inquiry_document_text(struct nl_inquiry *inquiry, const char *name, const char *text,
                              size_t length);

#endif
