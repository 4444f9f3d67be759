/*
 * keeper-client.c - talking to a keeper: see keeper-client.h.
 */
#include "keeper-client.h"
#include "dig.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static int try_connect(const struct sockaddr_un *address)
{
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
        return -1;
    return nl_steal_fd(&fd);
}

int nl_keeper_connect(const char *path, nl_deadline deadline, int *fd, struct nl_error **err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s/keeper.sock", path);

    if (n < 0 || (size_t)n >= sizeof(address.sun_path))
        return nl_fail(err, NL_EXIT_REQUEST, "the path %s is too long for a socket", path);
    for (;;) {
        *fd = try_connect(&address);
        if (*fd >= 0)
            return 0;
        if ((errno != ENOENT && errno != ECONNREFUSED && errno != EINTR) ||
            nl_deadline_left_ms(deadline) == 0)
            break;
        if (nl_sleep(0.05, err) < 0)
            return -1;
    }
    nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot reach the keeper at %s", address.sun_path);
    return nl_hint(err,
                   "`nestlab list` shows what runs; `nestlab gc` removes what was left behind");
}

static int send_line(int fd, const json_t *request, struct nl_error **err)
{
    cleanup_free char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
    cleanup_free char *line = NULL;
    int length;

    if (!text || (length = asprintf(&line, "%s\n", text)) < 0)
        return nl_fail(err, NL_EXIT_REQUEST, "the request cannot be sent as JSON");
    for (int sent = 0; sent < length;) {
        ssize_t n = send(fd, line + sent, (size_t)(length - sent), MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write to the keeper");
        sent += n > 0 ? (int)n : 0;
    }
    return 0;
}

/* Reads up to the line's end and not a byte further: what comes next is another's. */
static int receive_line(int fd, nl_deadline deadline, char **line, struct nl_error **err)
{
    cleanup_free char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    int rc = 0;
    char byte = 0;

    while (out && rc == 0 && byte != '\n') {
        ssize_t n;

        rc = nl_wait_readable(fd, deadline, err);
        if (rc == 0)
            rc = nl_fail(err, NL_EXIT_LAB, "the keeper does not answer");
        if (rc < 0)
            break;
        n = recv(fd, &byte, 1, 0);
        rc = n == 1 || (n < 0 && errno == EINTR)
                 ? 0
                 : nl_fail(err, NL_EXIT_LAB, "the keeper closed the connection");
        if (n == 1 && (fputc(byte, out) == EOF || ftell(out) > NL_KEEPER_LINE_MAX))
            rc = nl_fail(err, NL_EXIT_LAB, "the keeper's answer is too long");
    }
    if (!out || fclose(out) != 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (rc == 0)
        *line = nl_steal(&text);
    return rc;
}

int nl_keeper_ask(int fd, json_t *request, nl_deadline deadline, json_t **result,
                  struct nl_error **err)
{
    cleanup_json json_t *owned = request;
    cleanup_json json_t *reply = NULL;
    cleanup_free char *line = NULL;

    if (send_line(fd, owned, err) < 0 || receive_line(fd, deadline, &line, err) < 0)
        return -1;
    reply = json_loads(line, 0, NULL);
    if (!nl_dig_true(reply, "ok")) {
        const char *hint = nl_dig_string(reply, "error.hint", NULL);

        nl_fail(err, NL_EXIT_LAB, "%s",
                nl_dig_string(reply, "error.message", "the keeper's answer is not understood"));
        return hint ? nl_hint(err, "%s", hint) : -1;
    }
    if (result)
        *result = json_incref(json_object_get(reply, "result"));
    return 0;
}
