/*
 * pipe.c - raw streams of a guest: its console and its shell port; see link.h.
 */
#include "carrier.h"
#include "link.h"
#include "pump.h"

#define QUEUE_LIMIT (1024 * 1024)

struct nl_pipe {
    struct nl_pump *pump;
    nl_pipe_bytes *on_bytes;
    void *data;
};

static void on_pump_bytes(const char *bytes, size_t length, const char *reason, void *data)
{
    struct nl_pipe *pipe = data;

    (void)reason;
    pipe->on_bytes(bytes, length, pipe->data);
}

int nl_pipe_open(virDomainPtr domain, const char *port, nl_pipe_bytes *on_bytes, void *data,
                 struct nl_pipe **out, struct nl_error **err)
{
    struct nl_carrier *carrier = NULL;
    struct nl_pipe *pipe;

    if (nl_carrier_open_stream(domain, port, &carrier, err) < 0)
        return -1;
    pipe = calloc(1, sizeof(*pipe));
    if (!pipe) {
        carrier->free(carrier);
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    pipe->on_bytes = on_bytes;
    pipe->data = data;
    if (nl_pump_start(carrier, QUEUE_LIMIT, on_pump_bytes, pipe, &pipe->pump, err) < 0) {
        free(pipe);
        return -1;
    }
    *out = pipe;
    return 0;
}

int nl_pipe_write(struct nl_pipe *pipe, const char *bytes, size_t length, struct nl_error **err)
{
    return nl_pump_send(pipe->pump, bytes, length, err);
}

void nl_pipe_close(struct nl_pipe **pipe)
{
    if (!*pipe)
        return;
    nl_pump_stop(&(*pipe)->pump);
    free(nl_steal(pipe));
}
