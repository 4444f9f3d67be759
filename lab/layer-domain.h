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

/* What a layer boots from. */
struct nl_boot_files {
    char *kernel;
    char *initrd;
    const char *firmware; /* NULL: QEMU's default */
};

/* Where the boot files of LAYER are: FROM_GUEST, in every guest that boots another, else on this
   machine. FILES must be zeroed, and is the caller's: nl_boot_files_clear(). */
int nl_layer_boot_files(const struct nl_layer *layer, bool from_guest, struct nl_boot_files *files,
                        struct nl_error **err);
void nl_boot_files_clear(struct nl_boot_files *files);
#define cleanup_boot_files NL_CLEANUP(nl_boot_files_clear)

#endif
