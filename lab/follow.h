/*
 * follow.h - a console's file, looked at while it grows.
 */
#ifndef NL_FOLLOW_H
#define NL_FOLLOW_H

#include "error.h"

#include <stdbool.h>

struct nl_follow {
    int fd; /* of the file */
    /* Has what writes into the file ended? Asked every second, from one thread. */
    bool (*ended)(void *data);
    void *data;
};

/* Open FILE and print its last LINES lines, printable, on standard output. What comes later is left
   for nl_follow_on(). The descriptor is the caller's. */
int nl_follow_open(const char *file, int lines, int *fd, struct nl_error **err);

/* Write what comes to standard output, as it is, until its writer has ended (0) or an interrupt. */
int nl_follow_plain(const struct nl_follow *follow, struct nl_error **err);

/* The same on the terminal, in raw mode; what is typed goes to the socket KEEPER (-1: nowhere).
   Returns 0 when its writer has ended, 1 when the user left. */
int nl_follow_terminal(const struct nl_follow *follow, int keeper, struct nl_error **err);

#endif
