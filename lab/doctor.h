/*
 * doctor.h - what nested virtualization needs, what is there, and what to do about the difference:
 * of this machine, of a layer of a kept stack, or of a host that libvirt reaches.
 *
 * Gathering and judging are apart: what was gathered is a JSON object (docs/doctor.md), and the
 * judgement is a pure function of it.
 */
#ifndef NL_DOCTOR_H
#define NL_DOCTOR_H

#include "error.h"

#include <stdbool.h>

/* Each gives an object with "subject" and what could be learned; what could not is named in
   "unknown" with its reason. They fail only where nothing at all can be looked at, or on an
   interrupt. Nothing is changed, and nothing is left behind. */
/* STORE: the folder of the image store; NULL: the default. */
int nl_doctor_machine(const char *store, json_t **gathered, struct nl_error **err);
/* LAYER of the kept stack STACK (an id or its beginning; NULL: the only one). */
int nl_doctor_layer(const char *layer, const char *stack, json_t **gathered, struct nl_error **err);
int nl_doctor_uri(const char *uri, json_t **gathered, struct nl_error **err);

/* {"rows": [...], "paths": {"local": {...}, "emulated": {...}}, "possible": true | false | null,
   "next": "..."}: a new reference. GATHERED may hold anything. */
json_t *nl_doctor_judge(const json_t *gathered);

/* What leads to which exit status: a run is possible, it is not, it cannot be told. */
enum nl_exit nl_doctor_status(const json_t *judged);

void nl_doctor_print(const json_t *gathered, const json_t *judged, FILE *out, bool colour);

#endif
