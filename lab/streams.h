/*
 * streams.h - the program's standard streams: sound at its start, and looked at before its end.
 */
#ifndef NL_STREAMS_H
#define NL_STREAMS_H

#include "error.h"

/* Open /dev/null in place of the standard descriptors that the caller has closed: otherwise the
   next file opened gets such a number, and what is printed lands in it. */
void nl_streams_open(void);

/* OPERANDS, which end with NULL, may name standard input ("-") once: it can be read only once. */
int nl_streams_read_once(char *const *operands, struct nl_error **err);

/* Write what standard output still holds. STATUS, or NL_EXIT_LAB and a message when STATUS says
   that all is well but the output could not be written. A reader who left (`| head`) has seen
   enough: no error. */
int nl_streams_finish(int status);

#endif
