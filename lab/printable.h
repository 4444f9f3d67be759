/*
 * printable.h - text of guests and files made fit for a terminal and for XML.
 */
#ifndef NL_PRINTABLE_H
#define NL_PRINTABLE_H

#include <stddef.h>

/* TEXT (UTF-8; NULL is "") with everything that moves a cursor, hides or reorders text made visible
   as \xNN or \uNNNN, cut to at most COLUMNS characters (0: no limit) with "..." at the end. The
   caller's; NULL when out of memory. */
char *nl_printable(const char *text, size_t columns);

/* TEXT without the characters that XML 1.0 has no way to write: each becomes U+FFFD. Tab, newline
   and carriage return stay. Cut to at most LIMIT bytes, from the front: the end of an output tells
   more. The caller's; NULL when out of memory. */
char *nl_xml_text(const char *text, size_t limit);

/* Characters of TEXT, which nl_printable made: what a table counts. */
size_t nl_columns(const char *text);

#endif
