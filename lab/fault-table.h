/*
 * fault-table.h - the faults that a scenario may inject: names, and what each needs. What they do
 * is in docs/faults.md.
 */
#ifndef NL_FAULT_TABLE_H
#define NL_FAULT_TABLE_H

#include <stdbool.h>

enum nl_fault_moment {
    NL_FAULT_PREPARE, /* before anything is started */
    NL_FAULT_INIT,    /* while the layer starts: by its agent as init */
    NL_FAULT_UP,      /* the layer is up, the next is not there yet */
    NL_FAULT_RUNNING, /* the whole stack is up */
};

/* Who injects a fault of layer LN. */
enum nl_fault_by {
    NL_FAULT_BY_RUNNER,
    NL_FAULT_BY_LAYER, /* LN's agent */
    NL_FAULT_BY_BELOW, /* that of the layer below; for the outermost guest the runner */
};

struct nl_fault {
    const char *name;
    enum nl_fault_moment moment;
    enum nl_fault_by by;
    bool disk;        /* the layer must be booted from a disk: no leaf */
    bool inside;      /* there must be a layer inside it */
    const char *what; /* "its kernel panics" */
};

/* Ended by one without a name. */
extern const struct nl_fault nl_faults[];

/* NULL: there is none. */
const struct nl_fault *nl_fault_find(const char *name);

/* The known name nearest to NAME, or NULL. */
const char *nl_fault_near(const char *name);

/* "allowed: NAME, NAME, ..."; the caller's. */
char *nl_fault_names(void);

#endif
