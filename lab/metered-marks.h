/*
 * metered-marks.h - which metered counts are not what an operation takes by itself, and why: the
 * rows that reports mark with "~".
 */
#ifndef NL_METERED_MARKS_H
#define NL_METERED_MARKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Why, as bits. */
enum nl_mark {
    NL_MARK_FEW = 1, /* too few operations to judge by */
    NL_MARK_INTERRUPTS =
        2, /* interrupts are in the count: ticks, or what the operation waits for */
    NL_MARK_NOT_TYPICAL = 4, /* no count stands out, the median one is shown */
};

/* The marks of all metered benchmarks of DOCUMENT, to look into. New reference.

   An IRET of another layer than the one that ran the operation is the end of an interrupt there
   (its own may be faults or signals of the operation). IRETs of L0's own are taken for interrupts
   where there are such in the same benchmark's row of L1, and IRETs of any layer where no operation
   is undisturbed. docs/report.md says it to users. */
json_t *nl_metered_marks(const json_t *document);

/* Those of METERED, which is of the layer with index AT; 0: none. */
unsigned nl_metered_mark(const json_t *marks, size_t at, const json_t *metered);

/* What is said below the table of metered counts: a line for each mark that there is, with its
   rows; then what was not metered, or less often than asked for, and why. Array of strings, new
   reference. */
json_t *nl_metered_notes(const json_t *document, const json_t *marks);

/* Was all left out that DOCUMENT's run was to meter? */
bool nl_metered_nothing(const json_t *document);

/* The rows that the table of exits leaves out, as their exits may be those of interrupts: "hash at
   L1, L2; ..."; NULL: none. The caller's. */
char *nl_metered_left_out(const json_t *document, const json_t *marks);

#endif
