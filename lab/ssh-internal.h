/*
 * ssh-internal.h - what the files about SSH share: the session and the rules of waiting for it.
 *
 * libssh's session is not safe for two threads, so every call into it is made under the session's
 * lock; and no call blocks under the lock (but SFTP's, which libssh only has in a blocking form):
 * the session is non-blocking, and waiting for its socket is done here.
 */
#ifndef NL_SSH_INTERNAL_H
#define NL_SSH_INTERNAL_H

#include "ssh.h"

#include <libssh/libssh.h>
#include <pthread.h>
#include <stdatomic.h>

struct nl_ssh {
    ssh_session session;
    int fd; /* the session's */
    pthread_mutex_t lock;
    atomic_int references;
};

struct nl_ssh_channel {
    struct nl_ssh *ssh;
    ssh_channel channel;
    int wake_fd; /* readable when stopped, or when a write may have taken in bytes to be read */
    atomic_bool stopped;
};

struct nl_ssh *nl_ssh_ref(struct nl_ssh *ssh);
void nl_ssh_unref(struct nl_ssh *ssh);

/* Wait until the session's socket is ready, or not for long: bytes that another thread took in are
   not announced by the socket. Fails when DEADLINE has passed, with WHAT, or on an interrupt. */
int nl_ssh_wait(struct nl_ssh *ssh, nl_deadline deadline, const char *what, struct nl_error **err);

/* poll() events to wait for. */
short nl_ssh_poll_events(struct nl_ssh *ssh);

/* A failure of libssh. */
int nl_ssh_fail(struct nl_ssh *ssh, struct nl_error **err, const char *what);

/* Open a session channel. */
int nl_ssh_channel_open(struct nl_ssh *ssh, nl_deadline deadline, struct nl_ssh_channel **channel,
                        struct nl_error **err);

/* What nl_ssh_step() gives when it did not get to the end of the step; *ERR is set. */
#define NL_SSH_LATE (-1000)

/* Repeat CALL under the lock until it is something other than AGAIN. */
#define nl_ssh_step(ssh, call, again, deadline, what, err)                                         \
    ({                                                                                             \
        int rc_;                                                                                   \
        for (;;) {                                                                                 \
            pthread_mutex_lock(&(ssh)->lock);                                                      \
            rc_ = (call);                                                                          \
            pthread_mutex_unlock(&(ssh)->lock);                                                    \
            if (rc_ != (again))                                                                    \
                break;                                                                             \
            if (nl_ssh_wait(ssh, deadline, what, err) < 0) {                                       \
                rc_ = NL_SSH_LATE;                                                                 \
                break;                                                                             \
            }                                                                                      \
        }                                                                                          \
        rc_;                                                                                       \
    })

#endif
