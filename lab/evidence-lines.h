/*
 * evidence-lines.h - bytes of any log into lines that rules can be matched against.
 */
#ifndef NL_EVIDENCE_LINES_H
#define NL_EVIDENCE_LINES_H

#include "evidence-kind.h"

#include <stdbool.h>
#include <stddef.h>

/* A line longer than this is cut: what follows is skipped up to the next newline. */
#define NL_LINE_MAX 65536

/* A stripped line: without time stamp, level, host, program, escape sequences. TEXT is not
   NUL-terminated; nothing in it is below 0x20. */
struct nl_line {
    const char *text;
    size_t length;
    unsigned kinds;       /* what rules it is for */
    unsigned long number; /* from 1, in the evidence */
};

/* Strip TEXT, which is clean (nl_line_clean), of what loggers put in front. USUAL are the kinds of
   the evidence; a line that is marked as another program's gets that one's. */
void nl_line_strip(const char *text, size_t length, unsigned usual, struct nl_line *line);

/* The kinds of what the program of that name logs: the kernel's, QEMU's, libvirt's, anybody's. */
unsigned nl_line_kinds_of_program(const char *name, size_t length);

/* Is there nothing to clean in it? */
bool nl_line_is_clean(const char *text, size_t length);

/* Take escape sequences, NULs and other control characters out of TEXT, into OUT (at least LENGTH
   bytes); tabs become blanks. Returns the length. */
size_t nl_line_clean(const char *text, size_t length, char *out);

/* Cuts bytes into lines. TAKE gets them one by one: not cleaned, without newline. */
struct nl_line_cutter;
typedef void nl_line_take(void *context, const char *text, size_t length, unsigned long number);

struct nl_line_cutter *nl_line_cutter_new(nl_line_take *take, void *context); /* NULL: no memory */
void nl_line_cutter_feed(struct nl_line_cutter *cutter, const char *bytes, size_t length);

/* The last line may lack its newline. */
void nl_line_cutter_end(struct nl_line_cutter *cutter);
unsigned long nl_line_cutter_lines(const struct nl_line_cutter *cutter);
unsigned long
nl_line_cutter_cut(const struct nl_line_cutter *cutter); /* lines that were too long */
void nl_line_cutter_free(struct nl_line_cutter **cutter);
#define cleanup_cutter NL_CLEANUP(nl_line_cutter_free)

#endif
