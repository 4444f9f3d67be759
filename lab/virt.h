/*
 * virt.h - libvirt, each call bounded by a deadline: connections, a domain's life, its counters.
 *
 * A call to the libvirt of a layer goes through guests that may hang, and libvirt itself never
 * gives up; so every call here runs in a thread that can be left behind (nl_call_with_deadline).
 */
#ifndef NL_VIRT_H
#define NL_VIRT_H

#include "deadline.h"

#include <libvirt/libvirt.h>

/* Once per process: libvirt's log goes to LOG, its errors into error objects, its event loop into a
   thread of its own. */
int nl_virt_start(const char *log, struct nl_error **err);

/* The QEMU driver inside this process, with ROOT (absolute, short: libvirt makes sockets under it)
   for all it keeps. One root per process, one process per root. */
int nl_virt_open_embed(const char *root, virConnectPtr *conn, struct nl_error **err);

/* The libvirt daemon of a layer, through its sshd on 127.0.0.1:PORT. KNOWN_HOSTS pins the host key.
   Retries until DEADLINE: a port that accepts proves nothing. */
int nl_virt_open_ssh(int port, const char *key, const char *known_hosts, nl_deadline deadline,
                     virConnectPtr *conn, struct nl_error **err);

/* Start a transient domain, paused, so that its console can be opened before it says anything. */
int nl_virt_create(virConnectPtr conn, const char *xml, nl_deadline deadline, virDomainPtr *domain,
                   struct nl_error **err);
int nl_virt_resume(virDomainPtr domain, nl_deadline deadline, struct nl_error **err);

/* VIR_DOMAIN_RUNNING and so on, with the reason; a domain that no longer exists is
   VIR_DOMAIN_SHUTOFF. */
int nl_virt_state(virDomainPtr domain, nl_deadline deadline, int *state, int *reason,
                  struct nl_error **err);

/* The counters of a domain as an object, name -> decimal string (they may exceed 2^53). Empty for a
   domain under TCG. */
int nl_virt_counters(virDomainPtr domain, nl_deadline deadline, json_t **counters,
                     struct nl_error **err);

/* Ask QEMU by its human monitor, e.g. "info registers". The text is the caller's. */
int nl_virt_monitor(virDomainPtr domain, const char *command, nl_deadline deadline, char **text,
                    struct nl_error **err);

/* Give its vCPUs a non-maskable interrupt. */
int nl_virt_inject_nmi(virDomainPtr domain, nl_deadline deadline, struct nl_error **err);

/* End a domain at once. Not finding it is success. */
int nl_virt_destroy(virDomainPtr domain, nl_deadline deadline, struct nl_error **err);

/* Drop a connection; does not wait for a far end that is gone. */
void nl_virt_close(virConnectPtr *conn);

/* The library's version, "9.0.0": a new reference, or NULL. After nl_virt_start(): libvirt decides
   where it logs when it is first called. */
json_t *nl_virt_library_version(void);

/* The version of the QEMU that CONN starts by default, likewise. */
json_t *nl_virt_qemu_version(virConnectPtr conn);

#endif
