/*
 * sha256.c - SHA-256 with OpenSSL: see sha256.h.
 */
#include "sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/stat.h>

struct nl_sha256 {
    EVP_MD_CTX *context;
    bool failed;
};

struct nl_sha256 *nl_sha256_new(void)
{
    struct nl_sha256 *sha = calloc(1, sizeof(*sha));

    if (!sha)
        return NULL;
    sha->context = EVP_MD_CTX_new();
    sha->failed = !sha->context || EVP_DigestInit_ex(sha->context, EVP_sha256(), NULL) != 1;
    return sha;
}

void nl_sha256_free(struct nl_sha256 **sha)
{
    if (!*sha)
        return;
    EVP_MD_CTX_free((*sha)->context);
    free(*sha);
    *sha = NULL;
}

static void update(struct nl_sha256 *sha, const void *bytes, size_t length)
{
    if (sha && !sha->failed && EVP_DigestUpdate(sha->context, bytes, length) != 1)
        sha->failed = true;
}

static void begin_part(struct nl_sha256 *sha, const char *name, char kind, uint64_t length)
{
    char head[32];
    int n = snprintf(head, sizeof(head), "%c%llu:", kind, (unsigned long long)length);

    update(sha, name, strlen(name) + 1);
    update(sha, head, (size_t)n);
}

void nl_sha256_bytes(struct nl_sha256 *sha, const char *name, const void *bytes, size_t length)
{
    begin_part(sha, name, 'b', length);
    update(sha, bytes, length);
}

void nl_sha256_text(struct nl_sha256 *sha, const char *name, const char *text)
{
    if (text)
        nl_sha256_bytes(sha, name, text, strlen(text));
    else
        begin_part(sha, name, 'n', 0);
}

int nl_sha256_file(struct nl_sha256 *sha, const char *name, const char *path, struct nl_error **err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    cleanup_free char *buffer = malloc(1 << 18);
    struct stat st;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) < 0)
        return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "cannot read %s", path);
    if (!S_ISREG(st.st_mode))
        return nl_fail(err, NL_EXIT_REQUEST, "%s is not a file", path);
    if (!buffer)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    begin_part(sha, name, 'b', (uint64_t)st.st_size);
    while ((n = read(fd, buffer, 1 << 18)) > 0)
        update(sha, buffer, (size_t)n);
    if (n < 0)
        return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "cannot read %s", path);
    return 0;
}

int nl_sha256_end(struct nl_sha256 *sha, char **hex, struct nl_error **err)
{
    unsigned char digest[NL_SHA256_HEX / 2];
    unsigned int length = 0;
    char *text = calloc(1, NL_SHA256_HEX + 1);

    if (!sha || !text || sha->failed || EVP_DigestFinal_ex(sha->context, digest, &length) != 1 ||
        length != sizeof(digest)) {
        free(text);
        return nl_fail(err, NL_EXIT_LAB, "cannot compute a SHA-256");
    }
    for (size_t i = 0; i < sizeof(digest); i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    *hex = text;
    return 0;
}
