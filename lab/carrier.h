/*
 * carrier.h - a byte stream to a layer, whatever carries it: a libvirt stream, a local process, an
 * SSH channel. pump.h moves the bytes, and is the only caller of these functions.
 */
#ifndef NL_CARRIER_H
#define NL_CARRIER_H

#include "error.h"

#include <libvirt/libvirt.h>
#include <sys/types.h>

/* An open stream. read and write are each called from one thread at a time, at the same time as the
   other. Implementations embed this as their first member. */
struct nl_carrier {
    /* Wait for bytes. 0: the stream ended, or was stopped. -1: it broke. */
    ssize_t (*read)(struct nl_carrier *carrier, char *buffer, size_t size, struct nl_error **err);
    /* Wait until some of the bytes are taken. -1: it broke, ended or was stopped. */
    ssize_t (*write)(struct nl_carrier *carrier, const char *bytes, size_t length,
                     struct nl_error **err);
    /* Make read and write return, now and from now on. From any thread; does not block. */
    void (*stop)(struct nl_carrier *carrier);
    /* Close and free; may block. Called once, when nobody is inside the other functions. */
    void (*free)(struct nl_carrier *carrier);
};

/* PORT of a running DOMAIN, a virtio-serial port's name; NULL: its serial console. Taken over if
   somebody else had it. Needs a thread that runs libvirt's default event loop, registered before
   the connection was opened. Takes its own reference on the domain's connection. */
int nl_carrier_open_stream(virDomainPtr domain, const char *port, struct nl_carrier **carrier,
                           struct nl_error **err);

#endif
