/*
 * base64.h - RFC 4648 base64, strict: padding is a must, blanks and line ends are refused.
 */
#ifndef AGENT_BASE64_H
#define AGENT_BASE64_H

#include <stddef.h>

/* Malloc'd, zero-terminated; NULL without memory. */
char *agent_base64_encode(const void *bytes, size_t length);

/* Malloc'd, LENGTH receives the number of bytes; NULL if TEXT is not base64 (or without memory). */
unsigned char *agent_base64_decode(const char *text, size_t text_length, size_t *length);

#endif
