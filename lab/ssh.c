/*
 * ssh.c - SSH sessions: connecting, pinning the host key, authenticating; see ssh.h.
 */
#include "ssh.h"
#include "ssh-internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define WAIT_MS 100

static void free_keyp(ssh_key *key)
{
    ssh_key_free(*key);
}
#define cleanup_key NL_CLEANUP(free_keyp)

struct nl_ssh *nl_ssh_ref(struct nl_ssh *ssh)
{
    atomic_fetch_add(&ssh->references, 1);
    return ssh;
}

void nl_ssh_unref(struct nl_ssh *ssh)
{
    if (atomic_fetch_sub(&ssh->references, 1) != 1)
        return;
    if (ssh->session) {
        ssh_disconnect(ssh->session);
        ssh_free(ssh->session);
    }
    pthread_mutex_destroy(&ssh->lock);
    free(ssh);
}

short nl_ssh_poll_events(struct nl_ssh *ssh)
{
    int flags;

    pthread_mutex_lock(&ssh->lock);
    flags = ssh_get_poll_flags(ssh->session);
    pthread_mutex_unlock(&ssh->lock);
    return flags & SSH_WRITE_PENDING ? POLLIN | POLLOUT : POLLIN;
}

int nl_ssh_wait(struct nl_ssh *ssh, nl_deadline deadline, const char *what, struct nl_error **err)
{
    struct pollfd fd = {.fd = ssh->fd, .events = nl_ssh_poll_events(ssh)};
    int left = nl_deadline_left_ms(deadline);

    if (nl_interrupt_check(err) < 0)
        return -1;
    if (left == 0)
        return nl_fail(err, NL_EXIT_LAB, "%s: no answer before its deadline", what);
    poll(&fd, 1, left < WAIT_MS ? left : WAIT_MS);
    return 0;
}

int nl_ssh_fail(struct nl_ssh *ssh, struct nl_error **err, const char *what)
{
    int rc;

    pthread_mutex_lock(&ssh->lock);
    rc = nl_fail(err, NL_EXIT_LAB, "%s: %s", what, ssh_get_error(ssh->session));
    pthread_mutex_unlock(&ssh->lock);
    return rc;
}

/* A connected, non-blocking socket. */
static int connect_loopback(int port, nl_deadline deadline, struct nl_error **err)
{
    cleanup_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
    socklen_t size = sizeof(int);
    int error = 0;

    if (port <= 0 || port > 65535)
        return nl_fail(err, NL_EXIT_REQUEST, "%d is not a port", port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make a socket");
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 && errno != EINPROGRESS)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot connect to 127.0.0.1:%d", port);
    if (poll(&poll_fd, 1, nl_deadline_left_ms(deadline)) < 1)
        return nl_fail(err, NL_EXIT_LAB, "127.0.0.1:%d did not accept before the deadline", port);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error)
        return nl_fail_errno(err, NL_EXIT_LAB, error, "cannot connect to 127.0.0.1:%d", port);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return nl_steal_fd(&fd);
}

/* The key in a "TYPE BASE64 [COMMENT]" line. TYPE_NAME is the caller's. */
static int parse_public_key(const char *line, ssh_key *key, char **type_name, struct nl_error **err)
{
    cleanup_free char *type = NULL;
    cleanup_free char *base64 = NULL;

    if (sscanf(line, "%ms %ms", &type, &base64) != 2 ||
        ssh_pki_import_pubkey_base64(base64, ssh_key_type_from_name(type), key) < 0)
        return nl_fail(err, NL_EXIT_LAB, "the pinned host key is not a public key");
    *type_name = nl_steal(&type);
    return 0;
}

static int set_options(struct nl_ssh *ssh, const struct nl_ssh_target *target, const char *key_type,
                       struct nl_error **err)
{
    int no = 0;
    /* Ask for the kind of key that is pinned: a server may have several. RSA's signature names
       differ from the key's, and libssh's own list has them. */
    bool named = !strcmp(key_type, "ssh-ed25519");
    const struct {
        enum ssh_options_e option;
        const void *value;
    } options[] = {
        {SSH_OPTIONS_PROCESS_CONFIG, &no},
        {SSH_OPTIONS_HOST, "127.0.0.1"},
        {SSH_OPTIONS_PORT, &target->port},
        {SSH_OPTIONS_FD, &ssh->fd},
        {SSH_OPTIONS_USER, target->user ? target->user : "root"},
        {SSH_OPTIONS_KNOWNHOSTS, "/dev/null"},
        {SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null"},
        {SSH_OPTIONS_HOSTKEYS, named ? key_type : NULL},
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (options[i].value &&
            ssh_options_set(ssh->session, options[i].option, options[i].value) < 0)
            return nl_ssh_fail(ssh, err, "setting up SSH");
    ssh_set_blocking(ssh->session, 0);
    return 0;
}

static int check_host_key(struct nl_ssh *ssh, const ssh_key pinned, struct nl_error **err)
{
    cleanup_key ssh_key offered = NULL;

    if (ssh_get_server_publickey(ssh->session, &offered) < 0)
        return nl_ssh_fail(ssh, err, "reading the host key");
    if (ssh_key_cmp(offered, pinned, SSH_KEY_CMP_PUBLIC) == 0)
        return 0;
    nl_fail(err, NL_EXIT_LAB, "the server's host key is not the pinned one");
    return nl_hint(err, "something else listens on this port: another stack, or another server");
}

static int authenticate(struct nl_ssh *ssh, const char *key_file, nl_deadline deadline,
                        struct nl_error **err)
{
    cleanup_key ssh_key key = NULL;
    int rc;

    if (ssh_pki_import_privkey_file(key_file, NULL, NULL, NULL, &key) != SSH_OK)
        return nl_fail(err, NL_EXIT_LAB, "%s is not a private key that can be read", key_file);
    rc = nl_ssh_step(ssh, ssh_userauth_publickey(ssh->session, NULL, key), SSH_AUTH_AGAIN, deadline,
                     "authenticating", err);
    if (rc == NL_SSH_LATE)
        return -1;
    if (rc == SSH_AUTH_ERROR)
        return nl_ssh_fail(ssh, err, "authenticating");
    if (rc != SSH_AUTH_SUCCESS)
        return nl_fail(err, NL_EXIT_LAB, "the server refused the key %s", key_file);
    return 0;
}

static int establish(struct nl_ssh *ssh, const struct nl_ssh_target *target, nl_deadline deadline,
                     struct nl_error **err)
{
    cleanup_key ssh_key pinned = NULL;
    cleanup_free char *type = NULL;
    int rc;

    if (parse_public_key(target->host_key, &pinned, &type, err) < 0)
        return -1;
    ssh->fd = connect_loopback(target->port, deadline, err);
    if (ssh->fd < 0)
        return -1;
    ssh->session = ssh_new();
    rc = ssh->session ? set_options(ssh, target, type, err)
                      : nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (rc < 0) {
        close(ssh->fd); /* the session takes it over when it connects */
        return -1;
    }
    rc = nl_ssh_step(ssh, ssh_connect(ssh->session), SSH_AGAIN, deadline, "the SSH handshake", err);
    if (rc == NL_SSH_LATE)
        return -1;
    if (rc != SSH_OK)
        return nl_ssh_fail(ssh, err, "the SSH handshake");
    if (check_host_key(ssh, pinned, err) < 0)
        return -1;
    return authenticate(ssh, target->key, deadline, err);
}

int nl_ssh_open(const struct nl_ssh_target *target, nl_deadline deadline, struct nl_ssh **out,
                struct nl_error **err)
{
    struct nl_ssh *ssh = calloc(1, sizeof(*ssh));

    if (!ssh)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    ssh->fd = -1;
    pthread_mutex_init(&ssh->lock, NULL);
    atomic_init(&ssh->references, 1);
    if (establish(ssh, target, deadline, err) < 0) {
        nl_ssh_unref(ssh);
        return nl_wrap(err, "SSH to 127.0.0.1:%d", target->port);
    }
    *out = ssh;
    return 0;
}

void nl_ssh_close(struct nl_ssh **ssh)
{
    if (*ssh)
        nl_ssh_unref(nl_steal(ssh));
}
