/*
 * dig.h - reading untrusted JSON: every accessor takes any value, NULL included, and a wrong type
 * is the same as absence.
 */
#ifndef NL_DIG_H
#define NL_DIG_H

#include <jansson.h>
#include <stdbool.h>

/* The value at PATH, object keys joined by dots ("cpuid.hypervisor.signature"); NULL if there is
   none or it is null. Borrowed. */
const json_t *nl_dig(const json_t *root, const char *path);

/* As nl_dig, for one type; FALLBACK where there is no such value. */
const char *nl_dig_string(const json_t *root, const char *path, const char *fallback);
double nl_dig_number(const json_t *root, const char *path, double fallback);
json_int_t nl_dig_integer(const json_t *root, const char *path, json_int_t fallback);
bool nl_dig_true(const json_t *root, const char *path);

/* The layer of that name in a document, or NULL. */
const json_t *nl_dig_layer(const json_t *document, const char *name);

/* The elements of ARRAY by their "name", the first of each: for an array of any length in which
   many names are looked up. New reference. */
json_t *nl_dig_by_name(const json_t *array);

/* Is the string at PATH equal to TEXT? */
bool nl_dig_is(const json_t *root, const char *path, const char *text);

/* The sum of an array of numbers; what is no number counts 0. */
double nl_dig_sum(const json_t *numbers);

#endif
