/*
 * terminal.h - this process's terminal in raw mode, joined to a shell or console elsewhere;
 * restored on every path.
 */
#ifndef NL_TERMINAL_H
#define NL_TERMINAL_H

#include "error.h"

#include <stdbool.h>

/* The key that leaves a shell or a console: Ctrl-], as in telnet and virsh. */
#define NL_TERMINAL_LEAVE 0x1d

/* Standard input and output are a terminal. */
bool nl_terminal_present(void);

/* Rows and columns; 24 by 80 where that is not known. */
void nl_terminal_size(int *rows, int *columns);

/* Write all of it to FD, one of this process's standard streams. One that takes nothing for the
   moment (Ctrl-S) is waited for until an interrupt; a pipe that nobody reads any more ends the
   process. */
int nl_terminal_write(int fd, const char *bytes, size_t length, struct nl_error **err);

/* Whoever reads standard output has left: end this process as that ends any other, by SIGPIPE,
   which is ignored for sockets' sake. */
void nl_terminal_reader_left(void) __attribute__((noreturn));

/* Raw mode, until nl_terminal_restore(), exit(), or a signal: one that would kill the process
   restores first, SIGTSTP restores and raw mode is back on SIGCONT. Signals that the program
   handles itself (nl_interrupt_catch) are left to it. Does nothing when there is no terminal. */
int nl_terminal_raw(struct nl_error **err);
void nl_terminal_restore(void);

static inline void nl_terminal_cleanup(bool *raw)
{
    if (*raw)
        nl_terminal_restore();
}

/* Raw mode for a scope: `cleanup_terminal bool raw = nl_terminal_raw(err) == 0;` */
#define cleanup_terminal NL_CLEANUP(nl_terminal_cleanup)

/* Readable after the window's size changed, while in raw mode; read it empty. -1: no terminal. */
int nl_terminal_resized_fd(void);

enum nl_relay {
    NL_RELAY_CONSOLE, /* plain bytes until the stream ends */
    NL_RELAY_SHELL,   /* the agent's shell port: starts with a line about this terminal, ends at
                         the mark of its end */
};

/* Join standard input and output to FD (a socket) until its end, or until the user leaves with
   Ctrl-] on a terminal. Without a terminal the end of standard input ends a console at once, and is
   sent to a shell as Ctrl-D. Returns 0 at the end of the stream or shell, 1 when the user left.
   *EXIT_STATUS (may be NULL) is the shell's, 0 where it did not end. */
int nl_terminal_relay(int fd, enum nl_relay kind, int *exit_status, struct nl_error **err);

#endif
