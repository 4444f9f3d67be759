/*
 * ssh.h - SSH to a layer's sshd over its port on the runner's loopback, with the store's keys and a
 * pinned host key (libssh).
 *
 * A session may be used from several threads; its functions take turns. No configuration file, no
 * known_hosts, no SSH agent and no password is ever used.
 */
#ifndef NL_SSH_H
#define NL_SSH_H

#include "deadline.h"

#include <sys/types.h>

struct nl_ssh;

struct nl_ssh_target {
    int port;             /* on 127.0.0.1 */
    const char *user;     /* NULL: root */
    const char *key;      /* private key file */
    const char *host_key; /* "ssh-ed25519 AAAA...": anything else is refused */
};

/* One attempt. A connection that is accepted proves nothing (user-mode networking accepts before
   the guest listens): while a guest boots, callers try again. */
int nl_ssh_open(const struct nl_ssh_target *target, nl_deadline deadline, struct nl_ssh **ssh,
                struct nl_error **err);
void nl_ssh_close(struct nl_ssh **ssh);
#define cleanup_ssh NL_CLEANUP(nl_ssh_close)

/* Copy one file out of the layer, or into it (SFTP). A failed get leaves no LOCAL file. When
   DEADLINE passes in the middle the session is of no more use. */
int nl_ssh_get(struct nl_ssh *ssh, const char *remote, const char *local, nl_deadline deadline,
               struct nl_error **err);
int nl_ssh_put(struct nl_ssh *ssh, const char *local, const char *remote, int mode,
               nl_deadline deadline, struct nl_error **err);

/* Run the login shell, or COMMAND (NULL: none), joined to this process's standard input and output
   until it ends. On a terminal: on a pty, follows window size changes, Ctrl-] leaves, and the
   terminal is restored on every path. EXIT_STATUS gets the remote status, 255 when there is none
   (killed by a signal), 0 when the user left. */
int nl_ssh_shell(struct nl_ssh *ssh, const char *command, int *exit_status, struct nl_error **err);

/* A channel running COMMAND (by the remote login shell: never put data into it). read and write
   block; they may be called from two threads at the same time. Reads return 0 at the end, -1 when
   the connection broke; the command's standard error is read and dropped. */
struct nl_ssh_channel;
int nl_ssh_exec(struct nl_ssh *ssh, const char *command, nl_deadline deadline,
                struct nl_ssh_channel **channel, struct nl_error **err);
ssize_t nl_ssh_channel_read(struct nl_ssh_channel *channel, char *buffer, size_t size);
ssize_t nl_ssh_channel_write(struct nl_ssh_channel *channel, const char *bytes, size_t length);
/* No more input for the command. */
int nl_ssh_channel_end_input(struct nl_ssh_channel *channel, struct nl_error **err);
/* Make a blocked read or write in another thread return, now and from now on. */
void nl_ssh_channel_stop(struct nl_ssh_channel *channel);
/* The command's exit status, once its output has ended. */
int nl_ssh_channel_status(struct nl_ssh_channel *channel, nl_deadline deadline, int *status,
                          struct nl_error **err);
/* When no other thread is inside read or write. The session may have been closed before. */
void nl_ssh_channel_close(struct nl_ssh_channel **channel);

#endif
