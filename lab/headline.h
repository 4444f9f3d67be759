/*
 * headline.h - the words of a long message that a reader needs first.
 */
#ifndef NL_HEADLINE_H
#define NL_HEADLINE_H

/* The first parts of MESSAGE, a chain with colons between them, somewhat more than a line at most:
   not what a program printed for its own log (JSON, a time stamp), nor what names the folder of the
   run ID (NULL: there is none). The caller's; NULL when out of memory. */
char *nl_headline(const char *message, const char *id);

#endif
