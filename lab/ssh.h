/*
 * ssh.h - SSH to a layer's sshd over its port on the runner's loopback, with the store's keys and a
 * pinned host key (libssh).
 */
#ifndef NL_SSH_H
#define NL_SSH_H

#include "deadline.h"

struct nl_ssh;

struct nl_ssh_target {
    int port;             /* on 127.0.0.1 */
    const char *key;      /* private key file */
    const char *host_key; /* "ssh-ed25519 AAAA...": anything else is refused */
};

int nl_ssh_open(const struct nl_ssh_target *target, nl_deadline deadline, struct nl_ssh **ssh,
                struct nl_error **err);
void nl_ssh_close(struct nl_ssh **ssh);
#define cleanup_ssh NL_CLEANUP(nl_ssh_close)

/* Copy one file out of the layer (SFTP). */
int nl_ssh_get(struct nl_ssh *ssh, const char *remote, const char *local, nl_deadline deadline,
               struct nl_error **err);
int nl_ssh_put(struct nl_ssh *ssh, const char *local, const char *remote, int mode,
               nl_deadline deadline, struct nl_error **err);

/* Run the login shell, or COMMAND, on a pty joined to this process's terminal until it ends; follows
   window size changes, restores the terminal on every path. EXIT_STATUS gets the remote status. */
int nl_ssh_shell(struct nl_ssh *ssh, const char *command, int *exit_status, struct nl_error **err);

/* A channel running COMMAND, for link-ssh.c: blocking read/write from two threads is safe. Reads return
   0 at the end. */
struct nl_ssh_channel;
int nl_ssh_exec(struct nl_ssh *ssh, const char *command, struct nl_ssh_channel **channel,
                struct nl_error **err);
ssize_t nl_ssh_channel_read(struct nl_ssh_channel *channel, char *buffer, size_t size);
ssize_t nl_ssh_channel_write(struct nl_ssh_channel *channel, const char *bytes, size_t length);
void nl_ssh_channel_close(struct nl_ssh_channel **channel);

#endif
