/*
 * statuses.h - how the runs of several scenarios ended, and what that makes of the whole command.
 */
#ifndef NL_STATUSES_H
#define NL_STATUSES_H

#include "error.h"

#include <stdbool.h>

struct nl_status_of {
    const char *scenario; /* its file, as the user named it; borrowed */
    bool ran;
    int status; /* what the process of its run ended with, if it ran */
};

/* The worse of two: an interrupt, then a failed check, which is what a user must hear of first,
   then a wrong request. A status that is none of ours (a sanitizer's) is the lab's failure. */
enum nl_exit nl_status_worse(int a, int b);

/* The worst of those that ran; NL_EXIT_PASSED where none did. */
enum nl_exit nl_statuses_worst(const struct nl_status_of *runs, size_t n);

/* One line that says which scenarios the worst status is of, how the others ended, and which were
   not run; NULL where it is NL_EXIT_PASSED. The caller's; aborts when out of memory. */
char *nl_statuses_why(const struct nl_status_of *runs, size_t n);

#endif
