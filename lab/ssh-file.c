/*
 * ssh-file.c - files over SSH (SFTP); see ssh.h.
 *
 * libssh's SFTP only works on a blocking session. So a transfer runs in a thread of its own that
 * can be left behind, and switches the session for one piece at a time, under the session's lock; a
 * transfer that is given up has its socket shut down, which ends the thread.
 */
#include "ssh-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <libssh/sftp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* libssh puts no more into one SFTP packet. */
#define PIECE 32000

struct transfer {
    struct nl_ssh *ssh;
    char *remote;
    int fd; /* the local file */
    int mode;
    bool put;
    struct nl_error *error;
    sftp_session sftp;
    sftp_file file;
};

static void enter(struct transfer *t)
{
    pthread_mutex_lock(&t->ssh->lock);
    ssh_set_blocking(t->ssh->session, 1);
}

static void leave(struct transfer *t)
{
    ssh_set_blocking(t->ssh->session, 0);
    pthread_mutex_unlock(&t->ssh->lock);
}

static const char *sftp_reason(struct transfer *t)
{
    static const char *const reasons[] = {
        [SSH_FX_EOF] = "end of file",
        [SSH_FX_NO_SUCH_FILE] = "no such file or folder",
        [SSH_FX_PERMISSION_DENIED] = "permission denied",
        [SSH_FX_FAILURE] = "the server could not do it (disk full, a folder, ...)",
    };
    int code = t->sftp ? sftp_get_error(t->sftp) : 0;

    if (code > 0 && (size_t)code < sizeof(reasons) / sizeof(reasons[0]))
        return reasons[code];
    return ssh_get_error(t->ssh->session);
}

static void start(struct transfer *t)
{
    int flags = t->put ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY;

    enter(t);
    t->sftp = sftp_new(t->ssh->session);
    if (t->sftp && sftp_init(t->sftp) == 0)
        t->file = sftp_open(t->sftp, t->remote, flags, (mode_t)t->mode);
    if (!t->file)
        nl_fail(&t->error, NL_EXIT_LAB, "cannot open %s there: %s", t->remote, sftp_reason(t));
    leave(t);
}

/* Close the remote file: for a put, this is when errors of late writes come out. */
static void finish(struct transfer *t)
{
    enter(t);
    if (t->file && t->put && !t->error && sftp_chmod(t->sftp, t->remote, (mode_t)t->mode) < 0)
        nl_fail(&t->error, NL_EXIT_LAB, "cannot set the mode of %s: %s", t->remote, sftp_reason(t));
    if (t->file && sftp_close(t->file) < 0 && !t->error)
        nl_fail(&t->error, NL_EXIT_LAB, "cannot close %s: %s", t->remote, sftp_reason(t));
    if (t->sftp)
        sftp_free(t->sftp);
    leave(t);
}

static ssize_t read_remote(struct transfer *t, char *buffer)
{
    ssize_t n;

    enter(t);
    n = sftp_read(t->file, buffer, PIECE);
    if (n < 0)
        nl_fail(&t->error, NL_EXIT_LAB, "cannot read %s: %s", t->remote, sftp_reason(t));
    leave(t);
    return n;
}

static int write_remote(struct transfer *t, const char *bytes, size_t length)
{
    ssize_t n;

    enter(t);
    n = sftp_write(t->file, bytes, length);
    if (n != (ssize_t)length)
        nl_fail(&t->error, NL_EXIT_LAB, "cannot write %s: %s", t->remote, sftp_reason(t));
    leave(t);
    return n == (ssize_t)length ? 0 : -1;
}

static int write_local(struct transfer *t, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = write(t->fd, bytes, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return nl_fail_errno(&t->error, NL_EXIT_LAB, errno, "cannot write the local file");
        bytes += n;
        length -= (size_t)n;
    }
    return 0;
}

static void run_transfer(void *data)
{
    struct transfer *t = data;
    char buffer[PIECE];
    ssize_t n = 0;

    start(t);
    while (!t->error) {
        n = t->put ? read(t->fd, buffer, sizeof(buffer)) : read_remote(t, buffer);
        if (n <= 0)
            break;
        if ((t->put ? write_remote(t, buffer, (size_t)n) : write_local(t, buffer, (size_t)n)) < 0)
            break;
    }
    if (n < 0 && !t->error)
        nl_fail_errno(&t->error, NL_EXIT_LAB, errno, "cannot read the local file");
    finish(t);
}

static void free_transfer(void *data)
{
    struct transfer *t = data;

    nl_cleanup_closep(&t->fd);
    nl_error_free(&t->error);
    nl_ssh_unref(t->ssh);
    free(t->remote);
    free(t);
}

/* FD is consumed. */
static int transfer(struct nl_ssh *ssh, const char *remote, int fd, bool put, int mode,
                    nl_deadline deadline, struct nl_error **err)
{
    struct transfer *t = calloc(1, sizeof(*t));
    int rc;

    if (!t) {
        close(fd);
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    t->ssh = nl_ssh_ref(ssh);
    t->remote = strdup(remote);
    t->fd = fd;
    t->put = put;
    t->mode = mode;
    if (nl_call_with_deadline(run_transfer, t, free_transfer, deadline, "SFTP", err) < 0) {
        shutdown(ssh->fd, SHUT_RDWR);
        return -1;
    }
    rc = t->error ? -1 : 0;
    if (rc < 0)
        nl_fail(err, NL_EXIT_LAB, "%s", nl_error_message(t->error));
    free_transfer(t);
    return rc;
}

int nl_ssh_get(struct nl_ssh *ssh, const char *remote, const char *local, nl_deadline deadline,
               struct nl_error **err)
{
    int fd = open(local, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make %s", local);
    if (transfer(ssh, remote, fd, false, 0, deadline, err) == 0)
        return 0;
    unlink(local);
    return nl_wrap(err, "copying %s out", remote);
}

int nl_ssh_put(struct nl_ssh *ssh, const char *local, const char *remote, int mode,
               nl_deadline deadline, struct nl_error **err)
{
    int fd = open(local, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "cannot open %s", local);
    if (transfer(ssh, remote, fd, true, mode, deadline, err) == 0)
        return 0;
    return nl_wrap(err, "copying %s in", local);
}
