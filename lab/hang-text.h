/*
 * hang-text.h - making evidence out of what a hang's sources say: pure functions on text that
 * nobody vouches for.
 */
#ifndef NL_HANG_TEXT_H
#define NL_HANG_TEXT_H

#include "look.h"

#include <jansson.h>

/* Looks as failure.evidence.looks has them. New reference. */
json_t *nl_hang_looks(const struct nl_look *looks, size_t n);

/* The addresses in the kernel's text at which a vCPU was seen, or that are on STACK (what QEMU's
   "x" printed; may be NULL): hexadecimal strings, each once, 64 at most, those seen first. */
json_t *nl_hang_addresses(const struct nl_look *looks, size_t n, const char *stack);

/* Put the names of ADDRESSES, SYMBOLS in parallel (null: unknown), into LOOKS, an array as of
   nl_hang_looks(), and return those on STACK from its top on. New reference. */
json_t *nl_hang_name(const json_t *addresses, const json_t *symbols, json_t *looks,
                     const char *stack);

/* What an agent counted (agents/protocol.h, "exit-reasons") as {"hlt": "123"}, the most frequent
   first. New reference. */
json_t *nl_hang_reasons(const json_t *reply);

/* What an NMI made a console say: LINES, which are consumed, from the NMI on. New reference. */
json_t *nl_hang_since_nmi(json_t *lines);

/* Does the QEMU of EVIDENCE's guest neither run nor wait: stopped, traced, dead? */
bool nl_hang_stopped(const json_t *evidence);

/* EVIDENCE in a few lines for people. New reference. */
json_t *nl_hang_summary(const json_t *evidence);

#endif
