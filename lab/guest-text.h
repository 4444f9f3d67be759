/*
 * guest-text.h - text of guests made fit for terminals, JSON and reports.
 */
#ifndef NL_GUEST_TEXT_H
#define NL_GUEST_TEXT_H

#include <stddef.h>

/* BYTES as printable UTF-8, the caller's: terminal control sequences are dropped, a tab becomes a
   space, a carriage return at the end is dropped, all other bytes that are no printable text become
   \xNN. Aborts when out of memory. */
char *nl_guest_text(const char *bytes, size_t length);

#endif
