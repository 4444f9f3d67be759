/*
 * store-keys.c - the SSH keys of a store: the runner's, and the one host key of all its guests.
 *
 * Made once per store and put into its images, so that the runner can pin the guests' host key and
 * no password is needed anywhere.
 */
#include "store.h"
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <libssh/libssh.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

static void free_key(ssh_key *key)
{
    ssh_key_free(*key);
}

/* The file may not be readable by others even for a moment: it is made empty with its mode first.
 */
static int make_private_file(const char *path, struct nl_error **err)
{
    int fd;

    unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make %s", path);
    close(fd);
    return 0;
}

static int make_key(const char *path, struct nl_error **err)
{
    NL_CLEANUP(free_key) ssh_key key = NULL;
    cleanup_free char *fresh = NULL, *public_path = NULL;

    if (asprintf(&fresh, "%s.new", path) < 0 || asprintf(&public_path, "%s.pub", path) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (ssh_pki_generate(SSH_KEYTYPE_ED25519, 0, &key) != SSH_OK)
        return nl_fail(err, NL_EXIT_LAB, "cannot generate an SSH key");
    if (make_private_file(fresh, err) < 0)
        return -1;
    if (ssh_pki_export_privkey_file(key, NULL, NULL, NULL, fresh) != SSH_OK ||
        ssh_pki_export_pubkey_file(key, public_path) != SSH_OK)
        return nl_fail(err, NL_EXIT_LAB, "cannot write the SSH key %s", path);
    if (rename(fresh, path) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot rename %s", fresh);
    return 0;
}

/* "ssh-ed25519 AAAA..." of the private key in the file at PATH. */
static int public_half(const char *path, char **text, struct nl_error **err)
{
    NL_CLEANUP(free_key) ssh_key key = NULL;
    char *base64 = NULL;
    int n;

    if (ssh_pki_import_privkey_file(path, NULL, NULL, NULL, &key) != SSH_OK ||
        ssh_pki_export_pubkey_base64(key, &base64) != SSH_OK) {
        nl_fail(err, NL_EXIT_LAB, "cannot read the SSH key %s", path);
        return nl_hint(err, "remove the folder it is in: new keys are made, and images with them");
    }
    n = asprintf(text, "%s %s", ssh_key_type_to_char(ssh_key_type(key)), base64);
    ssh_string_free_char(base64);
    return n < 0 ? nl_fail(err, NL_EXIT_LAB, "out of memory") : 0;
}

/* ssh refuses a key that others can read, and rightly: it is made private again, and that is told.
 */
static int keep_private(const char *path, struct nl_error **err)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot look at the SSH key %s", path);
    if ((st.st_mode & 077) == 0)
        return 0;
    if (chmod(path, 0600) < 0) {
        nl_fail_errno(err, NL_EXIT_LAB, errno,
                      "others can read the SSH key %s, and it cannot be "
                      "made private",
                      path);
        return nl_hint(err, "let its owner do `chmod 600`, or use a store of your own (--store)");
    }
    nl_progress_note("others could read the SSH key %s (mode %04o): made it private", path,
                     (unsigned)st.st_mode & 07777);
    return 0;
}

static int load_key(const char *path, char **public_text, struct nl_error **err)
{
    if (access(path, F_OK) < 0 && make_key(path, err) < 0)
        return -1;
    if (keep_private(path, err) < 0)
        return -1;
    return public_half(path, public_text, err);
}

int nl_store_load_keys(struct nl_store *store, struct nl_error **err)
{
    cleanup_free char *folder = nl_store_name(store, "keys");
    cleanup_free char *lock_path = nl_store_name(store, "keys/lock");
    cleanup_close int lock = -1;

    store->client_key = nl_store_name(store, "keys/client");
    store->host_key_file = nl_store_name(store, "keys/host");
    if (!folder || !lock_path || !store->client_key || !store->host_key_file)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (mkdir(folder, 0700) < 0 && errno != EEXIST)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make %s", folder);
    /* Two first uses of a store at once must end up with the same keys. */
    lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot lock %s", lock_path);
    if (load_key(store->client_key, &store->client_public, err) < 0)
        return -1;
    return load_key(store->host_key_file, &store->host_key, err);
}
