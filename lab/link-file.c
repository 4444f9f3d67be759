/*
 * link-file.c - files over a link, in pieces; see link.h.
 */
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* A line of 128 KiB: the socket between libvirt and QEMU holds one even when the guest does not
   read. More would pile up in libvirtd, which then stops serving the whole connection. */
#define PIECE ((size_t)96 * 1024)
#define PIECE_S 30.0

static char *encode_base64(const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((length + 2) / 3 * 4 + 1);
    char *out = text;

    if (!text)
        return NULL;
    for (size_t i = 0; i < length; i += 3) {
        unsigned group = (unsigned)bytes[i] << 16;

        group |= i + 1 < length ? (unsigned)bytes[i + 1] << 8 : 0;
        group |= i + 2 < length ? bytes[i + 2] : 0;
        *out++ = digits[group >> 18];
        *out++ = digits[group >> 12 & 63];
        *out++ = i + 1 < length ? digits[group >> 6 & 63] : '=';
        *out++ = i + 2 < length ? digits[group & 63] : '=';
    }
    *out = '\0';
    return text;
}

static ssize_t read_piece(int fd, unsigned char *buffer)
{
    size_t done = 0;

    while (done < PIECE) {
        ssize_t n = read(fd, buffer + done, PIECE - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static int put_piece(struct nl_link *link, const char *remote, int mode, const unsigned char *bytes,
                     size_t length, json_int_t offset, nl_deadline deadline, struct nl_error **err)
{
    nl_deadline piece = nl_deadline_in(PIECE_S);
    cleanup_free char *data = encode_base64(bytes, length);
    cleanup_json json_t *result = NULL;
    json_t *arguments = json_pack("{s:s, s:i, s:s, s:b}", "path", remote, "mode", mode, "data",
                                  data ? data : "", "append", offset > 0);

    if (!data || !arguments) {
        json_decref(arguments);
        return nl_fail(err, NL_EXIT_REQUEST, "this name or file cannot be sent");
    }
    if (nl_link_ask(link, "put", arguments, piece < deadline ? piece : deadline, &result, err) < 0)
        return -1;
    if (json_integer_value(json_object_get(result, "size")) != offset + (json_int_t)length)
        return nl_fail(err, NL_EXIT_LAB,
                       "the agent wrote another number of bytes than it was sent");
    return 0;
}

int nl_link_put_file(struct nl_link *link, const char *local, const char *remote, int mode,
                     nl_deadline deadline, struct nl_error **err)
{
    cleanup_close int fd = open(local, O_RDONLY | O_CLOEXEC);
    unsigned char buffer[PIECE];
    json_int_t offset = 0;
    ssize_t n;

    if (fd < 0)
        return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "cannot open %s", local);
    /* An empty file is one empty piece. */
    do {
        n = read_piece(fd, buffer);
        if (n < 0)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read %s", local);
        if (n == 0 && offset > 0)
            break;
        if (put_piece(link, remote, mode, buffer, (size_t)n, offset, deadline, err) < 0)
            return nl_wrap(err, "copying %s to %s", local, remote);
        offset += n;
    } while ((size_t)n == PIECE);
    return 0;
}
