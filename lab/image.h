/*
 * image.h - the content-addressed store of images, and asking the builder for what is missing.
 *
 * STORE/
 *   keys/             client and host keys of this store (mode 0600), made at first use
 *   images/DIGEST/    one finished image (disk.qcow2, kernel, initrd, ..., image.json,
 * manifest.json), or one of the layers that images share resolved/         what apt resolved for a
 * recipe's packages; --refresh asks again tmp/              builds in progress; an interrupted
 * build leaves its rest only here logs/             what the programs that made a layer said apt/,
 * appliance/  caches of apt and of libguestfs; may be removed A folder in images/ appears by
 * rename(2) when all of it is there, and is never changed afterwards. Names inside the store are
 * relative: it can be moved.
 */
#ifndef NL_IMAGE_H
#define NL_IMAGE_H

#include "deadline.h"
#include "scenario.h"

struct nl_store;

/* What is wanted: a recipe, and what is laid over it. */
struct nl_image_request {
    const char *recipe;
    const struct nl_kernel_spec *kernel; /* NULL or all NULL: the image's own */
    char *const *debs;                   /* NULL-terminated, or NULL */
    nl_deadline deadline;                /* for building; 0: an hour */
};

/* A finished image: absolute paths into the store. */
struct nl_image {
    char *recipe;
    char *digest;  /* SHA-256, hex */
    char *disk;    /* qcow2 to put an overlay on; NULL: the image has none (leaf) */
    char *kernel;  /* bzImage */
    char *vmlinux; /* the same kernel, uncompressed ELF with a PVH entry; NULL if there is none */
    char *initrd;
    char *scratch; /* qcow2 with an empty ext4 file system, for disk benchmarks; NULL: none */
    char *kernel_release; /* as uname -r will say */
    json_t *about; /* image.json: recipe, digest, parent digests, package versions, sizes, times */
    int hold;      /* a descriptor with a lock that keeps it in the store, or -1 */
};

/* Open (and make, with its keys) the store at PATH; NULL: the default under $XDG_CACHE_HOME or
   ~/.cache. RECIPES is the folder that holds the recipes (NULL: found beside the binary, or
   NL_PREFIX/share/nestlab/images), AGENT the agent binary to put into images (NULL: found
   likewise). */
int nl_store_open(const char *path, const char *recipes, const char *agent, struct nl_store **store,
                  struct nl_error **err);
void nl_store_close(struct nl_store **store);
#define cleanup_store NL_CLEANUP(nl_store_close)

/* That default, the caller's. */
int nl_store_default_path(char **path, struct nl_error **err);

const char *nl_store_path(const struct nl_store *store);
const char *nl_store_agent(const struct nl_store *store); /* the agent binary's path */
const char *
nl_store_client_key(const struct nl_store *store);           /* private key file, OpenSSH format */
const char *nl_store_host_key(const struct nl_store *store); /* "ssh-ed25519 AAAA...", the public
                                                                host key of every guest */

/* The image for REQUEST: from the store, or built now with progress on standard error. REFRESH asks
   apt again. A build in another process is waited for. BUILT (may be NULL) says whether it was
   built. */
int nl_image_ensure(struct nl_store *store, const struct nl_image_request *request, bool refresh,
                    struct nl_image **image, bool *built, struct nl_error **err);
void nl_image_free(struct nl_image **image);
#define cleanup_image NL_CLEANUP(nl_image_free)

/* Names of all recipes, NULL-terminated, the caller's. */
int nl_store_recipes(struct nl_store *store, char ***names, struct nl_error **err);

/* Remove images, and layers of them, that no recipe of today comes to and that were not used for
   OLDER_S seconds; never one that a run holds. REMOVED gets [{"image": digest, "what": recipe or
   layer, "unused_days", "bytes"}], after a failure too. DRY_RUN only reports. */
int nl_store_collect(struct nl_store *store, double older_s, bool dry_run, json_t **removed,
                     struct nl_error **err);

/* Remove what interrupted builds left in tmp/ and killed runs in warm/, and nothing that a live
   process holds. */
int nl_store_clean(struct nl_store *store, struct nl_error **err);

#endif
