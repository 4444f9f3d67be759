/*
 * streams.c - standard input, output and error: see streams.h.
 */
#include "streams.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>

void nl_streams_open(void)
{
    /* What is printed to a standard output that was closed is lost, and has to fail. */
    static const int modes[] = {O_RDWR, O_RDONLY, O_RDWR};

    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", modes[fd]) != fd)
            abort(); /* the lowest free number is FD, and every system has /dev/null */
}

int nl_streams_read_once(char *const *operands, struct nl_error **err)
{
    size_t n = 0;

    for (; *operands; operands++)
        n += strcmp(*operands, "-") == 0;
    if (n <= 1)
        return 0;
    nl_fail(err, NL_EXIT_REQUEST, "- (standard input) is there twice");
    return nl_hint(err, "it can be read once: name files for the others");
}

/* Asked of the pipe, since the write that failed may be long ago and its errno lost. */
static bool reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

int nl_streams_finish(int status)
{
    if ((fflush(stdout) == 0 && !ferror(stdout)) || status != NL_EXIT_PASSED || reader_left())
        return status;
    fputs("nestlab: what was printed could not be written to standard output\n"
          "nestlab: hint: is it closed, or is the disk that it goes to full?\n",
          stderr);
    return NL_EXIT_LAB;
}
