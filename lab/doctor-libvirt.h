/*
 * doctor-libvirt.h - what a libvirt connection tells of its host.
 */
#ifndef NL_DOCTOR_LIBVIRT_H
#define NL_DOCTOR_LIBVIRT_H

#include "deadline.h"

#include <libvirt/libvirt.h>

/* Open URI as any client does, or read-only where that is all that is allowed. */
int nl_doctor_connect(const char *uri, nl_deadline deadline, virConnectPtr *conn,
                      struct nl_error **err);

/* Ask CONN (its own reference is taken) all that it can tell: "libvirt" of docs/doctor.md, a new
   reference. A question that fails is an "error" in its place; only the deadline is an error of the
   whole. */
int nl_doctor_ask_libvirt(virConnectPtr conn, nl_deadline deadline, json_t **told,
                          struct nl_error **err);

/* The host's CPU, architecture and domain types by libvirt's capabilities XML; a new reference,
   NULL if that is no such text. */
json_t *nl_doctor_capabilities(const char *xml);

#endif
