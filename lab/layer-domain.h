/*
 * layer-domain.h - from a layer's specification to the domain that libvirt starts.
 */
#ifndef NL_LAYER_DOMAIN_H
#define NL_LAYER_DOMAIN_H

#include "domain.h"
#include "stack.h"

/* The port that the sshd of layer INDEX has on every guest further out. */
#define NL_GUEST_PORT(index) (2200 + (int)(index))

/* The domain of LAYER, which must be a guest, as XML (the caller's); ABOUT gets the document's
   "domain" object. */
int nl_layer_domain(const struct nl_layer *layer, char **xml, json_t **about,
                    struct nl_error **err);

#endif
