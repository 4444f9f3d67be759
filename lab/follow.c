/*
 * follow.c - a console's file as it grows: see follow.h.
 */
#include "follow.h"
#include "deadline.h"
#include "guest-text.h"
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* How often the file, and whether its writer lives, are looked at. */
#define LOOK_MS 100
#define ALIVE_MS 1000
#define TAIL_BYTES (256 * 1024)

static void print_lines(const char *text, size_t length, int lines)
{
    const char *end = text + length;
    const char *from = end;

    /* The last line may have no end yet. */
    for (int found = 0; from > text; from--) {
        if (from[-1] == '\n' && from != end && ++found == lines)
            break;
    }
    while (lines > 0 && from < end) {
        const char *newline = memchr(from, '\n', (size_t)(end - from));
        size_t n = newline ? (size_t)(newline - from) : (size_t)(end - from);
        cleanup_free char *line = nl_guest_text(from, n);

        fputs(line, stdout);
        if (newline)
            putchar('\n');
        from += newline ? n + 1 : n;
    }
    fflush(stdout);
}

int nl_follow_open(const char *file, int lines, int *fd, struct nl_error **err)
{
    cleanup_close int opened = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    cleanup_free char *text = malloc(TAIL_BYTES);
    struct stat st;
    ssize_t n;

    if (opened < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read the console's file %s", file);
    if (!text || fstat(opened, &st) < 0 || !S_ISREG(st.st_mode))
        return nl_fail(err, NL_EXIT_LAB, "%s is not a console's file", file);
    if (lseek(opened, st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0, SEEK_SET) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read %s", file);
    n = read(opened, text, TAIL_BYTES);
    if (n < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read %s", file);
    print_lines(text, (size_t)n, lines);
    *fd = nl_steal_fd(&opened);
    return 0;
}

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes += n;
        length -= (size_t)n;
    }
    return 0;
}

/* Copy what the file has by now. -1: TO takes no more. */
static int copy_new(int file, int to)
{
    char buffer[16384];
    ssize_t n;

    while ((n = read(file, buffer, sizeof(buffer))) > 0)
        if (write_all(to, buffer, (size_t)n) < 0)
            return -1;
    return 0;
}

/* Asks only now and then. */
static bool is_gone(const struct nl_follow *follow, int64_t *looked)
{
    if (nl_now_ms() - *looked < ALIVE_MS)
        return false;
    *looked = nl_now_ms();
    return follow->ended(follow->data);
}

int nl_follow_plain(const struct nl_follow *follow, struct nl_error **err)
{
    int64_t looked = nl_now_ms();
    bool gone = false;

    for (;;) {
        /* What came before the end is there when the end is known: so once more after it. */
        int rc = copy_new(follow->fd, STDOUT_FILENO);

        if (rc < 0 && errno == EPIPE)
            nl_terminal_reader_left();
        if (rc < 0)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write to standard output");
        if (gone)
            return 0;
        gone = is_gone(follow, &looked);
        if (nl_sleep(LOOK_MS / 1000.0, err) < 0)
            return -1;
    }
}

struct feeder {
    const struct nl_follow *follow;
    int inner;  /* what the terminal's side is joined to */
    int keeper; /* -1: typing goes nowhere */
};

/* Pass on what was typed. False: the terminal's side is closed. */
static bool pass_on(struct feeder *feeder)
{
    char typed[1024];
    ssize_t n = recv(feeder->inner, typed, sizeof(typed), MSG_DONTWAIT);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        return false;
    if (n > 0 && feeder->keeper >= 0)
        send(feeder->keeper, typed, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
    return true;
}

/* Between the file and the keeper on one side, and the terminal's socket on the other. */
static void *feed(void *data)
{
    struct feeder *feeder = data;
    int64_t looked = nl_now_ms();
    bool gone = false;

    while (copy_new(feeder->follow->fd, feeder->inner) == 0 && !gone) {
        struct pollfd fd = {.fd = feeder->inner, .events = POLLIN};

        gone = is_gone(feeder->follow, &looked);
        if (poll(&fd, 1, LOOK_MS) > 0 && !pass_on(feeder))
            break;
    }
    shutdown(feeder->inner, SHUT_RDWR);
    return NULL;
}

int nl_follow_terminal(const struct nl_follow *follow, int keeper, struct nl_error **err)
{
    struct feeder feeder = {.follow = follow, .keeper = keeper};
    sigset_t all, old;
    pthread_t thread;
    int pair[2];
    int rc;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make a socket");
    feeder.inner = pair[1];
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    rc = pthread_create(&thread, NULL, feed, &feeder);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0) {
        close(pair[0]);
        close(pair[1]);
        return nl_fail_errno(err, NL_EXIT_LAB, rc, "cannot start a thread");
    }
    rc = nl_terminal_relay(pair[0], NL_RELAY_CONSOLE, NULL, err);
    shutdown(pair[0], SHUT_RDWR);
    pthread_join(thread, NULL);
    close(pair[0]);
    close(pair[1]);
    return rc;
}
