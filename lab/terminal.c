/*
 * terminal.c - raw mode and its end; see terminal.h.
 */
#include "terminal.h"
#include "deadline.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <termios.h>

/* How often a stream that takes nothing is looked at for an interrupt. */
#define LOOK_MS 500

static struct termios saved;
static struct termios raw;
static volatile sig_atomic_t in_raw_mode;
static int resized_fd = -1;

/* Each would end (or stop) the process with the terminal in raw mode. */
static const int deadly[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGABRT, SIGSEGV, SIGBUS,
                             SIGFPE, SIGILL, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2, SIGTSTP};
#define N_DEADLY (sizeof(deadly) / sizeof(deadly[0]))
static struct sigaction before[N_DEADLY];
static struct sigaction before_winch;

bool nl_terminal_present(void)
{
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

void nl_terminal_reader_left(void)
{
    sigset_t pipe;

    nl_terminal_restore();
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_UNBLOCK, &pipe, NULL);
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
    abort();
}

int nl_terminal_write(int fd, const char *bytes, size_t length, struct nl_error **err)
{
    while (length > 0) {
        struct pollfd room = {.fd = fd, .events = POLLOUT};
        ssize_t n = write(fd, bytes, length);

        if (n >= 0) {
            bytes += n;
            length -= (size_t)n;
        } else if (errno == EAGAIN) {
            poll(&room, 1, LOOK_MS);
        } else if (errno == EPIPE) {
            nl_terminal_reader_left();
        } else if (errno != EINTR) {
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write to the terminal");
        }
        if (length > 0 && nl_interrupt_check(err) < 0)
            return -1;
    }
    return 0;
}

void nl_terminal_size(int *rows, int *columns)
{
    struct winsize size;

    *rows = 24;
    *columns = 80;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
        return;
    *rows = size.ws_row;
    *columns = size.ws_col;
}

int nl_terminal_resized_fd(void)
{
    return resized_fd;
}

static void on_winch(int signal_number)
{
    int saved_errno = errno;

    (void)signal_number;
    eventfd_write(resized_fd, 1);
    errno = saved_errno;
}

/* tcsetattr() by a process in the background stops it with SIGTTOU, unless that is blocked; this is
   also called from signal handlers, and what it calls is safe there. */
static void set_terminal(const struct termios *mode)
{
    sigset_t ttou, old;

    sigemptyset(&ttou);
    sigaddset(&ttou, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &ttou, &old);
    tcsetattr(STDIN_FILENO, TCSANOW, mode);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void on_deadly(int signal_number)
{
    int saved_errno = errno;

    if (in_raw_mode)
        set_terminal(&saved);
    if (signal_number == SIGTSTP) {
        raise(SIGSTOP);
        if (in_raw_mode)
            set_terminal(&raw);
        errno = saved_errno;
        return;
    }
    /* Delivered once this handler returns and unblocks it. */
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void catch_signals(void)
{
    struct sigaction winch = {.sa_handler = on_winch, .sa_flags = SA_RESTART};
    struct sigaction action = {.sa_handler = on_deadly, .sa_flags = SA_RESTART};

    sigaction(SIGWINCH, &winch, &before_winch);
    for (size_t i = 0; i < N_DEADLY; i++) {
        sigaction(deadly[i], NULL, &before[i]);
        if (before[i].sa_handler == SIG_DFL)
            sigaction(deadly[i], &action, NULL);
    }
}

static void release_signals(void)
{
    for (size_t i = 0; i < N_DEADLY; i++)
        if (before[i].sa_handler == SIG_DFL)
            sigaction(deadly[i], &before[i], NULL);
    sigaction(SIGWINCH, &before_winch, NULL);
}

void nl_terminal_restore(void)
{
    if (!in_raw_mode)
        return;
    set_terminal(&saved);
    in_raw_mode = 0;
    release_signals();
}

int nl_terminal_raw(struct nl_error **err)
{
    static bool at_exit;

    if (!nl_terminal_present() || in_raw_mode)
        return 0;
    if (tcgetattr(STDIN_FILENO, &saved) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read the terminal's mode");
    if (resized_fd < 0)
        resized_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!at_exit)
        at_exit = atexit(nl_terminal_restore) == 0;
    raw = saved;
    cfmakeraw(&raw);
    catch_signals();
    in_raw_mode = 1;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0)
        return 0;
    nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot put the terminal into raw mode");
    nl_terminal_restore();
    return -1;
}
