/*
 * store.h - the inside of the image store, for image.c and the builder; everybody else uses
 * image.h.
 *
 * Besides finished images, images/DIGEST/ holds the layers they are made of: a kernel with its
 * modules, a Debian disk, what is laid over it. Every entry is made in tmp/DIGEST/ under a lock and
 * appears by rename(2) when all of it is on disk.
 */
#ifndef NL_STORE_H
#define NL_STORE_H

#include "image.h"

struct nl_store {
    char *path;       /* absolute */
    char *recipes;    /* folder of recipes */
    char *agent;      /* the agent binary */
    char *client_key; /* private key file; its public half has ".pub" after it */
    char *client_public;
    char *host_key_file; /* the guests' private host key */
    char *host_key;      /* "ssh-ed25519 AAAA..." */
};

/* STORE/FORMAT..., the caller's; NULL: out of memory. */
char *nl_store_name(const struct nl_store *store, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Make the store's keys if they are not there, and read them. */
int nl_store_load_keys(struct nl_store *store, struct nl_error **err);

/* A program that comes with nestlab (the agent, the builder): beside the running binary, or where
   `make install` puts it. */
int nl_store_find_program(const char *name, char **path, struct nl_error **err);

/* An entry being made. */
struct nl_entry {
    char *digest;
    char *folder; /* put everything here */
    char *final;  /* where it will be */
    char *lock_path;
    int lock;
    bool there; /* the entry is finished already: nothing to do */
};

/* Is there a finished entry of that digest? */
bool nl_entry_exists(const struct nl_store *store, const char *digest);

/* Begin to make the entry DIGEST, WHAT is for messages. Waits, with progress, while another process
   makes the same one. */
int nl_entry_begin(const struct nl_store *store, const char *digest, const char *what,
                   struct nl_entry **entry, struct nl_error **err);

/* Flush it to disk and let it appear. */
int nl_entry_commit(struct nl_entry *entry, struct nl_error **err);

/* Let go; what was not committed is removed. */
void nl_entry_end(struct nl_entry **entry);
#define cleanup_entry NL_CLEANUP(nl_entry_end)

/* Name of the symbolic link in an entry's folder that leads to work files kept outside the store,
   and how such a folder's name begins. They are removed with the entry's folder. */
#define NL_ENTRY_OUTSIDE "outside"
#define NL_ENTRY_OUTSIDE_PREFIX "nestlab-build-"

/* Lock the whole store: ALONE for removing entries, else for looking one up or making it, so that
   none is removed meanwhile. LOCK gets a descriptor to close. */
int nl_store_lock(const struct nl_store *store, bool alone, nl_deadline deadline, int *lock,
                  struct nl_error **err);

/* Remove a folder and everything in it; what is not there is removed already. */
int nl_remove_tree(const char *path, struct nl_error **err);

#endif
