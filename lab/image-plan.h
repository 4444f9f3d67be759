/*
 * image-plan.h - from a request to the layers of its image: what each is made of, and its digest.
 *
 *   kernel    bzImage, vmlinux, modules: Debian's (by package version) or the user's
 *   debian    a disk with Debian's packages, by their versions              (images with a disk)
 *   system    over it: the kernel's modules, the recipe's files, the store's keys
 *   debs      over it: the user's packages                                      (if asked for)
 *   busybox, scratch
 *   image     initramfs with the agent, and references to the layers above
 *
 * A digest covers all that goes into the layer, so an entry of the store that has it is the layer.
 * What apt gives for a package's name today is kept in STORE/resolved/, so that no network is
 * needed to find that an image is there.
 */
#ifndef NL_IMAGE_PLAN_H
#define NL_IMAGE_PLAN_H

#include "recipe.h"
#include "store.h"

struct nl_plan {
    struct nl_recipe *recipe;
    json_t *resolved;    /* {"asked": KEY, "kernel": {"package", "version"}, "versions": {...}} */
    char *debian_kernel; /* digest of Debian's own kernel; the appliance boots it */
    char *kernel;        /* the image's kernel: the above, or the user's */
    char *debian, *system, *debs; /* NULL where there is no such layer */
    char *busybox, *scratch;      /* likewise */
    char *image;
};

/* The plan for REQUEST. PLAN is NULL (and 0 is returned) if apt has to be asked first. */
int nl_plan_make(const struct nl_store *store, const struct nl_image_request *request,
                 struct nl_plan **plan, struct nl_error **err);
void nl_plan_free(struct nl_plan **plan);
#define cleanup_plan NL_CLEANUP(nl_plan_free)

/* Does REQUEST bring a kernel of its own? */
bool nl_request_has_kernel(const struct nl_image_request *request);

/* The digest of the disk that the image boots from; NULL: none. */
const char *nl_plan_disk(const struct nl_plan *plan);

/* What apt has to be asked for: the names of the packages, NULL-terminated, the caller's. */
int nl_plan_packages(const struct nl_recipe *recipe, char ***names, struct nl_error **err);

/* A key of what is asked of apt: if it changes, so must the answer be asked for again. */
int nl_plan_asked(const struct nl_recipe *recipe, char **key, struct nl_error **err);

#endif
