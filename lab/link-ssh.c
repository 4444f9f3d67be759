/*
 * link-ssh.c - the carrier over an SSH channel: the agent in an image that is not ours.
 */
#include "link-internal.h"
#include "ssh.h"

#define OPEN_S 30.0

struct ssh_carrier {
    struct nl_carrier carrier;
    struct nl_ssh_channel *channel;
};

static ssize_t ssh_carrier_read(struct nl_carrier *carrier, char *buffer, size_t size,
                                struct nl_error **err)
{
    ssize_t n = nl_ssh_channel_read(((struct ssh_carrier *)carrier)->channel, buffer, size);

    return n < 0 ? nl_fail(err, NL_EXIT_LAB, "the SSH connection broke") : n;
}

static ssize_t ssh_carrier_write(struct nl_carrier *carrier, const char *bytes, size_t length,
                                 struct nl_error **err)
{
    ssize_t n = nl_ssh_channel_write(((struct ssh_carrier *)carrier)->channel, bytes, length);

    return n < 0 ? nl_fail(err, NL_EXIT_LAB, "the SSH connection broke") : n;
}

static void ssh_carrier_stop(struct nl_carrier *carrier)
{
    nl_ssh_channel_stop(((struct ssh_carrier *)carrier)->channel);
}

static void ssh_carrier_free(struct nl_carrier *carrier)
{
    nl_ssh_channel_close(&((struct ssh_carrier *)carrier)->channel);
    free(carrier);
}

int nl_link_open_ssh(struct nl_ssh *ssh, const char *remote_command, nl_link_event *on_event,
                     void *data, struct nl_link **link, struct nl_error **err)
{
    struct ssh_carrier *self = calloc(1, sizeof(*self));

    if (!self)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    self->carrier = (struct nl_carrier){ssh_carrier_read, ssh_carrier_write, ssh_carrier_stop,
                                        ssh_carrier_free};
    if (nl_ssh_exec(ssh, remote_command, nl_deadline_in(OPEN_S), &self->channel, err) < 0) {
        free(self);
        return -1;
    }
    return nl_link_start(&self->carrier, on_event, data, link, err);
}
